// How often a page asks what became of the code that it shows, and what it says then.

import assert from "node:assert/strict";
import { test } from "node:test";

import { watchCode } from "../../../../../parts/pages/static/js/pages/wallet/show_code.js";
import {
  NoAnswerError,
  ProblemError,
} from "../../../../../parts/pages/static/js/wallet/api.js";
import { makeClock } from "../../clock.js";

const SHOWN = { key: "k", state: "held", shownAt: 1 };
const SPENT = { ...SHOWN, state: "spent", spentElsewhere: true };

/** Return a code on the screen, to which the service gives these answers in turn. */
function watching(answers = [], random = 0.5) {
  const clock = makeClock();
  const page = new EventTarget();
  const [at, told] = [[], []];
  let record = SHOWN;
  const read = async (_wanted, look) => look({ outputs: { existing: () => record } });
  const store = { read, onChange: () => () => {} };
  const checkShown = async () => {
    at.push(clock.seconds());
    const answer = answers.shift() ?? SHOWN;
    if (answer instanceof Error) throw answer;
    record = answer;
  };
  Object.assign(globalThis, { window: page, document: page });
  Object.defineProperty(globalThis, "navigator", {
    configurable: true,
    value: { onLine: true },
  });
  Math.random = () => random;
  const tell = (state) => told.at(-1) !== state && told.push(state);
  const wallet = { checkShown, shown: async () => {} };
  const end = watchCode(SHOWN, { wallet, store }, tell);
  return { ...clock, at, told, page, end };
}

const steps = (from, to, step) =>
  Array.from({ length: (to - from) / step + 1 }, (_, place) => from + place * step);

test("a code is asked for often at first, then less, until it is no longer shown", async () => {
  const { until, at, end } = watching();

  await until(170);
  end();
  await until(1000);

  assert.deepEqual(at, [...steps(0, 20, 2), ...steps(25, 120, 5), 140, 160]);
});

test("phones that were shown the code together do not ask together", async () => {
  for (const [random, first] of [
    [0, 1.5],
    [1, 2.5],
  ]) {
    const { until, at } = watching([], random);
    await until(3);
    assert.deepEqual(at.slice(0, 2), [0, first]);
  }
});

test("it is asked no sooner than the service says, and nothing while the page is hidden", async () => {
  const busy = new ProblemError({ code: "busy" }, 503, 9);
  const { until, at, page } = watching([busy]);

  await until(10);
  Object.assign(page, { hidden: true });
  await until(60.5);
  Object.assign(page, { hidden: false });
  page.dispatchEvent(new Event("visibilitychange"));
  await until(61);

  assert.deepEqual(at, [0, 9, 60.5]);
});

for (const [name, record, state] of [
  ["a door has used", SPENT, "used"],
  ["this wallet has sent", { ...SPENT, spentElsewhere: false }, "moved"],
  ["was handed out, and claimed", { ...SPENT, givenAt: 1 }, "moved"],
  ["a copy of this wallet may have moved", { ...SPENT, isUnclear: true }, "moved"],
]) {
  test(`what ${name} is ${state}, and asked for no more`, async () => {
    const { until, at, told } = watching([new NoAnswerError(), record]);

    await until(100);

    assert.deepEqual(told, ["asking", "offline", state]);
    assert.deepEqual(at, [0, 2]);
  });
}
