// When an open page asks for links that wait, and what it says is new.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  keepAsking,
  newsOf,
  seriesMaker,
} from "../../../../../parts/pages/static/js/pages/wallet/live.js";

/** A page with a clock of its own: `later` lets time pass up to the next timer. */
function page({ answers = [], isWanted = () => true, ...more } = {}) {
  const at = [];
  const timers = [];
  let now = 0;
  const ask = keepAsking({
    async checkRound() {
      at.push(now / 1000);
      const error = answers.shift();
      if (error) throw error;
    },
    isWanted,
    ...more,
    schedule: (run, delayMs) => timers.push({ run, time: now + delayMs }),
    now: () => now,
  });
  const later = async () => {
    const { run, time } = timers.shift();
    now = time;
    await run();
  };
  return { ask, at, later, pass: (seconds) => (now += 1000 * seconds) };
}

test("it is asked every 20 seconds, and at once when a person comes back", async () => {
  const { ask, at, later, pass } = page();

  await ask();
  await later();
  pass(5);
  await ask();
  // Focus and visibility come together: one of them asks.
  await ask();

  assert.deepEqual(at, [0, 20, 25]);
});

test("what is over is asked for no more", async () => {
  const { ask, at, later } = page({ roundMs: 2500, isOver: () => at.length > 1 });

  await ask();
  await later();
  await assert.rejects(later);

  assert.deepEqual(at, [0, 2.5]);
});

test("a timer that a later round has overtaken asks nothing", async () => {
  const { ask, at, later, pass } = page();

  await ask();
  pass(10);
  await ask();
  await later();

  assert.deepEqual(at, [0, 10]);
});

test("after a failure it is asked later and later, and never before the service said", async () => {
  const [failure, tooMany] = [
    new Error(),
    Object.assign(new Error(), { retryAfterS: 300 }),
  ];
  const { ask, at, later } = page({ answers: [failure, failure, tooMany] });

  await ask();
  // Not even by a person who comes back.
  await ask();
  for (let times = 0; times < 5; times += 1) await later();

  assert.deepEqual(at, [0, 40, 120, 420, 440]);
});

test("while a check is under way, who comes back begins no other", async () => {
  let checksCount = 0;
  const checkRound = () => new Promise(() => (checksCount += 1));
  const ask = keepAsking({ checkRound, isWanted: () => true, schedule: () => {} });

  ask();
  ask();

  assert.equal(checksCount, 1);
});

test("a batch of links that has no answer is waited for, before any other is asked for", async () => {
  const [asked, woken, listeners] = [[], [], []];
  const operations = new Map([["k", { key: "k", state: "begun" }]]);
  const problem = new Error();
  const wallet = {
    async prepareNext(itemId) {
      asked.push(itemId);
      return asked.length > 1 ? null : { operation: operations.get("k"), problem };
    },
  };
  const store = {
    onChange: (listener) => (listeners.push(listener), () => {}),
    read: async (_wanted, look) => look({ operations }),
  };
  const goOn = seriesMaker(
    { wallet, store, wake: (why) => woken.push(why) },
    () => "a",
  );

  goOn();
  for (let times = 0; times < 5; times += 1) await Promise.resolve();
  const going = goOn();
  assert.deepEqual([asked, woken], [["a"], [problem]]);
  operations.set("k", { key: "k", state: "done" });
  listeners.forEach((listener) => listener());
  await going;

  assert.deepEqual(asked, ["a", "a"]);
});

test("nothing is asked while nothing waits or nobody looks", async () => {
  const { ask, at, later } = page({ isWanted: () => false });

  await ask();
  await later();

  assert.deepEqual(at, []);
});

const named = (name) => ({ metadata: JSON.stringify({ name }) });
const nothing = { claimed: 0, lost: 0, unknownSum: 0 };

test("a claim is said in neutral words, and a deed that is new is no news", () => {
  const before = new Map([["a", { ...nothing, itemId: "a", claimed: 2 }]]);
  const after = [
    {
      ...nothing,
      itemId: "a",
      claimed: 5,
      lost: 1,
      item: { ...named("A"), unit: "ticket" },
    },
    { ...nothing, itemId: "b", claimed: 7, item: named("B") },
  ];

  assert.deepEqual(newsOf(before, after), [
    "Claimed: 3 × ticket of “A”.",
    "Used elsewhere: 1 ticket of “A”.",
  ]);
  assert.deepEqual(newsOf(new Map(), after), []);
});

test("of much news the first is said", () => {
  const ids = ["a", "b", "c", "d", "e"];
  const before = new Map(ids.map((itemId) => [itemId, { ...nothing, itemId }]));
  const after = ids.map((itemId) => ({
    ...nothing,
    itemId,
    claimed: 1,
    item: named(itemId),
  }));

  const news = newsOf(before, after);

  assert.deepEqual(news.slice(2), ["Claimed: 1 unit of “c”.", "And 2 more."]);
});
