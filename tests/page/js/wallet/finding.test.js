// Searches: an old backup finds what was made since, and a wallet finds what another
// copy of it has made.

import assert from "node:assert/strict";
import { test } from "node:test";

import { formatRawOutput } from "../../../../parts/pages/static/js/format/raw_output.js";
import { ProblemError } from "../../../../parts/pages/static/js/wallet/api.js";
import { holdingOf } from "../../../../parts/pages/static/js/wallet/holdings.js";
import { slicesOf } from "./memory_store.js";
import {
  amountsByState,
  copyOf,
  derive,
  fileOf,
  giverOf,
  guestHolding,
  heldIn,
  keysOf,
  linkFrom,
  makerOn,
  mintAmounts,
  minted,
  outputsIn,
  pass,
  people,
  smallWallet,
  swapsMeeting,
  walletHolding,
  walletOf,
  walletOn,
} from "./parts.js";

/** Return the amounts of live outputs by state. */
function liveIn({ store }) {
  const { spent: _, void: __, ...rest } = amountsByState(store);
  return rest;
}

function assertLive(person, amounts) {
  assert.deepEqual(liveIn(person), amounts);
}

/** Return what wallets call lost to somebody, or claimed by somebody. */
const lostIn = ({ store }) =>
  outputsIn(store).filter(
    ({ spentElsewhere, isUnclear }) => spentElsewhere && !isUnclear,
  );

function assertNoneIsLost(person) {
  assert.deepEqual(lostIn(person), []);
}

/** Return a wallet at a service that by now takes only smaller bodies. */
function walletOfSmallerBodies({ service, store }) {
  const problem = { code: "body_too_large", isFinal: true };
  const swap = async () => Promise.reject(new ProblemError(problem, 413, null));
  return walletOn(service, store, { ...service.api(), swap });
}

/** Return a wallet that has read this backup and looked. */
async function restored({ service }, backup) {
  const phone = await walletOf(service, backup);
  await phone.wallet.look();
  await phone.wallet.checkStates();
  return phone;
}

test("links that may have been handed out since count so until they are handed out", async () => {
  const maker = await minted({ count: 3, each: 3 });
  const { store, wallet } = await restored(maker, await fileOf(maker));
  const doubtful = () => outputsIn(store).filter(({ mayBeGiven }) => mayBeGiven);

  const [first] = doubtful();
  await wallet.give([first.key]);

  assert.equal(doubtful().length, 2);
});

test("what somebody claimed is claimed, and what a copy may have moved is not called so", async () => {
  const { given, ...maker } = await giverOf(6, 2);
  const { service, wallet, itemId } = maker;
  const backup = await wallet.exportRecords();
  service.take(given);
  const taken = await restored(maker, backup);
  await wallet.send(itemId, 1);

  const moved = await restored(maker, backup);

  assert.deepEqual(keysOf(lostIn(taken)), [given.key]);
  assertNoneIsLost(moved);
});

/** Two phones with one wallet that has claimed two tickets, maybe shown at a door. */
async function twoPhones(isShown) {
  const one = await guestHolding(1, 1);
  const { service, itemId } = one;
  if (isShown) for (const { key } of heldIn(one.store)) await one.wallet.shown(key);
  return { service, itemId, one, other: await copyOf(one) };
}

test("what a copy has spent at once is called lost, claimed or used by none of them", async () => {
  const { itemId, one, other } = await twoPhones(true);
  await other.wallet.send(itemId, 2);

  await one.wallet.send(itemId, 1).catch(() => {});

  assertNoneIsLost(one);
  assertLive(one, { given: [2] });
  const holding = holdingOf(slicesOf(one.store.kept), itemId);
  assert.deepEqual([holding.used, holding.lost, holding.claimed], [0, 0, 0]);
  // The copy may have gone on meanwhile.
  assert.ok(await one.wallet.isLookDue());
});

test("links that a copy has taken back were not claimed", async () => {
  const maker = await walletHolding(20);
  await maker.wallet.makeLinks(maker.itemId, { count: 3, each: 2 });
  const other = await copyOf(maker);
  await maker.wallet.give(keysOf(heldIn(maker.store).filter(({ number }) => number)));
  const [first, ...rest] = outputsIn(other.store).filter(
    ({ state }) => state === "given",
  );
  await other.wallet.takeBack(...keysOf(rest));
  await other.wallet.takeBack(first.key);

  await maker.wallet.takeBack(first.key).catch(() => {});
  await maker.wallet.checkStates();

  assertNoneIsLost(maker);
  // The copy may have handed out their next issue.
  assertLive(maker, { given: [2, 2, 2], held: [14] });
});

