// What was begun is sent again, less and less often.

import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { test } from "node:test";

import {
  keepFinishing,
  untilEnded,
} from "../../../../parts/pages/static/js/pages/open_wallet.js";
import { amountsByState, walletHolding, walletMeeting } from "./parts.js";

/** Run `keepFinishing` with a clock that the test turns. */
function keeping(wallet) {
  const scheduled = [];
  const seen = { outcomes: [], errors: [], scheduled };
  const wake = keepFinishing({
    wallet,
    onOutcomes: (outcomes) =>
      seen.outcomes.push(...outcomes.map(({ operation }) => operation.state)),
    onError: (error) => seen.errors.push(error.message),
    schedule: (run, delayMs) => scheduled.push({ run, delayMs }),
    now: () => 0,
  });
  /** Let what is scheduled happen; return after how long it was due. */
  const turn = async () => {
    const { run, delayMs } = scheduled.shift();
    run();
    await setImmediate();
    return delayMs;
  };
  const delays = () => scheduled.map(({ delayMs }) => delayMs);
  return { ...seen, wake, turn, delays };
}

/** A send that was lost, and a wallet whose next swaps have these fates. */
async function lostSend(...fates) {
  const ground = await walletHolding(5);
  await walletMeeting(ground, () => "lost").send(ground.itemId, 2);
  return { ...ground, wallet: walletMeeting(ground, () => fates.shift()) };
}

test("what has no answer is asked again after twice as long each time, up to a minute", async () => {
  const { wallet, store } = await lostSend(...Array(7).fill("lost"));
  const kept = keeping(wallet);

  const delays = [];
  while (kept.scheduled.length) delays.push(await kept.turn());

  assert.deepEqual(delays, [0, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  assert.deepEqual(kept.outcomes, [...Array(7).fill("begun"), "done"]);
  assert.deepEqual(amountsByState(store), { spent: [5], given: [2], held: [3] });
});

test("the service is asked no sooner than it said", async () => {
  const { wallet } = await lostSend();
  const finishBegun = async () => [
    { operation: { state: "begun" }, problem: { retryAfterS: 90 } },
    { operation: { state: "begun" }, problem: { retryAfterS: null } },
  ];
  const kept = keeping({ ...wallet, finishBegun });

  await kept.turn();

  assert.deepEqual(kept.delays(), [90_000]);
});

test("who wakes it is served at once, and the delay before is forgotten", async () => {
  const { wallet } = await lostSend("lost", "lost");
  const kept = keeping(wallet);
  await kept.turn();

  kept.wake();
  const [before, woken] = kept.scheduled.splice(0);
  before.run();
  await setImmediate();
  assert.deepEqual(kept.outcomes, ["begun"]);
  woken.run();
  await setImmediate();

  assert.equal(woken.delayMs, 0);
  assert.deepEqual(kept.outcomes, ["begun", "begun"]);
  assert.deepEqual(kept.delays(), [2000]);
});

test("a store that fails ends it, and says so", async () => {
  const kept = keeping({
    finishBegun: async () => {
      throw new Error("no store");
    },
  });

  await kept.turn();

  assert.deepEqual([kept.errors, kept.scheduled], [["no store"], []]);
});

const BUSY = { retryAfterS: 90 };

test("a verb that was told to wait is sent again no sooner, whatever else wakes the page", async () => {
  const kept = keeping({ finishBegun: async () => [] });
  await kept.turn();
  const operation = { key: "k", state: "begun" };
  const store = { onChange: () => () => {}, read: async () => operation };

  untilEnded({ store, wake: kept.wake }, { operation, problem: BUSY }, () => {});
  kept.wake();

  assert.deepEqual(kept.delays(), [90_000, 90_000]);
});

for (const [problems, delayMs] of [
  [[undefined], 0],
  [[BUSY, { retryAfterS: 5 }], 90_000],
]) {
  test(`who wakes it while it runs is served after that, once: ${delayMs}`, async () => {
    let end;
    const kept = keeping({
      finishBegun: () => new Promise((resolve) => (end = resolve)),
    });
    await kept.turn();

    for (const problem of problems) kept.wake(problem);
    assert.deepEqual(kept.scheduled, []);
    end([]);
    await setImmediate();

    assert.deepEqual(kept.delays(), [delayMs]);
  });
}

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
