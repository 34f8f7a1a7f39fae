// The page may be closed at any moment: at every await of every verb, before or after
// the awaited call was carried out. The next page on the same store must finish
// everything.

import assert from "node:assert/strict";
import { test } from "node:test";

import { offersOf } from "../../../../parts/pages/static/js/wallet/offers.js";
import { memoryStore } from "./memory_store.js";
import {
  amountsByState,
  assertAmounts,
  assertAllIsHere,
  callsOf,
  giverOf,
  liveNumbers,
  mintAmounts,
  minted,
  mortal,
  openTrade,
  scansIn,
  smallWallet,
  TabClosed,
  traders,
  upTo,
  walletHolding,
  walletOn,
} from "./parts.js";

/** Maximum number of inputs or outputs in a swap of these wallets. */
const arrayMax = 4;

/** Return the maker of a trade, with the `other` person, whose units count, too. */
async function tradersApart() {
  const { one, other, wanted } = await traders();
  return { ...one, other, wanted };
}

/**
 * Return a case that completes somebody else's offer, which asks for `amount` units and
 * may give some.
 */
const completing = (amount, gives) => ({
  before: async () => {
    const { one, other, wanted } = await traders();
    const want = { ...wanted.give, amount };
    const { operation } = await (gives
      ? other.offers.trade({ give: wanted.want, want })
      : other.offers.ask(want));
    const offer = await one.service.api().offer(operation.offerId);
    return { ...one, other, offer };
  },
  verb: (wallet, { offer }) => offersOf(wallet).complete(offer),
});

/**
 * By case: the state `before` the verb, the verb, and the amounts by state when it is
 * done. The units of an `other` person count, too. Awaits before `beginsAt` only read.
 */
const VERBS = {
  mint: {
    before: walletHolding,
    verb: (wallet) => mintAmounts(wallet, 5),
    done: { held: [5] },
  },
  claim: {
    before: async () => ({ ...(await giverOf(5)), store: memoryStore() }),
    verb: (wallet, { given }) => wallet.claim(given),
    done: { spent: [5], held: [5] },
  },
  send: {
    before: () => walletHolding(5),
    verb: (wallet, { itemId }) => wallet.send(itemId, 2),
    done: { spent: [5], given: [2], held: [3] },
  },
  makeLinks: {
    before: () => walletHolding(9),
    verb: (wallet, { itemId }) => wallet.makeLinks(itemId, { count: 3, each: 2 }),
    done: { spent: [9], held: [2, 2, 2, 3] },
  },
  prepareNext: {
    before: () => minted({ count: 8, each: 1 }, arrayMax),
    verb: (wallet, { itemId }) => wallet.prepareNext(itemId),
    done: { spent: [5], held: [1, 1, 1, 1, 1, 1, 2] },
  },
  "claim at the door": {
    before: () => giverOf(5, 2),
    verb: (wallet, { given }) => wallet.claim(given, { atDoor: true }),
    done: { spent: [2, 5], held: [2, 3] },
  },
  takeBack: {
    before: () => giverOf(5),
    verb: (wallet, { given }) => wallet.takeBack(given.key),
    done: { spent: [5, 5], held: [5] },
  },
  ask: {
    before: tradersApart,
    verb: (wallet, { wanted }) => offersOf(wallet).ask(wanted.want),
    done: { held: [5], coming: [3] },
  },
  trade: {
    before: tradersApart,
    verb: (wallet, { wanted }) => offersOf(wallet).trade(wanted),
    done: { offered: [5], coming: [3] },
  },
  "complete with change": {
    ...completing(2, true),
    done: { spent: [5], held: [3, 3] },
  },
  "complete with nothing in return": {
    ...completing(5),
    done: { spent: [5] },
  },
  cancel: {
    before: async () => {
      const { one, other, operation } = await openTrade();
      return { ...one, other, operation, beginsAt: 3 };
    },
    verb: (wallet, { operation }) => offersOf(wallet).cancel(operation.key),
    done: { spent: [5], held: [5], void: [3] },
  },
};

/**
 * Return the transaction that writes an operation down. One before it tells which
 * secrets have to be derived, if any: those of a mint are not.
 */
const beginsAtOf = (name) => (/mint|nothing in return/.test(name) ? 1 : 2);

