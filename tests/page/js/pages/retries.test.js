// When requests are repeated.

import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { test } from "node:test";

import {
  keepAsking,
  keepFinishing,
  keepTrying,
} from "../../../../parts/pages/static/js/pages/retries.js";
import { makeClock } from "../clock.js";

/** What is tried with these outcomes, one after the other, and at which seconds. */
function trying(outcomes) {
  const clock = makeClock();
  const at = [];
  const act = async () => {
    at.push(clock.seconds());
    return outcomes.shift() ?? null;
  };
  return { ...clock, at, wake: keepTrying(act) };
}

test("what fails is tried again after twice as long each time, up to a minute, until it is over", async () => {
  const failure = [undefined];
  const { wake, at, until } = trying(Array(7).fill(failure));

  await wake();
  await until(1000);

  assert.deepEqual(at, [0, 2, 6, 14, 30, 62, 122, 182]);
});

const BUSY = { retryAfterS: 90 };

test("who wakes it is served at once, or after a problem soon, and the delay before is forgotten", async () => {
  const failure = [undefined];
  const { wake, at, until } = trying(Array(4).fill(failure));
  await wake();
  await until(3);

  await wake();
  await until(4);
  wake(new Error());
  await until(1000);

  assert.deepEqual(at, [0, 2, 3, 6, 8]);
});

for (const [problems, at] of [
  [
    [undefined, new Error()],
    [0, 0],
  ],
  [
    [{ retryAfterS: 5 }, BUSY],
    [0, 90],
  ],
]) {
  test(`who wakes it while it runs is served after that, once: at ${at}`, async () => {
    const tried = trying([]);

    tried.wake();
    for (const problem of problems) tried.wake(problem);
    await setImmediate();
    await tried.until(1000);

    assert.deepEqual(tried.at, at);
  });
}

Object.assign(globalThis, { document: { hidden: false } });

/** A page that asks, with these answers of the service, and at which seconds it does. */
function asking({ answers = [], isWanted = () => true, ...more } = {}) {
  const clock = makeClock();
  const at = [];
  const checkRound = async () => {
    at.push(clock.seconds());
    const error = answers.shift();
    if (error) throw error;
  };
  const ask = keepAsking({ checkRound, isWanted, ...more });
  return { ...clock, at, ask };
}

test("it is asked every 20 seconds, and at once when a person comes back", async () => {
  const { ask, at, until } = asking();

  await ask();
  await until(25);
  await ask();
  // Focus and visibility come together: one of them asks.
  await ask();
  await until(50);

  assert.deepEqual(at, [0, 20, 25, 45]);
});

test("what is over is asked for no more", async () => {
  const { ask, at, until } = asking({
    roundMs: () => 2500,
    isOver: () => at.length > 1,
  });

  await ask();
  await until(100);

  assert.deepEqual(at, [0, 2.5]);
});

test("after failures it is asked less and less often, and who comes back is served unless the service said to wait", async () => {
  const tooMany = Object.assign(new Error(), { retryAfterS: 300 });
  const failures = Array(3).fill(new Error());
  const { ask, at, until } = asking({ answers: [...failures, tooMany] });

  await ask();
  await until(61);
  await ask();
  await ask();
  ask();
  await until(400);

  assert.deepEqual(at, [0, 20, 60, 61, 361, 381]);
});

test("nothing is asked while nothing waits or nobody looks", async () => {
  const { ask, at, until } = asking({ isWanted: () => false });

  await ask();
  await until(100);

  assert.deepEqual(at, []);
});

test("what has no answer is sent again, and told after each try", async () => {
  const { until } = makeClock();
  const outcomes = ["begun", "begun", "done"].map((state) => ({
    operation: { state },
  }));
  const told = [];

  keepFinishing({
    finishBegun: async () => [outcomes[told.length]],
    onOutcomes: ([outcome]) => told.push(outcome),
    onError: assert.fail,
  });
  await until(100);

  assert.deepEqual(told, outcomes);
});

test("a store that fails ends it, and says so", async () => {
  const { until } = makeClock();
  const errors = [];
  const failure = new Error("no store");

  keepFinishing({
    finishBegun: () => Promise.reject(failure),
    onError: (error) => errors.push(error),
  });
  await until(100);

  assert.deepEqual(errors, [failure]);
});
