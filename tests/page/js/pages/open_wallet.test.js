// Which records and operations pages read.

import assert from "node:assert/strict";
import { test } from "node:test";

import { recordsOf } from "../../../../parts/pages/static/js/pages/open_wallet.js";
import { fatesOf, giverOf, makerOn, walletMeeting } from "../wallet/parts.js";

test("of a link that could not be taken it is known why, also after a reload", async () => {
  const giver = await giverOf(5);
  const guest = makerOn(giver.service);
  const refusing = (person) => walletMeeting(person, fatesOf("swap", "refused"));

  await refusing(guest).claim(giver.given);
  await refusing(giver).takeBack(giver.given.key);

  for (const [person, kind] of [
    [guest, "claim"],
    [giver, "takeBack"],
  ]) {
    const [{ operation }] = await recordsOf(person.store, [giver.given.key]);
    assert.deepEqual([operation?.kind, operation?.state], [kind, "refused"]);
  }
  await guest.wallet.claim(giver.given);
  const [{ operation }] = await recordsOf(guest.store, [giver.given.key]);
  assert.equal(operation?.state, "done");
});
