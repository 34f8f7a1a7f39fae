// Offers: asks and trades, and how they are completed, cancelled and end.

import assert from "node:assert/strict";
import { test } from "node:test";

import { readHolding } from "../../../../parts/pages/static/js/wallet/holdings.js";
import {
  offersOf,
  openOffersOf,
} from "../../../../parts/pages/static/js/wallet/offers.js";
import {
  amountsByState,
  assertAmounts,
  assertAllIsHere,
  beginTrade,
  copyOf,
  endOf,
  fatesOf,
  hasCode,
  linkFrom,
  madeBy,
  makerOn,
  now,
  openTrade,
  operationIn,
  operationsIn,
  outputIn,
  outputsIn,
  pass,
  people,
  swapsMeeting,
  traders,
  walletHolding,
  walletMeeting,
} from "./parts.js";

/** Return what a person sees of an offer of somebody else. */
const seen = ({ service }, { operation }) => service.api().offer(operation.offerId);

const offersOfPerson = ({ store }) =>
  store.read({ operations: "all" }, ({ operations }) =>
    openOffersOf(operations.list(), now()),
  );

test("a trade gives one deed for another at once, and what is not offered stays free", async () => {
  const [one, other] = await people([10], [3]);

  const trading = await one.offers.trade({
    give: { itemId: one.itemId, amount: 2 },
    want: { itemId: other.itemId, amount: 3 },
  });
  const { sum, offered, asked } = await readHolding(one.store, one.itemId);
  assert.deepEqual([sum, offered, asked], [8, 2, 0]);
  await other.offers.complete(await seen(one, trading));
  await one.wallet.checkRound();

  const [offer] = await offersOfPerson(one);
  assert.deepEqual([offer.kind, offer.state], ["trade", "done"]);
  assert.deepEqual(offer.give, { itemId: one.itemId, amount: 2 });
  assert.deepEqual(offer.want, { itemId: other.itemId, amount: 3 });
});

test("what is traded for its maker's own has come back, and change has not", async () => {
  const [maker, other] = await people([10], [3]);
  const give = { itemId: other.itemId, amount: 2 };
  const want = { itemId: maker.itemId, amount: 2 };
  const swap = async (one, two) => {
    const trading = await one.offers.trade({ give, want });
    await two.offers.complete(await seen(one, trading));
    await one.wallet.checkRound();
    const { parts } = await readHolding(maker.store, maker.itemId);
    return parts.filter(({ isBack }) => isBack).map(({ amount }) => amount);
  };

  assert.deepEqual(await swap(other, maker), []);
  assert.deepEqual(await swap(maker, other), [2]);
});

test("what is offered is left alone by every other verb", async () => {
  const [one, other] = await people([5, 6], [3]);
  const { itemId } = one;
  const want = { itemId: other.itemId, amount: 3 };
  const { operation } = await one.offers.trade({ give: { itemId, amount: 5 }, want });
  const [key] = operation.inputs;
  const offered = outputIn(one.store, key);
  const { wallet, offers } = one;

  const attempts = [
    [wallet.send(itemId, 7), "offered"],
    [wallet.makeLinks(itemId, { count: 7, each: 1 }), "offered"],
    [offers.trade({ give: { itemId, amount: 7 }, want }), "offered"],
    [wallet.send(itemId, 12), "not_enough"],
    [wallet.merge(itemId), "nothing_to_merge"],
    [wallet.takeBack(key), "not_given"],
    [wallet.give([key]), "not_held"],
    [wallet.claim(offered), "already_held"],
    [wallet.claim(offered, { atDoor: true }), "already_held"],
  ];

  for (const [attempt, code] of attempts) await assert.rejects(attempt, hasCode(code));
  assert.deepEqual(outputIn(one.store, key), offered);
  await wallet.send(itemId, 6);
});

test("a completion that has no room for its change is refused before anything is written", async () => {
  const [one, other] = await people([1], [5]);
  const gives = Array(256).fill({ itemId: one.itemId, amount: 1 });
  const wants = [{ itemId: other.itemId, amount: 3 }];
  const offer = { offerId: "offer_x", state: "open", gives, wants, expiresAt: now() };

  await assert.rejects(other.offers.complete(offer), hasCode("too_many"));

  assertAmounts(other.store, { held: [5] });
});

