// What was begun is sent again until it has ended.

import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { test } from "node:test";

import { keepFinishing } from "../../../../parts/pages/static/js/pages/retries.js";
import { amountsByState, walletHolding, walletMeeting } from "./parts.js";

test("what has no answer is sent again, and told after each try", async ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const ground = await walletHolding(5);
  await walletMeeting(ground, () => "lost").send(ground.itemId, 2);
  const fates = ["lost", "lost"];
  const { finishBegun } = walletMeeting(ground, () => fates.shift());
  const states = [];

  keepFinishing({
    finishBegun,
    onOutcomes: (outcomes) =>
      states.push(...outcomes.map(({ operation }) => operation.state)),
    onError: assert.fail,
  });
  for (const delayMs of [0, 2000, 4000, 60_000]) {
    mock.timers.tick(delayMs);
    for (let turns = 0; turns < 20; turns += 1) await setImmediate();
  }

  assert.deepEqual(states, ["begun", "begun", "done"]);
  assert.deepEqual(amountsByState(ground.store), { spent: [5], given: [2], held: [3] });
});

test("once the service says to wait, nothing more of what was begun is sent", async () => {
  const ground = await walletHolding(5, 6);
  for (const amount of [5, 6])
    await walletMeeting(ground, () => "lost").send(ground.itemId, amount);

  const outcomes = await walletMeeting(ground, () => "busy").finishBegun();

  assert.deepEqual(
    outcomes.map(({ operation }) => operation.state),
    ["begun"],
  );
});
