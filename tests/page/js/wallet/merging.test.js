// Old copies and other wallets, taken in.

import assert from "node:assert/strict";
import { test } from "node:test";

import { holdingOf } from "../../../../parts/pages/static/js/wallet/holdings.js";
import { offersOf } from "../../../../parts/pages/static/js/wallet/offers.js";
import { slicesOf } from "./memory_store.js";
import {
  amountsByState,
  beginTrade,
  copyOf,
  fatesOf,
  giverOf,
  keysOf,
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
  walletHolding,
  walletMeeting,
  walletOf,
  walletOn,
} from "./parts.js";

test("a mint that was refused in one wallet only is asked for again", async () => {
  const ground = await walletHolding(5);
  const lost = walletMeeting(ground, () => "lost");
  const { operation } = await mintAmounts(lost, 7);
  const refused = { ...operation, state: "refused", code: "invalid_request" };

  await ground.wallet.importRecords({ ...NOTHING, operations: [refused] });
  await ground.wallet.finishBegun();

  assert.deepEqual(amountsByState(ground.store), { held: [5, 7] });
});

test("an old copy revives nothing and forgets nothing", async () => {
  const ground = await walletHolding(5, 6);
  const old = await ground.wallet.exportRecords();
  await ground.wallet.send(ground.itemId, 2);
  await ground.wallet.merge(ground.itemId);
  const before = structuredClone(ground.store.kept);

  const { added, live: left } = await ground.wallet.importRecords(old);

  assert.deepEqual([added, left], [[], []]);
  assert.deepEqual(ground.store.kept, before);
});

test("what a file calls ours stays so, whatever else it says of it", async () => {
  const { service, wallet } = await minted({ count: 3, each: 2 });
  const { outputs, ...more } = await wallet.exportRecords();
  const odd = outputs.map((output) => ({
    ...output,
    before: "seen",
    takers: { a: 1 },
  }));

  const told = await walletOf(service, throughText({ ...more, outputs: odd }));
  const alone = await walletOf(service, throughText({ ...NOTHING, outputs: odd }));

  for (const { store } of [told, alone])
    assert.deepEqual(amountsByState(store), { given: [2, 2, 2] });
});

test("a claim that came too late is not begun again by a file that still makes the link", async () => {
  const maker = await walletHolding(5);
  const sent = await swapsMeeting(maker, "answer lost").send(maker.itemId, 5);
  const [first, second] = [makerOn(maker.service), makerOn(maker.service)];
  const link = outputIn(maker.store, sent.operation.outputs[0].key);
  await first.wallet.claim(link);
  const { operation } = await second.wallet.claim(link);

  await second.wallet.importRecords(throughText(await maker.wallet.exportRecords()));

  const { state, code } = second.store.kept.operations.get(operation.key);
  assert.deepEqual([state, code], ["refused", "spent_input"]);
});

test("a mint's outputs may be there before its answer", async () => {
  const ground = await walletHolding(5);
  const lost = walletMeeting(ground, () => "answer lost");
  await mintAmounts(lost, 7);
  const copy = await copyOf(ground);
  await copy.wallet.finishBegun();
  const { outputs } = await copy.wallet.exportRecords();
  const given = outputs.map((output) =>
    output.amount === 7 ? { ...output, state: "given" } : output,
  );

  await ground.wallet.importRecords({ ...NOTHING, outputs: given });
  await ground.wallet.finishBegun();

  assert.deepEqual(amountsByState(ground.store), { held: [5], given: [7] });
});

test("who holds an output knows its amount better than a link", async () => {
  const { service, store: kept } = await walletHolding(5);
  const [held] = outputsIn(kept);
  const leaving = { state: "leaving", before: "seen", operation: "x", amount: 7 };
  const begun = { key: "x", kind: "claim", state: "begun", inputs: [], outputs: [] };
  const { store, wallet } = await walletOf(service, { ...NOTHING, outputs: [held] });

  const outputs = [{ ...held, ...leaving }];
  await wallet.importRecords({ ...NOTHING, outputs, operations: [begun] });

  assert.deepEqual(amountsByState(store), { held: [5] });
  // What another wallet has begun may be carried out: it is asked about here too.
  assert.deepEqual([...store.kept.operations.keys()], ["x"]);
});

