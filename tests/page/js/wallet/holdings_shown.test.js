// What the My deeds page shows of the records.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  operationText,
  quoted,
  timeText,
} from "../../../../deeds/page/static/js/texts/operations.js";
import { shownOf } from "../../../../deeds/page/static/js/wallet/holdings.js";
import { madeBy, walletHolding, walletMeeting } from "./parts.js";

const amounts = (outputs) => outputs.map(({ amount }) => amount);

/** Return what is shown of each item: sum, held, given, taken and lost amounts, and whether it is over. */
async function shown(store) {
  const { holdings } = await store.read(shownOf);
  return holdings.map(({ sum, outputs, given, taken, lost, isOver }) => [
    sum,
    ...[outputs, given, taken, lost].map(amounts),
    isOver,
  ]);
}

test("a link that somebody claimed is taken, and what else was spent elsewhere is lost", async () => {
  const { service, store, wallet, itemId } = await walletHolding(5, 7);
  const given = madeBy(store, await wallet.send(itemId, 2));
  const held = [...store.kept.outputs.values()].find(({ state }) => state === "held");
  service.take(given, "somebody's");
  service.take(held, "also somebody's");

  await wallet.checkStates();

  assert.deepEqual(await shown(store), [[5, [5], [], [2], [5], false]]);
});

test("a link that somebody claimed before it could be taken back is taken too", async () => {
  const { service, store, wallet, itemId } = await walletHolding(5);
  const given = madeBy(store, await wallet.send(itemId, 2));
  service.take(given, "somebody's");

  const { operation } = await wallet.takeBack(given.key);

  assert.equal(operation.state, "refused");
  assert.deepEqual(await shown(store), [[3, [3], [], [2], [], false]]);
});

test("what this wallet spent itself is not shown, a link that it claimed itself neither", async () => {
  const { store, wallet, itemId } = await walletHolding(5);
  const given = madeBy(store, await wallet.send(itemId, 2));

  await wallet.claim(given);

  assert.deepEqual(await shown(store), [[5, [3, 2], [], [], [], false]]);
});

test("where nothing is left comes last, and the rest stays where it was", async () => {
  const { service, store, wallet, itemId } = await walletHolding(5);
  await wallet.mint({ outputs: [{ amount: 6 }] });
  await wallet.mint({ outputs: [{ amount: 7 }] });
  await wallet.send(itemId, 1);
  const gone = [...store.kept.outputs.values()].find(({ amount }) => amount === 7);
  service.take(gone, "somebody's");

  await wallet.checkStates();

  assert.deepEqual(await shown(store), [
    [6, [6], [], [], [], false],
    [4, [4], [1], [], [], false],
    [0, [], [], [], [7], true],
  ]);
});

test("what is on its way is not over", async () => {
  const { service, store, itemId } = await walletHolding(5);
  await walletMeeting({ service, store }, () => "lost").send(itemId, 5);

  const { holdings, begun } = await store.read(shownOf);

  assert.deepEqual([holdings[0].isOver, begun.length], [false, 1]);
});

test("an operation is told in words, whatever became of it", () => {
  const told = (kind, state) => operationText({ kind, state, amount: 1, itemId: "deed_a" }, "A");
  const kinds = ["mint", "claim", "send", "split", "merge", "takeBack"];

  assert.deepEqual(
    kinds.map((kind) => told(kind, "done")),
    [
      "Minted 1 unit of “A”",
      "Claimed 1 unit of “A”",
      "Made a link of 1 unit of “A”",
      "Split 1 unit of “A”",
      "Merged 1 unit of “A”",
      "Took back 1 unit of “A”",
    ],
  );
  assert.equal(told("send", "begun"), "Making a link of 1 unit of “A”");
  // A mint has no item before it is answered.
  assert.equal(operationText({ kind: "mint", state: "begun", amount: 2 }, ""), "Minting 2 units");
});

test("a name of any length and form takes one short line", () => {
  assert.equal(quoted(" a\n\n b "), "“a b”");
  assert.equal(quoted("😀".repeat(60)), `“${"😀".repeat(60)}”`);
  assert.equal(quoted("😀".repeat(61)), `“${"😀".repeat(59)}…”`);
});

test("a time that is none is not told", () => {
  assert.deepEqual([1e300, NaN, Infinity].map(timeText), ["", "", ""]);
  assert.match(timeText(0), /19(?:70|69)/);
});
