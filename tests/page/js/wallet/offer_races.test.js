// Tabs and people who make, complete and cancel one offer at once, in many orders of
// what they do.

import assert from "node:assert/strict";
import { test } from "node:test";

import { WalletError } from "../../../../parts/pages/static/js/wallet/records.js";
import { isLive } from "../../../../parts/pages/static/js/wallet/states.js";
import {
  amountsByState,
  assertAmounts,
  beginTrade,
  heldIn,
  keysOf,
  linkFrom,
  makerOn,
  mintAmounts,
  operationIn,
  outputsIn,
  pass,
  tabOf,
  traders,
  walletHolding,
} from "./parts.js";
import { inSomeOrders, Turns } from "./turns.js";

// Of 65 ways in which two tabs can end, 62 come up in the first 20 orders.
const ORDERS_COUNT = 20;
const WEEK_S = 7 * 24 * 60 * 60;

/**
 * Somebody who offers 5 units of a deed for 3 of another, and two people who hold 3 of
 * that.
 */
async function market() {
  const maker = await walletHolding(5);
  const { service } = maker;
  const buyer = makerOn(service);
  const { itemId } = (await mintAmounts(buyer.wallet, 7)).operation;
  const rival = makerOn(service);
  await rival.wallet.claim(await linkFrom({ ...buyer, itemId }, 3));
  const give = { itemId: maker.itemId, amount: 5 };
  const { operation } = await maker.offers.trade({ give, want: { itemId, amount: 3 } });
  const offer = await service.api().offer(operation.offerId);
  return { service, maker, buyer, rival, operation, offer };
}

/**
 * Somebody who holds 3 units of a deed in one part and asks for 2, and two people who
 * hold 2 of it.
 */
async function till() {
  const maker = await walletHolding(3, 4);
  const { service, itemId } = maker;
  const [buyer, rival] = [makerOn(service), makerOn(service)];
  for (const { wallet } of [buyer, rival]) await wallet.claim(await linkFrom(maker, 2));
  const { operation } = await maker.offers.ask({
    itemId,
    amount: 2,
    expiresInS: WEEK_S,
  });
  const offer = await service.api().offer(operation.offerId);
  return { service, maker, buyer, rival, operation, offer };
}

/**
 * Open each wallet once more, and after its time; fail unless every unit is held once,
 * and the offer has ended.
 */
async function assertEndsWell({ service, maker, buyer, rival, operation }) {
  const all = [maker, buyer, rival];
  for (const { wallet } of all) await wallet.finishBegun();
  pass(WEEK_S + 120);
  for (const { wallet } of all) await wallet.checkStates();
  const here = all.flatMap(({ store }) => outputsIn(store).filter(isLive));
  assert.deepEqual(keysOf(here).sort(), service.live().sort());
  assert.deepEqual(amountsByState(maker.store).offered, undefined);
  const { state, code } = operationIn(maker.store, operation.key);
  return code ?? state;
}

const complete = (person, ground) => person.offers.complete(ground.offer);
const cancel = (person, ground) => person.offers.cancel(ground.operation.key);
const expire = async ({ wallet }) => {
  pass(WEEK_S + 60);
  await wallet.checkRound();
};
const refresh = (person, ground) => person.wallet.finish(ground.operation.key);

/** What two tabs do, whose they are, and how the offer may end. */
const PAIRS = {
  "its maker cancels it, somebody completes it": [
    ["maker", cancel],
    ["buyer", complete],
    ["done", "offer_withdrawn"],
  ],
  "two people complete it": [["buyer", complete], ["rival", complete], ["done"]],
  "two tabs complete it": [["buyer", complete], ["buyer", complete], ["done"]],
  "two tabs cancel it": [["maker", cancel], ["maker", cancel], ["offer_withdrawn"]],
  "one tab cancels it, one asks for it": [
    ["maker", cancel],
    ["maker", refresh],
    ["offer_withdrawn"],
  ],
  "one tab cancels it, one finds that it was completed": [
    ["maker", cancel],
    [
      "maker",
      (person, ground) =>
        ground.buyer.offers.complete(ground.offer).then(() => refresh(person, ground)),
    ],
    ["done", "offer_withdrawn"],
  ],
  "it expires, and somebody completes it": [
    ["maker", expire],
    ["buyer", complete],
    ["done", "offer_expired"],
  ],
  "it expires while it is cancelled": [
    ["maker", expire],
    ["maker", cancel],
    ["offer_expired", "offer_withdrawn"],
  ],
};

const GROUNDS = { trade: market, request: till };
const FATES = [[], ["answer lost"], ["lost", "answer lost", "refused"]];
const ALL = Object.keys(GROUNDS).flatMap((kind) =>
  FATES.flatMap((fates) =>
    Object.entries(PAIRS).map(([name, pair]) => ({ kind, fates, name, pair })),
  ),
);

for (const { kind, fates, name, pair } of ALL) {
  const [one, other, ends] = pair;
  test(`a ${kind} moves everything once or nothing: ${name}, ${fates.join() || "all answered"}`, async () => {
    const found = new Set();
    await inSomeOrders(ORDERS_COUNT, async (choose) => {
      const ground = await GROUNDS[kind]();
      const turns = new Turns();
      const act = ([name_, verb], who) => {
        const left = [...fates];
        const fate = (request) => (request === "check" ? "answered" : left.shift());
        return verb(tabOf(ground[name_], turns, who, fate), ground);
      };

      const ended = await turns.run([act(one, "a"), act(other, "b")], choose);

      const isExpected = ({ reason }) =>
        !reason || reason instanceof WalletError || reason.name === "NoAnswerError";
      for (const each of ended) assert.ok(isExpected(each), each.reason);
      found.add(await assertEndsWell(ground));
    });
    // To cancel uses a request's secret: what became of it, its state alone tells.
    const all = kind === "request" ? [...ends, "offer_expired"] : ends;
    for (const end of found) assert.ok(all.includes(end), end);
  });
}

test("two tabs that finish one making make one offer", async () => {
  await inSomeOrders(ORDERS_COUNT, async (choose) => {
    const { one, other, wanted } = await traders();
    await beginTrade(one, wanted);
    const turns = new Turns();

    const all = ["a", "b"].map((who) => tabOf(one, turns, who).wallet.finishBegun());
    const ended = await turns.run(all, choose);

    const ids = ended.flatMap(({ value }) =>
      value.map(({ operation }) => operation.offerId),
    );
    assert.deepEqual([...new Set(ids)], [...one.service.offers.keys()]);
    assertAmounts(one.store, { offered: [5], coming: [3] });
    assert.deepEqual(heldIn(other.store).length, 1);
  });
});