/** Run a verb in a tab that dies; tell whether it got to its end before. */
async function runDying(ground, verb, deadAt, isDoneFirst) {
  const { service, store } = ground;
  const dying = mortal(deadAt, isDoneFirst);
  const api = dying(service.api());
  const wallet = walletOn(service, dying(callsOf(store)), api, { arrayMax });
  try {
    await verb(wallet, ground);
    return true;
  } catch (error) {
    if (!(error instanceof TabClosed)) throw error;
    return false;
  }
}

/** Finish what was begun; what was scanned at a door, that door finishes. */
async function finishAll(wallet, { store }) {
  await wallet.finishBegun();
  for (const { key } of scansIn(store)) await wallet.finish(key);
}

/** Finish in a new tab; then every amount is where it belongs. */
async function assertEndsWell(ground, expected, { isAllHere = true } = {}) {
  const { service, store, other } = ground;
  const wallet = smallWallet(ground, 32);
  await finishAll(wallet, ground);
  await wallet.checkStates();
  await other?.wallet.checkStates();

  assertAmounts(store, expected);
  const stores = other ? [store, other.store] : [store];
  if (isAllHere) assertAllIsHere(service, ...stores);
}

for (const [name, { before, verb, done }] of Object.entries(VERBS)) {
  for (const isDoneFirst of [false, true]) {
    const moment = isDoneFirst ? "after" : "before";
    test(`a tab that closes ${moment} any await of ${name} loses nothing`, async () => {
      let diedCount = 0;
      for (let deadAt = 1; ; deadAt += 1) {
        const ground = await before();
        const undone = amountsByState(ground.store);
        const isOver = await runDying(ground, verb, deadAt, isDoneFirst);
        // Until it is written down nothing has begun; after that nothing is forgotten.
        const { beginsAt = beginsAtOf(name) } = ground;
        const hasBegun =
          isOver || deadAt > beginsAt || (isDoneFirst && deadAt === beginsAt);
        // What nobody has begun to claim is in the giver's wallet.
        const isAllHere = hasBegun || name !== "claim";
        await assertEndsWell(ground, hasBegun ? done : undone, { isAllHere });
        if (isOver) break;
        diedCount += 1;
      }
      // Begin, read, send, settle; to cancel also reads before, and asks after it for
      // its offer.
      assert.ok(name === "cancel" ? diedCount > 7 : diedCount === 3 + beginsAtOf(name));
    });
  }

  test(`a tab that closes at any await of finishing ${name} loses nothing`, async () => {
    for (let deadAt = 1; ; deadAt += 1) {
      const ground = await before();
      await runDying(ground, verb, 1 + (ground.beginsAt ?? beginsAtOf(name)), false);
      const isOver = await runDying(ground, finishAll, deadAt, true);
      await assertEndsWell(ground, done);
      if (isOver) break;
    }
  });
}

test("a tab that closes at any await of a refusal loses nothing", async () => {
  for (const isDoneFirst of [false, true]) {
    for (let deadAt = 1; ; deadAt += 1) {
      const ground = await giverOf(5, 2);
      const { service, store, given } = ground;
      service.take(given);

      const isOver = await runDying(ground, VERBS.takeBack.verb, deadAt, isDoneFirst);
      const next = smallWallet(ground, 32);
      await next.finishBegun();
      await next.checkStates();

      const { void: _, ...states } = amountsByState(store);
      assert.deepEqual(states, { held: [3], spent: [2, 5] });
      if (isOver) break;
    }
  }
});

test("however often a tab closes while links are made, each number is there once", async () => {
  for (const isDoneFirst of [false, true]) {
    for (let deadAt = 1; deadAt <= 9; deadAt += 1) {
      const ground = await minted({ count: 20, each: 1 }, arrayMax);
      const { store, itemId } = ground;
      const verb = async (wallet) => {
        while (await wallet.prepareNext(itemId));
      };

      // Each tab gets a little further than the one before, if at all.
      for (let tabs = 0; tabs < 30; tabs += 1) {
        if (await runDying(ground, verb, deadAt + (tabs % 3), isDoneFirst)) break;
      }
      await verb(ground.wallet);

      assert.deepEqual(liveNumbers(ground), upTo(20));
      assert.deepEqual(amountsByState(store).held, Array(20).fill(1));
    }
  }
});
