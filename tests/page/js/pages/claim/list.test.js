// The outputs that a tab keeps until they are taken.

import assert from "node:assert/strict";
import { test } from "node:test";

import { makeClaimList } from "../../../../../parts/pages/static/js/pages/claim/claims.js";

const ONE = { amount: 5, itemId: "deed_a", secret: "one .+", unit: "" };
const THREE = { amount: 1, itemId: "deed_b", secret: "three" };
const TWO = { amount: 7, itemId: "deed_a", secret: "two", unit: "hour" };

/** A storage as a tab has one. */
function fakeStorage() {
  const kept = new Map();
  return {
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, text) => kept.set(name, text),
    removeItem: (name) => kept.delete(name),
    kept,
  };
}

/** Return a tab's list, and what makes it again as a reload does. */
function tabList() {
  const storage = fakeStorage();
  const reloaded = () => makeClaimList(() => storage);
  return { storage, list: reloaded(), reloaded };
}

const older = (output) => ({ ...output, isOlder: true });

/** What comes one after the other, and what is there then, also after a reload. */
const ADDED = {
  "each is there once, in its order": [
    [[ONE], [TWO, ONE]],
    [ONE, TWO],
  ],
  "links that come together are opened together, and all before them are older": [
    [[ONE], [TWO, THREE]],
    [older(ONE), TWO, THREE],
  ],
  "an older link that is opened again is the one just opened": [
    [[ONE], [TWO], [older(ONE)]],
    [ONE, older(TWO)],
  ],
  "a link that cannot be read leaves nothing just opened": [[[ONE], []], [older(ONE)]],
  "a link with another amount takes the place of the one before it": [
    [[ONE, TWO], [{ ...ONE, amount: 6 }]],
    [{ ...ONE, amount: 6 }, older(TWO)],
  ],
};

for (const [name, [added, all]] of Object.entries(ADDED)) {
  test(`of what is added ${name}`, () => {
    const { list, reloaded } = tabList();

    added.forEach(list.add);

    for (const each of [list, reloaded()]) {
      assert.deepEqual(each.all(), all);
      assert.deepEqual(
        each.opened(),
        all.filter(({ isOlder }) => !isOlder),
      );
    }
  });
}

test("what is forgotten is shown until a reload, and stays so when another is added", () => {
  const { list, reloaded } = tabList();
  list.add([ONE, TWO]);

  list.forget([ONE]);

  assert.deepEqual(list.all(), [ONE, TWO]);
  assert.deepEqual(reloaded().all(), [TWO]);
  list.add([THREE]);
  assert.deepEqual(reloaded().all(), [older(TWO), THREE]);
});

test("what is dropped is neither shown nor kept, and nothing is left in the storage", () => {
  const { storage, list } = tabList();
  list.add([ONE, TWO]);

  list.drop([ONE, TWO]);

  assert.deepEqual(list.all(), []);
  assert.equal(storage.kept.size, 0);
});

test("a storage that is forbidden, full or holds something else does no harm", () => {
  const forbidden = () => {
    throw new Error("forbidden");
  };
  const strange = fakeStorage();
  strange.kept.set("deeds.claim", '{"a": 1}');
  for (const findStorage of [
    forbidden,
    () => ({ getItem: () => null }),
    () => strange,
  ]) {
    const list = makeClaimList(findStorage);

    list.add([ONE]);

    assert.deepEqual(list.all(), [ONE]);
  }
});
