// What no rule of the wallet may do, whatever it gets wrong.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Draft, WalletError } from "../../../../deeds/page/static/js/wallet/records.js";
import { makeWallet } from "../../../../deeds/page/static/js/wallet/wallet.js";
import { slicesOf } from "./memory_store.js";
import { now, walletHolding } from "./parts.js";

const SPENT = { key: "deed_x.a", itemId: "deed_x", secret: "a", amount: 5, state: "spent" };

function draftWith(record) {
  return new Draft(slicesOf({ outputs: new Map([[record.key, record]]) }));
}

test("a spent output stays spent", () => {
  const draft = draftWith(SPENT);

  assert.throws(() => draft.changeOutput(SPENT.key, { state: "held" }), /stays spent/);

  draft.changeOutput(SPENT.key, { spentElsewhere: true });
  assert.deepEqual(draft.changes().outputs, [{ ...SPENT, spentElsewhere: true }]);
});

test("no output is written over another", () => {
  const draft = draftWith(SPENT);

  assert.throws(() => draft.addOutput({ ...SPENT, state: "coming" }), WalletError);

  assert.deepEqual(draft.changes().outputs, []);
});

test("a source of secrets that repeats itself changes nothing", async () => {
  const { service, store, itemId } = await walletHolding(5);
  const [{ secret }] = store.kept.outputs.values();
  const wallet = makeWallet({ store, api: service.api(), now, makeSecret: async () => secret });
  const before = structuredClone(store.kept);

  await assert.rejects(wallet.send(itemId, 2), { code: "used_secret" });

  assert.deepEqual(store.kept, before);
});