test("of somebody else's backup no mint is sent, and no word on deeds is believed", async () => {
  const [maker, { wallet, store, service }] = await people([5], []);
  const { itemId } = maker;
  await mintAmounts(
    walletMeeting(maker, () => "lost"),
    7,
  );
  const file = throughText(await maker.wallet.exportRecords());
  file.items[0].total = 1;
  file.operations.forEach((each) => Object.assign(each, { reference: "order 1" }));
  await maker.wallet.send(itemId, 2);
  const told = () =>
    operationsIn(store).map(({ state, reference }) => [state, reference]);
  assert.equal(await wallet.isOwnFile(file), null);

  await wallet.importRecords(file);

  assert.deepEqual(told(), [["done", undefined]]);
  assert.equal((await wallet.backup.status()).at, null);
  assert.equal(await wallet.isOwnFile(file), false);
  // The registry's total: what was moved adds up.
  assert.equal(await wallet.look(), 2);
  const item = await wallet.item(itemId);
  await wallet.importRecords(file);
  assert.deepEqual(await wallet.item(itemId), item);
  // A second wallet of one's own has its orders for itself.
  await wallet.importRecords(file, { isOwn: true });
  assert.deepEqual(await wallet.item(itemId), { ...item, isMinted: true });
  assert.deepEqual(told(), [
    ["done", undefined],
    ["begun", undefined],
  ]);
  const copy = await walletOf(service, { ...NOTHING, seeds: file.seeds });
  assert.equal(await copy.wallet.isOwnFile(file), true);
  await copy.wallet.importRecords(file);
  assert.deepEqual(throughText(await copy.wallet.exportRecords()), file);
});

test("a link that was claimed with a wrong amount first goes into a file and comes back", async () => {
  const { service, given } = await giverOf(5);
  const wallet = walletOn(service);
  await wallet.claim({ ...given, amount: 7 });
  await wallet.claim(given);

  const copy = await walletOf(service, throughText(await wallet.exportRecords()));

  assert.deepEqual(amountsByState(copy.store), { spent: [5], void: [7], held: [5] });
});

/** Return a wallet in which is void what another holds, and that output. */
async function voidOfHeld() {
  const { service, store } = await walletHolding(5);
  const [held] = outputsIn(store);
  const { key } = held;
  const made = { inputs: [], outputs: [{ key, state: "held" }] };
  const operations = [{ key: "x", kind: "claim", state: "refused", ...made }];
  const records = { ...NOTHING, outputs: [{ ...held, state: "void" }], operations };
  return { ...(await walletOf(service, records)), held };
}