/** Return a shop that asks for 5 units, and a customer who holds just as much. */
async function asking(expiresInS = 3600) {
  const [shop, customer] = await people([], [5]);
  const { itemId } = customer;
  const asked = await shop.offers.ask({ itemId, amount: 5, expiresInS });
  return { shop, customer, asked, offer: await seen(shop, asked) };
}

/** Return a person's tab in which the service answers each query with this offer. */
const hearing = ({ service, store }, told) =>
  makerOn(service, store, { ...service.api(), offer: async () => told });

test("a payment that makes nothing is not begun twice, and found though it was refused", async () => {
  const { customer, offer } = await asking();
  const { service, store } = customer;
  const wallet = walletMeeting(customer, fatesOf("complete", "late", "refused"));
  const { complete } = offersOf(wallet);
  const { operation } = await complete(offer);

  const again = await complete(offer);
  assert.deepEqual(
    [again.operation.key, ...endOf(again)],
    [operation.key, "refused", "unknown_input"],
  );
  service.deliverLate();
  await wallet.checkStates();

  assert.equal(operationIn(store, operation.key).state, "done");
  assertAmounts(store, { spent: [5] });
});

test("a round asks for 300 open requests in checks of 256, and for the offer that was paid", async () => {
  const [shop, customer] = await people([], [5]);
  const { itemId } = customer;
  const first = await shop.offers.ask({ itemId, amount: 5 });
  for (let count = 1; count < 300; count += 1)
    await shop.offers.ask({ itemId, amount: 1 });
  const asked = { check: [], offer: [] };
  const wallet = walletMeeting(shop, (verb, given) => void asked[verb]?.push(given));

  await wallet.checkRound();
  await customer.offers.complete(await seen(shop, first));
  await wallet.checkRound();

  // The last one is about the request that was paid.
  const counts = asked.check.map((raws) => raws.length);
  assert.deepEqual(counts.filter(Boolean), [256, 44, 1]);
  assert.deepEqual(asked.offer, [first.operation.offerId]);
  assert.deepEqual(amountsByState(shop.store).held, [5]);
});

test("after a weekend a shop asks for a few of its ended requests at a time", async () => {
  const [shop, customer] = await people([], [5]);
  const { itemId } = customer;
  for (let count = 0; count < 40; count += 1)
    await shop.offers.ask({ itemId, amount: 1 });
  pass(2 * 24 * 60 * 60);
  const asked = [];
  const wallet = walletMeeting(shop, (verb, _itemId, secrets) => {
    if (verb === "find") asked.push(...secrets);
  });

  const left = [];
  for (let round = 0; round < 3; round += 1) {
    await wallet.checkRound();
    left.push(operationsIn(shop.store).filter(({ state }) => state === "open").length);
  }

  assert.deepEqual(left, [24, 8, 0]);
  // Of each the secret that it waited for, once.
  assert.equal(asked.length, 40);
});

test("an offer that the service no longer knows has ended", async () => {
  const { one, operation } = await openTrade();
  one.service.offers.clear();

  const ended = await one.wallet.finish(operation.key);

  assert.deepEqual(endOf(ended), ["refused", "unknown_offer"]);
  const [link] = outputsIn(one.store);
  await one.wallet.give([link.key]);
  one.service.take(link);
  await one.wallet.checkStates();
  assertAmounts(one.store, { spent: [5], void: [3] });
});

test("a request that was said to have ended and is paid after all is found by a check", async () => {
  const { shop, customer, asked, offer } = await asking();
  const wrong = hearing(shop, { ...offer, state: "void" });
  await wrong.wallet.finish(asked.operation.key);
  assertAmounts(shop.store, { void: [5] });

  await customer.offers.complete(offer);
  await shop.wallet.checkStates();

  assertAmounts(shop.store, { held: [5] });
});

/** Return a shop that holds these amounts and asks for 5 more, and a customer. */
async function askingShop(...amounts) {
  const [shop, customer] = await people([...amounts, 5], []);
  const { itemId } = shop;
  await customer.wallet.claim(await linkFrom(shop, 5));
  await shop.wallet.checkStates();
  const asked = await shop.offers.ask({ itemId, amount: 5 });
  return { shop, customer, key: asked.operation.key, offer: await seen(shop, asked) };
}

