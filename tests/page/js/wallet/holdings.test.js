// What the wallet shows.

import assert from "node:assert/strict";
import { test } from "node:test";

import { AMOUNT_MAX } from "../../../../deeds/page/static/js/format/amounts.js";
import {
  historyOf,
  holdingOf,
  holdingWanted,
  SUMMARIES_WANTED,
  summariesOf,
} from "../../../../deeds/page/static/js/wallet/holdings.js";
import { memoryStore, slicesOf } from "./memory_store.js";
import { heldIn, madeBy, walletHolding, walletMeeting, walletOn } from "./parts.js";

/** Return the fields of each summary that are not nothing, without its item. */
async function told(store) {
  const summaries = await store.read(SUMMARIES_WANTED, summariesOf);
  return summaries.map(({ itemId, item, ...more }) =>
    Object.fromEntries(Object.entries(more).filter(([, value]) => value)),
  );
}

/** Return state and number of each link of an item. */
async function links({ store, itemId }) {
  const { links: all } = await store.read(holdingWanted(itemId), (slices) =>
    holdingOf(slices, itemId),
  );
  return all.map(({ state, output }) => `${state} ${output.number ?? ""}`.trim());
}

const isMinted = true;

test("what is here, waiting and coming is told by item, the latest item first", async () => {
  const { service, store, wallet, itemId } = await walletHolding(5, 6);
  await wallet.mint({ outputs: [{ amount: 9 }] });
  await wallet.send(itemId, 2);
  await walletMeeting({ service, store }, () => "lost").send(itemId, 1);

  assert.deepEqual(await told(store), [
    { sum: 9, isMinted },
    { sum: 4, coming: 4, given: 2, waiting: 2, isMoving: true, isMinted },
  ]);
});

test("a link that somebody claimed is claimed, and what else was spent elsewhere is lost", async () => {
  const { service, store, wallet, itemId } = await walletHolding(5, 7);
  const given = madeBy(store, await wallet.send(itemId, 2));
  service.take(given, "somebody's");
  service.take(heldIn(store)[0], "also somebody's");

  await wallet.checkStates();

  assert.deepEqual(await told(store), [
    { sum: 5, given: 2, claimed: 2, lost: 5, isMinted },
  ]);
  const { parts } = holdingOf(slicesOf(store.kept), itemId);
  assert.deepEqual(
    parts.map(({ amount }) => amount),
    [5],
  );
});

test("what was claimed too late was never here, and is not lost", async () => {
  const giver = await walletHolding(5);
  const given = madeBy(giver.store, await giver.wallet.send(giver.itemId, 5));
  giver.service.take(given, "somebody's");
  const store = memoryStore();

  await walletOn(giver.service, store).claim(given);

  assert.deepEqual(await told(store), []);
  // Who has handed it out knows better, in whatever order their records come together.
  await giver.wallet.checkStates();
  for (const [mine, theirs] of [
    [giver.store, store],
    [store, giver.store],
  ]) {
    const both = memoryStore();
    for (const each of [mine, theirs]) {
      const records = await walletOn(giver.service, each).exportRecords();
      await walletOn(giver.service, both).importRecords(records);
    }
    assert.deepEqual(await told(both), [
      { given: 5, claimed: 5, isMinted, isOver: true },
    ]);
  }
});

test("a minted link that was handed out and claimed is claimed and never lost", async () => {
  const ground = await walletHolding();
  const { operation } = await ground.wallet.mint({ links: { count: 3, each: 2 } });
  const [first] = await ground.wallet.giveOut([operation.outputs[0].key]);
  ground.service.take(first, "an honest customer's");

  await ground.wallet.checkStates();

  assert.deepEqual((await told(ground.store))[0], {
    sum: 4,
    given: 2,
    claimed: 2,
    isMinted,
  });
  const { itemId } = operation;
  assert.deepEqual(await links({ ...ground, itemId }), [
    "claimed 1",
    "here 2",
    "here 3",
  ]);
});

test("a link that somebody claimed before it could be taken back is claimed too", async () => {
  const { service, store, wallet, itemId } = await walletHolding(5);
  const given = madeBy(store, await wallet.send(itemId, 2));
  service.take(given, "somebody's");

  const { operation } = await wallet.takeBack(given.key);

  assert.equal(operation.state, "refused");
  assert.deepEqual(await told(store), [{ sum: 3, given: 2, claimed: 2, isMinted }]);
});

test("a link that was taken back is no longer handed out", async () => {
  const ground = await walletHolding(5);
  const given = madeBy(ground.store, await ground.wallet.send(ground.itemId, 2));

  await ground.wallet.claim(given);

  assert.deepEqual(await told(ground.store), [{ sum: 5, isMinted }]);
  assert.deepEqual(await links(ground), ["taken back"]);
});

