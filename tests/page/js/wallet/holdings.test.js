// What the wallet shows.

import assert from "node:assert/strict";
import { test } from "node:test";

import { AMOUNT_MAX } from "../../../../deeds/page/static/js/format/amounts.js";
import { historyOf, holdingsOf } from "../../../../deeds/page/static/js/wallet/holdings.js";
import { walletHolding, walletMeeting, walletOn } from "./parts.js";

test("what is held, given and coming is shown by item, the latest first", async () => {
  const { service, store, wallet, itemId } = await walletHolding(5, 6);
  const other = await wallet.mint({ outputs: [{ amount: 9 }] });
  await wallet.send(itemId, 2);
  await walletMeeting({ service, store }, () => "lost").send(itemId, 1);

  const holdings = holdingsOf(store.kept);

  const shown = holdings.map(({ itemId: id, item, sum, outputs, given, coming, unknown }) => [
    id,
    item,
    sum,
    outputs.map(({ amount }) => amount),
    given.map(({ amount }) => amount),
    coming,
    unknown,
  ]);
  assert.deepEqual(shown, [
    [itemId, null, 4, [4], [2], 4, []],
    [other.operation.itemId, null, 9, [9], [], 0, []],
  ]);
});

test("what is all spent is not shown", async () => {
  const { service, store, wallet, itemId } = await walletHolding(5);
  service.take([...store.kept.outputs.values()][0], "somebody's");

  await wallet.checkStates();

  assert.deepEqual(holdingsOf(store.kept), []);
  assert.deepEqual(
    historyOf(store.kept).map((operation) => operation.itemId),
    [itemId],
  );
});

test("all operations are in the history, the latest first", async () => {
  const { store, wallet, itemId } = await walletHolding(5, 6);
  await wallet.send(itemId, 2);
  await wallet.merge(itemId);

  const history = historyOf(store.kept);

  assert.deepEqual(
    history.map(({ kind, state, amount }) => [kind, state, amount]),
    [
      ["merge", "done", 9],
      ["send", "done", 2],
      ["mint", "done", 11],
    ],
  );
});

test("an item is asked for once", async () => {
  const { service, store, itemId } = await walletHolding(5);
  const item = { id: itemId, total: 5, metadata: '{"name":"a shed"}' };
  const answers = [item];
  const wallet = walletOn(service, store, { item: async () => answers.shift() });

  assert.deepEqual(await wallet.item(itemId), { ...item, key: itemId });
  assert.deepEqual(await wallet.item(itemId), { ...item, key: itemId });
  assert.deepEqual(holdingsOf(store.kept)[0].item, { ...item, key: itemId });
});

test("sums that cannot be are shown as the most there can be", () => {
  const output = { itemId: "deed_x", amount: AMOUNT_MAX, state: "held", changedAt: 1 };
  const outputs = new Map([
    ["a", { ...output, key: "a" }],
    ["b", { ...output, key: "b" }],
  ]);

  const [holding] = holdingsOf({ outputs, operations: new Map(), items: new Map() });

  assert.equal(holding.sum, AMOUNT_MAX);
});
