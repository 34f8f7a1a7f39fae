// What an open page says is new.

import assert from "node:assert/strict";
import { test } from "node:test";

import { newsOf } from "../../../../../parts/pages/static/js/pages/wallet/lists.js";

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