for (const isShown of [false, true]) {
  test(`what a door has taken since a backup was not lost on the next phone: shown ${isShown}`, async () => {
    const { service, one, other } = await twoPhones(isShown);
    const [ticket] = heldIn(one.store);
    service.take(ticket, "a door's");

    await other.wallet.look();

    assertNoneIsLost(other);
    assertLive(other, { held: [1] });
  });
}

test("a copy that used a number of ours for a link that it took back has not claimed it", async () => {
  const { given, ...maker } = await giverOf(9, 5);
  const other = await copyOf(maker);
  await maker.offers.ask({ itemId: maker.itemId, amount: 1 });
  await other.wallet.takeBack(given.key);

  await maker.wallet.checkRound();

  assertNoneIsLost(maker);
});

test("a copy that took a link back after requests that nobody paid has not claimed it", async () => {
  const { given, ...maker } = await giverOf(9, 5);
  const other = await copyOf(maker);
  for (let count = 0; count < 5; count += 1)
    await other.offers.ask({ itemId: maker.itemId, amount: 1 });
  await other.wallet.takeBack(given.key);

  await smallWallet(maker).checkRound();

  assertNoneIsLost(maker);
});

test("a link that may not have been handed out is not called claimed when a copy sends it", async () => {
  const maker = await walletHolding();
  const { operation } = await maker.wallet.mint({ links: { count: 3, each: 1 } });
  const other = await copyOf(maker);
  await maker.wallet.send(operation.itemId, 1);

  await other.wallet.checkStates();

  assertNoneIsLost(other);
});

test("links behind more promised ones than are looked for are found", async () => {
  const ground = await walletHolding(40);
  const maker = smallWallet(ground);
  await maker.makeLinks(ground.itemId, { count: 30, each: 1 });
  const phone = smallWallet(await copyOf(ground));
  await maker.makeLinks(ground.itemId, { count: 2, each: 5 });

  assert.equal(await phone.look(), 2);
});

test("a copy may move units while they are looked for", async () => {
  const maker = await walletHolding(20);
  const { service, store, itemId } = maker;
  const other = await copyOf(maker);
  await other.wallet.send(itemId, 1);
  const api = service.api();
  const sends = [() => other.wallet.send(itemId, 2)];
  const find = async (...asked) => {
    const answers = await api.find(...asked);
    await sends.pop()?.();
    return answers;
  };
  const phone = walletOn(service, store, { ...api, find });

  await phone.look();
  await phone.look();

  assertLive(maker, { given: [1, 2], held: [17] });
  assertNoneIsLost(maker);
});

test("what was carried out since a backup may be spent since", async () => {
  const ground = await walletHolding(5, 4);
  const { wallet, itemId } = ground;
  await swapsMeeting(ground, "lost").merge(itemId);
  const phone = await copyOf(ground);
  await wallet.finishBegun();
  await wallet.send(itemId, 3);
  await phone.wallet.look();

  await phone.wallet.finishBegun();

  assert.deepEqual(liveIn(phone), liveIn(ground));
  assertNoneIsLost(phone);
});

test("a refusal in doubt is believed while an input is there, whatever a copy has made", async () => {
  const giver = await walletHolding(20);
  const { itemId } = giver;
  const phone = makerOn(giver.service);
  for (const amount of [3, 3]) await phone.wallet.claim(await linkFrom(giver, amount));
  const copy = await copyOf(phone);
  await swapsMeeting(phone, "lost").send(itemId, 5);
  await copy.wallet.claim(await linkFrom(giver, 4));
  await copy.wallet.send(itemId, 5);

  await walletOfSmallerBodies(phone).finishBegun();
  await phone.wallet.look();

  assert.deepEqual(liveIn(phone), liveIn(copy));
});

test("a link that a copy has made is not called sent where it was refused the first time", async () => {
  const ground = await walletHolding(20);
  const copy = await copyOf(ground);
  await ground.wallet.send(ground.itemId, 5);

  const { operation } = await walletOfSmallerBodies(copy).send(ground.itemId, 5);

  assert.equal(operation.state, "refused");
  // Both know it, and one has handed it out.
  assert.deepEqual(liveIn(copy), liveIn(ground));
});