test("what came in at the door is collected, and where it was handed out its link too", async () => {
  const ground = await walletHolding(5);
  const given = madeBy(ground.store, await ground.wallet.send(ground.itemId, 2));

  await ground.wallet.claim(given, { atDoor: true });

  assert.deepEqual(await told(ground.store), [
    { sum: 3, given: 2, collected: 2, isMinted },
  ]);
  assert.deepEqual(await links(ground), ["collected"]);
});

test("where nothing is left comes last, and the rest stays where it was", async () => {
  const { service, store, wallet, itemId } = await walletHolding(5);
  await wallet.mint({ outputs: [{ amount: 6 }] });
  await wallet.mint({ outputs: [{ amount: 7 }] });
  await wallet.send(itemId, 1);
  service.take(
    heldIn(store).find(({ amount }) => amount === 7),
    "somebody's",
  );

  await wallet.checkStates();

  assert.deepEqual(await told(store), [
    { sum: 6, isMinted },
    { sum: 4, given: 1, waiting: 1, isMinted },
    { lost: 7, isMinted, isOver: true },
  ]);
});

test("what is all on its way is not over, and what is all spent is not shown", async () => {
  const { service, store, wallet, itemId } = await walletHolding(5);
  const lost = walletMeeting({ service, store }, () => "lost");
  await lost.send(itemId, 5);

  assert.deepEqual(await told(store), [{ isMinted, isMoving: true }]);
  const [{ operation }] = await wallet.finishBegun();
  await wallet.takeBack(operation.outputs[0].key);
  await wallet
    .claim({ itemId, amount: 5, secret: heldIn(store)[0].secret })
    .catch(() => {});
  assert.deepEqual(await told(store), [{ sum: 5, isMinted }]);
});

test("links that are still to be made are counted, and can be told from parts", async () => {
  const ground = await walletHolding();
  const small = walletOn(ground.service, ground.store, ground.service.api(), {
    arrayMax: 4,
  });
  const { operation } = await small.mint({ links: { count: 9, each: 5 } });
  const { itemId } = operation;

  const wanted = { preparing: { ready: 3, count: 9 }, sum: 45, isMinted };
  assert.deepEqual(await told(ground.store), [wanted]);
  const { parts } = holdingOf(slicesOf(ground.store.kept), itemId);
  assert.deepEqual(
    parts.map(({ amount }) => amount),
    [5, 5, 5],
  );
  while (await small.prepareNext(itemId));
  assert.deepEqual(await told(ground.store), [{ sum: 45, isMinted }]);
});

test("the first part is the largest, without a number if it can be, else the last link", async () => {
  const ground = await walletHolding(9);
  const { wallet, itemId } = ground;
  const numbers = async () => {
    const { parts } = await ground.store.read(holdingWanted(itemId), (slices) =>
      holdingOf(slices, itemId),
    );
    return parts.map(({ amount, number = "" }) => `${amount} ${number}`.trim());
  };

  await wallet.makeLinks(itemId, { count: 3, each: 2 });
  assert.deepEqual(await numbers(), ["3", "2 3", "2 2", "2 1"]);
  await wallet.send(itemId, 1);
  assert.deepEqual(await numbers(), ["2", "2 3", "2 2", "2 1"]);
});

test("all operations are in the history, the latest first", async () => {
  const { store, wallet, itemId } = await walletHolding(5, 6);
  await wallet.send(itemId, 2);
  await wallet.merge(itemId);

  const history = historyOf(slicesOf(store.kept));

  assert.deepEqual(
    history.map(({ kind, state, amount }) => [kind, state, amount]),
    [
      ["merge", "done", 9],
      ["send", "done", 2],
      ["mint", "done", 11],
    ],
  );
});

test("an item that this wallet minted is known at once, and another is asked for once", async () => {
  const { service, store, wallet } = await walletHolding(5);
  const metadata = { description: "of ten", name: "a shed" };
  const { operation } = await wallet.mint({
    outputs: [{ amount: 5 }],
    metadata,
    unit: " hour ",
  });
  const minted = {
    id: operation.itemId,
    key: operation.itemId,
    total: 5,
    isMinted,
    unit: "hour",
  };
  const text = '{"name":"a shed","description":"of ten"}';
  const other = { id: "deed_other", total: 5, metadata: null };
  const answers = [other];
  const asking = walletOn(service, store, { item: async () => answers.shift() });

  assert.deepEqual(await asking.item(operation.itemId), { ...minted, metadata: text });
  assert.deepEqual(await asking.item(other.id), { ...other, key: other.id });
  assert.deepEqual(await asking.item(other.id), { ...other, key: other.id });
});

test("sums that cannot be are shown as the most there can be", () => {
  const output = { itemId: "deed_x", amount: AMOUNT_MAX, state: "held", changedAt: 1 };
  const outputs = new Map([
    ["a", { ...output, key: "a" }],
    ["b", { ...output, key: "b" }],
  ]);

  const [summary] = summariesOf(slicesOf({ outputs }));

  assert.equal(summary.sum, AMOUNT_MAX);
});
