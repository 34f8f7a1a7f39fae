// What the wallet shows: holdings, links, and where the units of a deed are.

import assert from "node:assert/strict";
import { test } from "node:test";

import { AMOUNT_MAX } from "../../../../parts/pages/static/js/format/amounts.js";
import {
  historyOf,
  readHolding,
  SUMMARIES_PLAN,
  summariesOf,
  withSaid,
} from "../../../../parts/pages/static/js/wallet/holdings.js";
import { noteOf } from "../../../../parts/pages/static/js/format/tickets.js";
import { memoryStore, slicesOf } from "./memory_store.js";
import {
  copyOf,
  fileOf,
  giverOf,
  guestHolding,
  heldIn,
  linkFrom,
  makerOn,
  mintAmounts,
  minted,
  outputIn,
  swapsMeeting,
  walletHolding,
  walletMeeting,
  walletOn,
} from "./parts.js";

/** Return the fields of each summary that are not nothing, without its item. */
async function told(store) {
  const summaries = await store.read(SUMMARIES_PLAN, summariesOf);
  return summaries.map(({ itemId, item, most: _, ...more }) =>
    Object.fromEntries(Object.entries(more).filter(([, value]) => value)),
  );
}

/** Fail unless these are the summaries of a wallet. */
async function assertTold(store, ...summaries) {
  assert.deepEqual(await told(store), summaries);
}

/** Return the amounts of the parts of an item, in their order. */
async function amountsOfParts(ground) {
  const { parts } = await readHolding(ground.store, ground.itemId);
  return parts.map(({ amount }) => amount);
}

/** Return state and number of each link of an item. */
async function links(ground, itemId = ground.itemId) {
  const { links: all } = await readHolding(ground.store, itemId);
  return all.map(({ state, output }) => `${state} ${output.number ?? ""}`.trim());
}

test("a deed of very many parts and a list of very many tickets are shown", () => {
  const count = 200_000;
  const part = { itemId: "deed_1", state: "held", amount: 1 };
  const outputs = Array.from({ length: count }, (_, shownAt) => {
    return { ...part, key: `deed_1.${shownAt}`, shownAt };
  });
  const waiting = { output: { number: 1 }, state: "waiting" };
  const admitted = { output: { said: 1 }, state: "admitted", at: 1 };

  const [{ shownAt }] = summariesOf(slicesOf({ outputs }));
  const [{ said }] = withSaid([waiting, ...Array(count).fill(admitted)]);

  assert.equal(shownAt, count - 1);
  assert.deepEqual(said, { count, at: 1 });
});

const isMinted = true;

test("what is here, waiting and coming is told by item, the latest item first", async () => {
  const ground = await walletHolding(5, 6);
  const { store, wallet, itemId } = ground;
  await mintAmounts(wallet, 9);
  await wallet.send(itemId, 2);
  await walletMeeting(ground, () => "lost").send(itemId, 1);

  await assertTold(
    store,
    { sum: 9, isMinted },
    { sum: 4, coming: 4, leaving: 1, given: 2, waiting: 2, isMinted },
  );
});

test("a link that somebody claimed is claimed, and what else was spent elsewhere is lost", async () => {
  const ground = await walletHolding(5, 7);
  const { service, store, wallet } = ground;
  service.take(await linkFrom(ground, 2));
  service.take(heldIn(store)[0], "also somebody's");

  await wallet.checkStates();

  await assertTold(store, { sum: 5, given: 2, claimed: 2, lost: 5, isMinted });
});

for (const fate of ["lost", "answer lost"])
  test(`what somebody claimed is claimed while a send is under way: ${fate}`, async () => {
    const ground = await walletHolding(5);
    const { service, store, wallet } = ground;
    service.take(await linkFrom(ground, 2));
    await swapsMeeting(ground, fate).send(ground.itemId, 1);

    await wallet.checkStates();

    await assertTold(store, { sum: 2, given: 3, waiting: 1, claimed: 2, isMinted });
  });

test("what was claimed too late was never here, and is not lost", async () => {
  const { given, ...giver } = await giverOf(5);
  giver.service.take(given);
  const taker = makerOn(giver.service);

  await taker.wallet.claim(given);

  await assertTold(taker.store);
  // Who has handed it out knows better, in whatever order their records come together.
  await giver.wallet.checkStates();
  for (const [first, second] of [
    [giver, taker],
    [taker, giver],
  ]) {
    const both = await copyOf(first);
    await both.wallet.importRecords(await fileOf(second), { isOwn: true });
    await assertTold(both.store, { given: 5, claimed: 5, isMinted, isOver: true });
  }
});