test("a look that was broken off goes on where it was", async () => {
  const maker = await walletHolding();
  const { service, wallet } = maker;
  for (let count = 0; count < 5; count += 1) await mintAmounts(wallet, 2);
  const backup = await wallet.exportRecords();
  for (const { itemId } of backup.outputs) await wallet.send(itemId, 1);
  const { wallet: phone } = await walletOf(service, backup);
  const close = (done) => {
    if (done === 3) throw new Error("the tab is closed");
  };
  const looked = [];

  await assert.rejects(phone.look({ onProgress: close }), /closed/);
  const isDue = await phone.isLookDue();
  const foundCount = await phone.look({ onProgress: (...at) => looked.push(`${at}`) });

  assert.deepEqual([isDue, await phone.isLookDue()], [true, false]);
  assert.deepEqual(looked, ["0,2", "1,2"]);
  assert.equal(foundCount, 4);
});

test("an answer that cannot be true is passed over, and the other items are looked at", async () => {
  const maker = await walletHolding(5);
  const { service, store, wallet, itemId } = maker;
  const other = (await mintAmounts(wallet, 5)).operation.itemId;
  const backup = await wallet.exportRecords();
  await wallet.send(itemId, 2);
  await wallet.send(other, 2);
  const api = service.api();
  const item = async (id) => ({
    ...(await api.item(id)),
    total: id === itemId ? 4 : 5,
  });
  const lying = { ...api, item };
  const phone = await walletOf(service, { ...backup, items: [] }, lying);

  await assert.rejects(phone.wallet.look(), { name: "FindingError" });

  assert.equal(await phone.wallet.isLookDue(), false);
  assertLive(phone, { given: [2], held: [3, 5] });
  assert.equal(service.live().length, 4);
  assert.equal(store.kept.operations.size, 4);
});

/** Return an api that counts its searches, and the counts. */
function counting(service) {
  const counts = { find: 0, findOffered: 0 };
  const api = service.api((name) => {
    if (name in counts) counts[name] += 1;
    return "answered";
  });
  return { api, counts };
}

const WHOLE = { gap: undefined };

test("an item takes eight requests to look at where nothing is new, and six where there are no offers", async () => {
  const maker = await walletHolding(5);
  await mintAmounts(maker.wallet, 5);
  const { api, counts } = counting(maker.service);
  const options = [maker.service, maker.store];

  assert.equal(await walletOn(...options, api, WHOLE).look(), 0);
  assert.deepEqual(counts, { find: 12, findOffered: 4 });
  const findOffered = (...asked) => api.findOffered(...asked).then(() => null);
  assert.equal(await walletOn(...options, { ...api, findOffered }, WHOLE).look(), 0);

  // That it has none is asked once of each item.
  assert.deepEqual(counts, { find: 24, findOffered: 6 });
});

test("40 payments behind 1,500 requests that nobody paid are found in an old backup", async () => {
  const unpaidCount = 1500;
  const [shop, customer] = await people([1, 40], []);
  const { service, store, wallet, itemId } = shop;
  await customer.wallet.claim(outputsIn(store)[1]);
  const backup = await wallet.exportRecords();
  const { api, counts } = counting(service);
  const [{ key: seed }] = backup.seeds;
  for (let number = 0; number < unpaidCount + 50; number += 1) {
    const [secret] = await derive([{ seed, branch: "kept", itemId, number }]);
    const outputs = [formatRawOutput({ amount: 1, itemId, secret })];
    const request = { inputs: [], outputs, expiresIn: 60 };
    const offer = await api.makeOffer(request, `request ${number}`);
    const isPaid = number >= unpaidCount && number < unpaidCount + 40;
    if (isPaid) await customer.offers.complete(offer);
    else pass(120);
  }

  const phone = await walletOf(service, backup, api, WHOLE);
  await phone.wallet.look();

  assertLive(phone, { given: [1], held: Array(40).fill(1) });
  // What a restore takes.
  assert.deepEqual(counts, { find: 13, findOffered: 6 });
  // A late payment of the last requests must not be another order's.
  const [{ kept }] = phone.store.kept.numbers.values();
  assert.equal(kept, unpaidCount + 50);
});
