// Restoring old backups, and backups of other wallets.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  amountsByState,
  assertAmounts,
  beginTrade,
  copyOf,
  fatesOf,
  fileOf,
  hasCode,
  keysOf,
  linkFrom,
  makerOn,
  mintAmounts,
  minted,
  NOTHING,
  operationsIn,
  outputIn,
  outputsIn,
  people,
  swapsMeeting,
  throughText,
  traders,
  upTo,
  walletHolding,
  walletMeeting,
  walletOf,
  walletOn,
} from "./parts.js";

test("what a file calls ours stays so, whatever else it says of it", async () => {
  const { service, wallet } = await minted({ count: 3, each: 2 });
  const { outputs, ...more } = await wallet.exportRecords();
  const odd = outputs.map((output, place) => ({
    ...output,
    ...(place ? { before: "seen" } : { state: "leaving", before: "given" }),
    takers: { a: 1 },
  }));

  const told = await walletOf(service, throughText({ ...more, outputs: odd }));
  const alone = await walletOf(service, throughText({ ...NOTHING, outputs: odd }));

  for (const { store } of [told, alone]) assertAmounts(store, { given: [2, 2, 2] });
});

test("a claim that came too late is not begun again by a file that still makes the link", async () => {
  const maker = await walletHolding(5);
  const sent = await swapsMeeting(maker, "answer lost").send(maker.itemId, 5);
  const [first, second] = [makerOn(maker.service), makerOn(maker.service)];
  const link = outputIn(maker.store, sent.operation.outputs[0].key);
  await first.wallet.claim(link);
  const { operation } = await second.wallet.claim(link);

  await second.wallet.importRecords(await fileOf(maker));

  const { state, code } = second.store.kept.operations.get(operation.key);
  assert.deepEqual([state, code], ["refused", "spent_input"]);
});

test("who holds an output knows its amount better than a link", async () => {
  const { service, store: kept } = await walletHolding(5);
  const [held] = outputsIn(kept);
  const begun = { key: "x", kind: "claim", state: "begun", inputs: [], outputs: [] };
  const { store, wallet } = await walletOf(service, { ...NOTHING, outputs: [held] });

  const leaving = { ...held, state: "leaving", before: "seen", amount: 7 };
  await wallet.importRecords({
    ...NOTHING,
    outputs: [leaving],
    operations: [begun],
  });

  assertAmounts(store, { held: [5] });
  // What another wallet has begun may be carried out: it is asked about here too.
  assert.deepEqual([...store.kept.operations.keys()], ["x"]);
});

test("of somebody else's backup no mint is sent, and no word on deeds is believed", async () => {
  const [maker, { wallet, store, service }] = await people([5], []);
  const { itemId } = maker;
  const offline = walletMeeting(maker, () => "lost");
  await mintAmounts(offline, 7);
  const file = await fileOf(maker);
  file.items[0].total = 1;
  for (const each of file.operations) Object.assign(each, { reference: "order 1" });
  await maker.wallet.send(itemId, 2);
  const told = () =>
    operationsIn(store).map(({ state, reference }) => `${state} ${reference ?? ""}`);
  assert.equal(await wallet.isOwnFile(file), null);

  await wallet.importRecords(file);

  assert.deepEqual(told(), ["done "]);
  assert.equal((await wallet.backup.status()).at, null);
  assert.equal(await wallet.isOwnFile(file), null);
  // The registry's total: what was moved adds up.
  assert.equal(await wallet.look(), 2);
  const item = await wallet.item(itemId);
  await wallet.importRecords(file);
  assert.deepEqual(await wallet.item(itemId), item);
  // A second wallet of one's own has its orders for itself.
  await wallet.importRecords(file, { isOwn: true });
  assert.deepEqual(await wallet.item(itemId), { ...item, isMinted: true });
  assert.deepEqual(told(), ["done ", "begun "]);
  const copy = await walletOf(service, { ...NOTHING, seeds: file.seeds });
  assert.equal(await copy.wallet.isOwnFile(file), true);
  await copy.wallet.importRecords(file);
  assert.deepEqual({ ...(await fileOf(copy)), at: file.at }, file);
});