test("a request that is cancelled already is not cancelled with what that made", async () => {
  const { shop, key } = await askingShop(3);
  const offers = offersOf(walletMeeting(shop, fatesOf("offer", "lost", "lost")));
  await offers.cancel(key);
  assert.equal(operationIn(shop.store, key).state, "open");

  await assert.rejects(offers.cancel(key), hasCode("offer_not_open"));

  assert.deepEqual(amountsByState(shop.store).held, [3]);
});

test("a request ends by its offer's state, whoever has used its number", async () => {
  const { shop, key, offer } = await askingShop(3);
  await offersOf(walletMeeting(shop, fatesOf("offer", "lost"))).cancel(key);
  pass((offer.expiresAt - now()) / 1000 + 1);

  await shop.wallet.checkRound();
  assert.equal(operationIn(shop.store, key).state, "open");
  pass(60);
  await shop.wallet.checkRound();

  assert.equal(operationIn(shop.store, key).code, "offer_expired");
});

test("a request stays open although a copy took its number for what was refused", async () => {
  const shop = await walletHolding(9);
  const { service, itemId } = shop;
  const copy = await copyOf(shop);
  await walletMeeting(copy, () => "lost").makeLinks(itemId, { count: 1, each: 2 });
  const asked = await shop.offers.ask({ itemId, amount: 5 });
  await copy.wallet.importRecords(await shop.wallet.exportRecords());
  await shop.wallet.send(itemId, 4);

  const split = await copy.wallet.finishBegun();
  await copy.wallet.checkRound();

  assert.deepEqual(split.map(endOf), [["refused", "spent_input"]]);
  assert.equal(madeBy(copy.store, asked).state, "coming");
  const { operation } = await copy.offers.cancel(asked.operation.key);
  assert.equal(operation.state, "done");
  assertAllIsHere(service, copy.store);
});

test("an offer that expires while its cancellation is under way gives back what it put in", async () => {
  const { one, operation } = await openTrade();
  const unlucky = swapsMeeting(one, "lost", "refused");
  const first = await offersOf(unlucky).cancel(operation.key);
  assert.equal(first.operation.state, "begun");
  const again = await offersOf(swapsMeeting(one, "lost")).cancel(operation.key);
  assert.equal(again.operation.key, first.operation.key);
  pass(8 * 24 * 60 * 60);
  await one.wallet.checkRound();

  await unlucky.finishBegun();

  assertAmounts(one.store, { held: [5], void: [3, 5] });
});

test("an offer that is completed in the moment in which it expires is found", async () => {
  const { shop, customer, asked, offer } = await asking(60);
  const early = hearing(shop, { ...offer, state: "expired" });

  // The service began to complete it before, and has not committed that.
  await early.wallet.finish(asked.operation.key);
  assertAmounts(shop.store, { coming: [5] });
  await customer.offers.complete(await shop.service.api().offer(offer.offerId));
  pass(120);
  await shop.wallet.checkRound();

  assertAmounts(shop.store, { held: [5] });
});

test("an offer that one tab has cancelled has not expired for a tab that hears so later", async () => {
  const { one, operation } = await openTrade();
  const api = one.service.api();
  let endedAt;
  const offer = async (id) => {
    const found = await api.offer(id);
    await one.offers.cancel(operation.key);
    ({ endedAt } = operationIn(one.store, operation.key));
    return { ...found, state: "void" };
  };

  const late = makerOn(one.service, one.store, { ...api, offer });
  const found = await late.wallet.finish(operation.key);

  assert.equal(found.operation.code, "offer_withdrawn");
  assert.equal(operationIn(one.store, operation.key).endedAt, endedAt);
});

test("a making that one tab is told is refused stays open where another was told so", async () => {
  const { one, wanted } = await traders();
  await beginTrade(one, wanted);
  const api = one.service.api(fatesOf("makeOffer", "refused"));
  const check = async (raws) => {
    await one.wallet.finishBegun();
    return api.check(raws);
  };

  await makerOn(one.service, one.store, { ...api, check }).wallet.finishBegun();

  assertAmounts(one.store, { offered: [5], coming: [3] });
});
