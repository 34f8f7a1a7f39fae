// The outputs that a tab keeps until they are taken.

import assert from "node:assert/strict";
import { test } from "node:test";

import { makeClaimList } from "../../../../../parts/pages/static/js/pages/claim/list.js";

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

test("what is added is there after a reload, once, in its order", () => {
  const { list, reloaded } = tabList();

  list.add([ONE]);
  list.add([TWO, ONE]);

  assert.deepEqual(list.all(), [ONE, TWO]);
  assert.deepEqual(reloaded().all(), [ONE, TWO]);
});

test("links that come together are opened together, and all before them are older", () => {
  const { list, reloaded } = tabList();
  list.add([ONE]);

  list.add([TWO, THREE]);

  for (const each of [list, reloaded()]) {
    assert.deepEqual(each.all(), [older(ONE), TWO, THREE]);
    assert.deepEqual(each.opened(), [TWO, THREE]);
  }
});

test("an older link that is opened again is the one just opened", () => {
  const { list } = tabList();
  list.add([ONE]);
  list.add([TWO]);

  list.add([older(ONE)]);

  assert.deepEqual(list.all(), [ONE, older(TWO)]);
});

test("a link that cannot be read leaves nothing just opened", () => {
  const { list } = tabList();
  list.add([ONE]);

  list.add([]);

  assert.deepEqual([list.all(), list.opened()], [[older(ONE)], []]);
});

test("a link with another amount takes the place of the one before it", () => {
  const { list } = tabList();
  const other = { ...ONE, amount: 6 };

  list.add([ONE, TWO]);
  list.add([other]);

  assert.deepEqual(list.all(), [other, older(TWO)]);
});

test("what is forgotten is shown until a reload", () => {
  const { list, reloaded } = tabList();
  list.add([ONE, TWO]);

  list.forget([ONE]);

  assert.deepEqual(list.all(), [ONE, TWO]);
  assert.deepEqual(reloaded().all(), [TWO]);
});

test("what is forgotten stays so when another is added", () => {
  const { list, reloaded } = tabList();
  list.add([ONE]);
  list.forget([ONE]);

  list.add([TWO]);

  assert.deepEqual(reloaded().all(), [TWO]);
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
