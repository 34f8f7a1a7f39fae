// The service is asked for what it has not said yet.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ProblemError } from "../../../../../parts/pages/static/js/wallet/api.js";
import { makeAnswers } from "../../../../../parts/pages/static/js/pages/claim/claims.js";

const ONE = { amount: 5, itemId: "deed_a", secret: "one" };
const TWO = { amount: 7, itemId: "deed_b", secret: "two" };
const ITEMS = { deed_a: { id: "deed_a" }, deed_b: { id: "deed_b" } };

/** The answers of a service that fails as often as there are `failures`. */
function answersOf(failures = []) {
  const asked = [];
  const answer = async (what, value) => {
    asked.push(what);
    const failure = failures.shift();
    if (failure) throw failure;
    return value;
  };
  const check = (raws) => answer(raws.join(" "), Array(raws.length).fill("unspent"));
  const readItem = (itemId) => answer(itemId, ITEMS[itemId]);
  const answers = makeAnswers(check, readItem);
  return { answers, asked, ask: (...outputs) => Promise.all(answers.ask(outputs)) };
}

test("states are asked for at once, each item once, and again only what failed or is forgotten", async () => {
  const failure = new ProblemError({ code: "overloaded" }, 503, 40);
  const { answers, asked, ask } = answersOf([failure]);
  const outputs = [ONE, { ...ONE, secret: "three" }, TWO];

  await assert.rejects(ask(...outputs), failure);
  await ask(...outputs);
  answers.forget([ONE]);
  await ask(...outputs);

  const states = "+5.deed_a.one +5.deed_a.three +7.deed_b.two";
  assert.deepEqual(asked, [states, "deed_a", "deed_b", states, "+5.deed_a.one"]);
  assert.equal(answers.stateOf(ONE), "unspent");
  assert.deepEqual(answers.itemOf(TWO), ITEMS.deed_b);
});

test("an item that there is not is known not to be, and not asked for again", async () => {
  const none = new ProblemError({ code: "item_not_found" }, 404, null);
  const { answers, asked, ask } = answersOf([null, none]);

  await ask(ONE);
  await ask(ONE);

  assert.equal(answers.itemOf(ONE), null);
  assert.deepEqual(asked.slice(2), []);
});