test("of what this wallet made it knows the amount better than a link", async () => {
  const { store, wallet, held } = await voidOfHeld();

  await wallet.claim({ ...held, amount: 7 });

  assert.deepEqual(amountsByState(store), { spent: [5], held: [5] });
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

const LINKS = {
  "numbered links": { links: { count: 3, each: 1 } },
  "different amounts": { outputs: [{ amount: 1 }, { amount: 1 }, { amount: 1 }] },
};

for (const [name, wanted] of Object.entries(LINKS)) {
  test(`what was handed out since a backup is safe from a wallet restored from it: ${name}`, async () => {
    const ground = await walletHolding();
    const { operation } = await ground.wallet.mint(wanted);
    const backup = throughText(await ground.wallet.exportRecords());
    const keys = keysOf(operation.outputs);
    await ground.wallet.give(keys);
    ground.service.take(outputIn(ground.store, keys[0]));

    const { store, wallet } = makerOn(ground.service);
    const found = await wallet.importRecords(backup);
    await wallet.checkStates();

    await assert.rejects(wallet.send(operation.itemId, 1), { code: "not_enough" });
    for (const each of ["live", "added", "given"]) assert.equal(found[each].length, 3);
    const { links, lost } = holdingOf(slicesOf(store.kept), operation.itemId);
    assert.equal(lost, 0);
    const states = links.map(({ state }) => state).sort();
    assert.deepEqual(states, ["moved", "waiting", "waiting"]);
    assert.ok(keys.slice(1).every((key) => ground.service.live().includes(key)));
  });
}

test("what cannot have been handed out as a link comes from a backup as it is", async () => {
  const ground = await minted({ count: 5, each: 1 }, 3);
  const { wallet, keys } = ground;
  await wallet.claim(outputIn(ground.store, keys[0]), { atDoor: true });
  await wallet.give([keys[1]]);
  const backup = await wallet.exportRecords();

  const copy = await walletOf(ground.service, backup);
  await ground.wallet.importRecords(backup);

  for (const { wallet: each } of [copy, ground])
    assert.deepEqual((await each.exportRecords()).outputs, backup.outputs);
});

test("what an older file calls lost is spent by one's own, as a newer one knows", async () => {
  const ground = await walletHolding(10);
  const older = await ground.wallet.exportRecords();
  await ground.wallet.send(ground.itemId, 3);
  const newer = await ground.wallet.exportRecords();
  const { store, wallet } = await walletOf(ground.service, older);
  await wallet.checkStates();

  await wallet.importRecords(newer);

  const { outputs } = await wallet.exportRecords();
  assert.deepEqual(
    outputs.map(({ spentElsewhere, isUnclear }) => spentElsewhere ?? isUnclear),
    [undefined, undefined, undefined],
  );
  assert.deepEqual(amountsByState(store), { spent: [10], given: [3], held: [7] });
});

/** Somebody with 5 units in an open trade, and a copy of that wallet. */
async function tradeOpened() {
  const { one, other, wanted } = await traders();
  const { operation } = await beginTrade(one, wanted);
  const before = await one.wallet.exportRecords();
  await one.wallet.finishBegun();
  const open = await one.wallet.exportRecords();
  return { ...one, other, before, key: operation.key, open };
}

/** Take two files into an empty wallet, in both orders; return what each comes to. */
async function inBothOrders(service, ...files) {
  const found = [];
  for (const order of [files, [...files].reverse()]) {
    const { store, wallet } = await walletOf(service, order[0]);
    await wallet.importRecords(throughText(order[1]));
    const operation = operationsIn(store).find(({ kind }) => kind === "trade");
    found.push([operation.code ?? operation.state, amountsByState(store)]);
  }
  assert.deepEqual(found[0], found[1]);
  return found[0];
}

test("an offer that is open in one wallet is so in both, whatever the other was told", async () => {
  const { service, before, open } = await tradeOpened();
  const copy = await walletOf(service, before);
  const refusing = walletMeeting(copy, fatesOf("makeOffer", "refused"));
  await refusing.finishBegun();
  const refused = await copy.wallet.exportRecords();

  const expected = ["open", { offered: [5], coming: [3] }];
  assert.deepEqual(await inBothOrders(service, before, open), expected);
  assert.deepEqual(await inBothOrders(service, refused, open), expected);
});

test("an offer that was completed or cancelled is so in every wallet that had it open", async () => {
  const [one, two] = [await tradeOpened(), await tradeOpened()];
  const { offerId } = one.open.operations.at(-1);
  await one.other.offers.complete(await one.service.api().offer(offerId));
  await one.wallet.finish(one.key);
  await two.offers.cancel(two.key);
  const cancelled = await two.wallet.exportRecords();

  const paid = await one.wallet.exportRecords();
  const done = ["done", { spent: [5], held: [3] }];
  assert.deepEqual(await inBothOrders(one.service, one.open, paid), done);
  const half = { ...one.open, operations: paid.operations };
  assert.deepEqual(await inBothOrders(one.service, half, half), done);
  const back = ["offer_withdrawn", { spent: [5], held: [5], void: [3] }];
  assert.deepEqual(await inBothOrders(two.service, two.open, cancelled), back);
});

test("a cancellation that was refused in one wallet leaves the offer open, and one that is begun ends it", async () => {
  const { service, store, key, wallet } = await tradeOpened();
  const unlucky = offersOf(swapsMeeting({ service, store }, "lost", "refused"));
  await unlucky.cancel(key);
  const again = await unlucky.cancel(key).catch(({ code }) => code);
  assert.deepEqual(again.operation?.state, "refused");
  const refused = await wallet.exportRecords();
  const offered = { offered: [5], coming: [3], void: [5] };
  assert.deepEqual(amountsByState(store), offered);
  const begun = structuredClone(refused);
  const cancel = begun.operations.at(-1);
  Object.assign(cancel, { state: "begun", code: undefined });
  const input = begun.outputs.find((output) => output.state === "offered");
  const leaving = { state: "leaving", before: "offered", operation: cancel.key };
  Object.assign(input, leaving);

  assert.deepEqual(await inBothOrders(service, begun, refused), ["open", offered]);
});