test("what was paid back to its maker counts once", async () => {
  const { given, ...maker } = await giverOf(5);
  const guest = makerOn(maker.service);
  await guest.wallet.claim(given);
  await maker.wallet.checkStates();
  const older = await copyOf(maker);

  for (const paid of [1, 1])
    await maker.wallet.claim(await linkFrom({ ...guest, itemId: maker.itemId }, paid));
  await maker.wallet.merge(maker.itemId);

  // A backup from before it does not have it, and a look finds it.
  await older.wallet.look();
  for (const { store } of [maker, older])
    await assertTold(store, {
      sum: 2,
      given: 5,
      claimed: 5,
      back: 2,
      cameBack: 2,
      isMinted,
    });
  const parts = async () => {
    const found = await readHolding(maker.store, maker.itemId);
    return found.parts.map(({ amount, isBack }) => [amount, isBack]);
  };
  assert.deepEqual(await parts(), [[2, true]]);
  // The change of a part that came back counts as come back, too.
  await maker.wallet.send(maker.itemId, 1);
  assert.deepEqual(await parts(), [[1, true]]);
  // One's own link comes back from nobody.
  await maker.wallet.claim(await linkFrom(maker, 1));
  const [{ back, cameBack }] = await told(maker.store);
  assert.deepEqual([back, cameBack], [1, 2]);
});

test("what came in at the door is collected, and where it was handed out its link too", async () => {
  const { given, ...ground } = await giverOf(5, 2);

  await ground.wallet.claim(given, { atDoor: true });

  await assertTold(ground.store, {
    sum: 3,
    given: 2,
    collected: 2,
    admitted: 2,
    isMinted,
  });
  assert.deepEqual(await links(ground), ["admitted"]);
});

test("where nothing is left comes last, and the rest stays where it was", async () => {
  const { service, store, wallet, itemId } = await walletHolding(5);
  await mintAmounts(wallet, 6);
  await mintAmounts(wallet, 7);
  await wallet.send(itemId, 1);
  service.take(
    heldIn(store).find(({ amount }) => amount === 7),
    "somebody's",
  );

  await wallet.checkStates();

  await assertTold(
    store,
    { sum: 6, isMinted },
    { sum: 4, given: 1, waiting: 1, isMinted },
    { lost: 7, isMinted, isOver: true },
  );
});

test("what is all on its way is not over, and what is all spent is not shown", async () => {
  const ground = await walletHolding(5);
  const { store, wallet, itemId } = ground;
  await walletMeeting(ground, () => "lost").send(itemId, 5);

  await assertTold(store, { leaving: 5, isMinted });
  const [{ operation }] = await wallet.finishBegun();
  await wallet.takeBack(operation.outputs[0].key);
  await assertTold(store, { sum: 5, isMinted });
});

test("links that are still to be made are counted, and can be told from parts", async () => {
  const ground = await minted({ count: 9, each: 5 }, 4);
  const { wallet, itemId } = ground;

  const wanted = { preparing: { ready: 3, count: 9 }, sum: 45, isMinted };
  await assertTold(ground.store, wanted);
  assert.deepEqual(await amountsOfParts(ground), [5, 5, 5]);
  while (await wallet.prepareNext(itemId));
  await assertTold(ground.store, { sum: 45, isMinted });
});

test("the first part is the largest, without a number if it can be, else the first link", async () => {
  const ground = await walletHolding(9);
  const { wallet, itemId } = ground;
  const numbers = async () => {
    const { parts } = await readHolding(ground.store, itemId);
    return parts.map(({ amount, number = "" }) => `${amount} ${number}`.trim());
  };

  await wallet.makeLinks(itemId, { count: 3, each: 2 });
  assert.deepEqual(await numbers(), ["3", "2 1", "2 2", "2 3"]);
  await wallet.send(itemId, 1);
  assert.deepEqual(await numbers(), ["2", "2 1", "2 2", "2 3"]);
});

