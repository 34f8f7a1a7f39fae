// The service is asked until it has said what it knows.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  NoAnswerError,
  ProblemError,
} from "../../../../../parts/pages/static/js/wallet/api.js";
import { makeLooking } from "../../../../../parts/pages/static/js/pages/claim/claims.js";

const ONE = { amount: 5, itemId: "deed_a", secret: "one" };
const TWO = { amount: 7, itemId: "deed_b", secret: "two" };
const ITEMS = { deed_a: { id: "deed_a" }, deed_b: { id: "deed_b" } };

/** What looks at a service that fails as often as there are `failures`. */
function lookingAt(failures = []) {
  const asked = [];
  const scheduled = [];
  const answer = async (what, value) => {
    asked.push(what);
    const failure = failures.shift();
    if (failure) throw failure;
    return value;
  };
  const looking = makeLooking({
    check: (raws) =>
      answer(
        raws.join(" "),
        raws.map(() => "unspent"),
      ),
    readItem: (itemId) => answer(itemId, ITEMS[itemId]),
    onChange: () => {},
    schedule: (run, delayMs) => scheduled.push({ run, delayMs }),
  });
  return { looking, asked, scheduled };
}

test("states are asked for at once, and each item once", async () => {
  const { looking, asked, scheduled } = lookingAt();

  await looking.look([ONE, { ...ONE, secret: "three" }, TWO]);

  assert.deepEqual(asked, [
    "+5.deed_a.one +5.deed_a.three +7.deed_b.two",
    "deed_a",
    "deed_b",
  ]);
  assert.equal(looking.stateOf(ONE), "unspent");
  assert.deepEqual(looking.itemOf(TWO), ITEMS.deed_b);
  assert.deepEqual([looking.problem(), scheduled], [null, []]);
});

test("what is known is not asked for again, unless wanted", async () => {
  const { looking, asked } = lookingAt();
  await looking.look([ONE]);

  await looking.look([ONE, TWO]);
  await looking.look([ONE, TWO], [ONE]);

  assert.deepEqual(asked.slice(2), ["+7.deed_b.two", "deed_b", "+5.deed_a.one"]);
});

test("what passes is waited for as long as the service says, and only what is missing asked", async () => {
  const busy = new ProblemError({ code: "overloaded" }, 503, 40);
  const { looking, asked, scheduled } = lookingAt([busy]);

  await looking.look([ONE]);
  assert.equal(looking.problem(), busy);
  assert.deepEqual(looking.itemOf(ONE), ITEMS.deed_a);
  const [{ run, delayMs }] = scheduled;
  await run();

  assert.equal(delayMs, 40_000);
  assert.deepEqual(asked.slice(2), ["+5.deed_a.one"]);
  assert.deepEqual([looking.stateOf(ONE), looking.problem()], ["unspent", null]);
});

test("it waits twice as long each time where there is no answer", async () => {
  const { looking, scheduled } = lookingAt([
    null,
    new NoAnswerError(),
    new NoAnswerError(),
  ]);

  await looking.look([ONE]);
  await scheduled[0].run();
  await scheduled[1].run();

  assert.deepEqual(
    scheduled.map(({ delayMs }) => delayMs),
    [2000, 4000],
  );
});

test("an item that there is not is known not to be, and not asked for again", async () => {
  const none = new ProblemError({ code: "item_not_found" }, 404, null);
  const { looking, scheduled } = lookingAt([null, none]);

  await looking.look([ONE]);

  assert.equal(looking.itemOf(ONE), null);
  assert.deepEqual([looking.problem(), scheduled], [null, []]);
});

test("what will not pass is told and not asked again", async () => {
  const refused = new ProblemError({ code: "invalid_request" }, 400, null);
  const { looking, scheduled } = lookingAt([refused]);

  await looking.look([ONE]);

  assert.deepEqual([looking.problem(), scheduled], [refused, []]);
});

test("a look that was overtaken by another asks no more", async () => {
  const { looking, asked, scheduled } = lookingAt([new NoAnswerError(), null]);
  await looking.look([ONE]);

  await looking.look([TWO]);
  await scheduled[0].run();

  assert.deepEqual(asked.slice(2), ["+7.deed_b.two", "deed_b"]);
});