test("a ninth wallet is refused until one is let go of which nothing is left", async () => {
  const maker = await walletHolding(9);
  const guest = makerOn(maker.service);
  await guest.wallet.claim(await linkFrom(maker, 2));
  const kept = await fileOf(guest);
  const { wallet, store } = makerOn(maker.service);
  await wallet.claim(await linkFrom(maker, 1));
  await wallet.importRecords(kept);
  // What a stranger writes about a deed that is held here keeps no place.
  const empty = { ...NOTHING, seeds: upTo(6).map(seedOf) };
  empty.numbers = empty.seeds.map(({ key }) => {
    return { key: `${key}.${maker.itemId}`, kept: 10 ** 9 };
  });
  await wallet.importRecords(empty);
  const before = structuredClone(store.kept);
  const ninth = { ...NOTHING, seeds: [{ ...seedOf(7), isOwn: true }] };

  await assert.rejects(wallet.importRecords(ninth), hasCode("seeds_full"));

  assert.deepEqual(store.kept, before);
  const seeds = await wallet.emptySeeds();
  assert.deepEqual(keysOf(seeds), keysOf(empty.seeds));
  await wallet.forgetSeeds(seeds);
  await wallet.importRecords(ninth);
  const file = await fileOf({ wallet });
  assert.equal(file.seeds.length, 3);
});

const seedOf = (at) => ({ key: String(at).repeat(64), createdAt: at });

test("after a file without operations, what is found by its seed is kept whatever is restored next", async () => {
  const ground = await walletHolding(5, 6);
  const partial = { ...(await fileOf(ground)), operations: [], items: [] };
  // The wallet goes on before it is lost.
  await ground.wallet.send(ground.itemId, 2);
  const other = { ...NOTHING, seeds: [{ ...seedOf(7), isOwn: true }] };
  const { wallet, store } = makerOn(ground.service);

  await wallet.importRecords(partial, { isOwn: true });
  await wallet.importRecords(other, { isOwn: true });
  await wallet.look();
  await wallet.checkStates();

  const { held, given } = amountsByState(store);
  assert.deepEqual([held.sort(), given], [[4, 5], [2]]);
  assert.equal((await fileOf({ wallet })).seeds.length, 2);
});

test("of what a file holds only what is live is counted", async () => {
  const ground = await walletHolding(5, 6);
  await ground.wallet.merge(ground.itemId);
  const records = await ground.wallet.exportRecords();

  const wallet = walletOn(ground.service);

  const [held] = records.outputs.filter(({ state }) => state === "held");
  const nothingNew = { live: [held], added: [], given: [] };
  assert.deepEqual(await wallet.importRecords(records), {
    ...nothingNew,
    added: [held],
  });
  assert.deepEqual(await wallet.importRecords(records), nothingNew);
});

/** Take two files into an empty wallet, in both orders; return what each comes to. */
async function inBothOrders(service, ...files) {
  const found = [];
  for (const order of [files, files.toReversed()]) {
    const { store, wallet } = await walletOf(service, order[0]);
    await wallet.importRecords(throughText(order[1]));
    const operation = operationsIn(store).find(({ kind }) => kind === "trade");
    found.push([operation.code ?? operation.state, amountsByState(store)]);
  }
  assert.deepEqual(found[0], found[1]);
  return found[0];
}

test("an offer that is open in one wallet is so in both, whatever the other was told", async () => {
  const { one, wanted } = await traders();
  await beginTrade(one, wanted);
  const copy = await copyOf(one);
  const before = await one.wallet.exportRecords();
  await one.wallet.finishBegun();
  await walletMeeting(copy, fatesOf("makeOffer", "refused")).finishBegun();
  const [open, refused] = [await fileOf(one), await fileOf(copy)];

  const expected = ["open", { offered: [5], coming: [3] }];
  assert.deepEqual(await inBothOrders(one.service, before, open), expected);
  assert.deepEqual(await inBothOrders(one.service, refused, open), expected);
});