test("all operations are in the history, the latest first", async () => {
  const { store, wallet, itemId } = await walletHolding(5, 6);
  await wallet.send(itemId, 2);
  await wallet.merge(itemId);

  const history = historyOf(slicesOf(store.kept));

  assert.deepEqual(
    history.map(({ kind, state, amount }) => `${kind} ${state} ${amount}`),
    ["merge done 9", "send done 2", "mint done 11"],
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
  const { itemId } = operation;
  const minted = { id: itemId, key: itemId, total: 5, isMinted, unit: "hour" };
  const text = '{"name":"a shed","description":"of ten"}';
  const other = { id: "deed_other", total: 5, metadata: null };
  const answers = [other];
  const asking = walletOn(service, store, { item: async () => answers.shift() });

  assert.deepEqual(await asking.item(itemId), { ...minted, metadata: text });
  assert.deepEqual(await asking.item(other.id), { ...other, key: other.id });
  assert.deepEqual(await asking.item(other.id), { ...other, key: other.id });
});

test("sums that cannot be are shown as the most there can be", async () => {
  const output = { amount: AMOUNT_MAX, state: "held" };

  await assertTold(storeWith(output, output), { sum: AMOUNT_MAX });
});

/** Return a store with these outputs of one item. */
function storeWith(...outputs) {
  const store = memoryStore();
  outputs.forEach((output, place) => {
    const key = `a.${place}`;
    const times = { createdAt: place, changedAt: place };
    store.kept.outputs.set(key, { key, itemId: "a", ...times, ...output });
  });
  return store;
}

test("what another copy of the wallet may have moved is not called claimed, and what was found of it is here", async () => {
  const spent = { state: "spent", spentElsewhere: true };
  const unclear = { ...spent, isUnclear: true };
  const store = storeWith(
    { amount: 100, ...unclear },
    { amount: 98, state: "held", foundAt: 5 },
    { amount: 2, ...unclear, givenAt: 5, foundAt: 5 },
    { amount: 3, ...unclear, givenAt: 5 },
    { amount: 4, ...spent, givenAt: 5 },
    { amount: 7, ...unclear, neverHeld: true },
  );

  await assertTold(store, { sum: 98, given: 4, claimed: 4, moved: 5 });
  const { links: all } = await readHolding(store, "a");
  assert.deepEqual(
    all.map(({ state, output }) => `${state} ${output.amount}`),
    ["claimed 4", "moved 3", "moved 2"],
  );
});

test("what may have been handed out since a backup is told apart from what waits", async () => {
  const given = { state: "given", givenAt: 5 };
  const store = storeWith(
    { amount: 10, ...given, mayBeGiven: true },
    { amount: 2, ...given },
    { amount: 1, state: "spent", spentElsewhere: true, givenAt: 5, mayBeGiven: true },
  );

  const sums = { given: 13, waiting: 12, claimed: 1, mayBeGiven: 10 };
  await assertTold(store, sums);
  const { links: all } = await readHolding(store, "a");
  const waiting = all.filter(({ state }) => state === "waiting");
  // When it was, the backup does not know.
  assert.deepEqual(waiting.map(({ output, at }) => `${output.amount} ${at}`).sort(), [
    "10 0",
    "2 5",
  ]);
});

test("what was shown is still held, and needs no backup and no request", async () => {
  const { store, wallet, key, itemId } = await guestHolding(2, 1);
  const { changesCount } = await wallet.backup.status();

  await wallet.shown(key);

  const { shownAt } = outputIn(store, key);
  await assertTold(store, { sum: 3, shownAt });
  assert.equal((await wallet.backup.status()).changesCount, changesCount);
  const outcome = await wallet.send(itemId, 2);
  assert.equal(outcome.operation.state, "done");
  await assertTold(store, { sum: 1, given: 2, waiting: 2 });
});

test("what a door has claimed after it was shown is used, noticed by itself, and not lost", async () => {
  const { service, store, wallet, key, itemId } = await guestHolding(2, 1);
  await wallet.shown(key);
  await wallet.checkRound();

  const { shownAt } = outputIn(store, key);
  service.take(outputIn(store, key), "the door's");
  await wallet.checkRound();

  const lastUsed = outputIn(store, key);
  await assertTold(store, { sum: 1, used: 2, lastUsed });
  assert.ok(lastUsed.changedAt > shownAt);
  assert.deepEqual(await links({ store }, itemId), []);
  // What is no longer held cannot be shown.
  await wallet.shown(key);
  assert.deepEqual(outputIn(store, key), lastUsed);
});

test("what was not shown, handed out, or moved by another copy, no door has used", async () => {
  const spent = { state: "spent", spentElsewhere: true, shownAt: 1 };
  const used = async (fields) => {
    const { store, key } = await guestHolding(1);
    store.kept.outputs.set(key, {
      ...outputIn(store, key),
      ...spent,
      ...fields,
    });
    return (await told(store))[0]?.used ?? 0;
  };

  assert.equal(await used({}), 1);
  for (const name of ["givenAt", "isUnclear", "neverHeld"])
    assert.equal(await used({ [name]: 1 }), 0, name);
  for (const name of ["shownAt", "spentElsewhere"])
    assert.equal(await used({ [name]: undefined }), 0, name);
});

test("a numbered link that was used at a door says so among the links", async () => {
  const ground = await minted({ count: 2, each: 1 });
  const [key] = ground.keys;
  await ground.wallet.shown(key);
  ground.service.take(outputIn(ground.store, key), "the door's");

  await ground.wallet.checkStates();

  assert.deepEqual(await links(ground), ["used 1", "here 2"]);
});

/** Return state, numbers and note of each link and part of an item without its own number. */
async function joined(ground) {
  const { links: all, parts } = await readHolding(ground.store, ground.itemId);
  const here = parts.map((output) => ({ output, state: "part" }));
  return [...all, ...here]
    .filter(({ output }) => !output.number)
    .map(({ output: { numbers, note }, state }) => [state, numbers, note]);
}

async function assertJoined(ground, ...rows) {
  assert.deepEqual(await joined(ground), rows);
}

test("a link of several tickets has their numbers, its own place, and no note but a person's", async () => {
  const ground = await minted({ count: 12, each: 1 });
  const { wallet, itemId, keys } = ground;
  await wallet.give([keys[0]]);
  await wallet.setNotes([keys[9], "Berta"]);
  const [sent] = (await wallet.send(itemId, 10)).operation.outputs;
  const upToEleven = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

  await assertJoined(ground, ["waiting", upToEleven, "Berta"]);
  assert.deepEqual(await links(ground), ["waiting 1", "waiting", "here 12"]);
  // In whatever language it was sent.
  const { note: written = "" } = outputIn(ground.store, sent.key);
  await wallet.setNotes([sent.key, written.replaceAll("of", "von").slice(0, 80)]);
  await assertJoined(ground, ["waiting", upToEleven, "Berta"]);
  await wallet.setNotes([sent.key, noteOf({ numbers: upToEleven }, "Family Schmidt")]);
  await assertJoined(ground, ["waiting", upToEleven, "Family Schmidt"]);
  const noted = "2–11 · Family Schmidt";
  assert.equal(outputIn(ground.store, sent.key).note, noted);
  await wallet.setNotes([sent.key, noteOf({ numbers: upToEleven }, "")]);
  await assertJoined(ground, ["waiting", upToEleven, ""]);
  await wallet.setNotes([sent.key, "Row 2"]);
  await assertJoined(ground, ["waiting", upToEleven, "Row 2"]);
});

test("what a link of several tickets becomes has their numbers too, in another copy as well", async () => {
  const ground = await minted({ count: 5, each: 1 });
  const { wallet, itemId, keys } = ground;
  await wallet.give([keys[4]]);
  const [sent] = (await wallet.send(itemId, 3)).operation.outputs;
  // Number 5 keeps its number.
  await wallet.takeBack(sent.key, keys[4]);
  const taken = ["taken back", [1, 2, 3], ""];

  await assertJoined(ground, taken, ["part", [1, 2, 3], ""]);
  await wallet.send(itemId, 3);
  const both = await copyOf(ground);
  for (const each of [ground, both])
    await assertJoined({ ...each, itemId }, ["waiting", [1, 2, 3], ""], taken);
});

test("what is left of links that were cut has no numbers", async () => {
  const ground = await minted({ count: 4, each: 10 });
  const { wallet, itemId } = ground;
  await wallet.send(itemId, 4);
  await wallet.send(itemId, 25);
  await wallet.send(itemId, 10);

  const told = (await joined(ground)).map(([state, ...more]) => `${state} ${more}`);
  assert.deepEqual(told, ["waiting 1,", "waiting 2,3,4,", "waiting ,", "part ,"]);
});

test("many numbers leave room for a note", () => {
  const numbers = Array.from({ length: 40 }, (_, place) => 100 + 2 * place);

  const note = noteOf({ numbers }, "Anna");

  assert.equal(note, "100, 102, 104, 106, 108, 110, 112, 114 · Anna");
});
