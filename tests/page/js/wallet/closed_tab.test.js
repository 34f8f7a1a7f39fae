// The page may die at any moment: at every await of every verb, before or after what it
// waited for has happened. The next page on the same store must bring all to a good
// end.

import assert from "node:assert/strict";
import { test } from "node:test";

import { offersOf } from "../../../../deeds/page/static/js/wallet/offers.js";
import { memoryStore } from "./memory_store.js";
import {
  amountsByState,
  assertAllIsHere,
  madeBy,
  minted,
  mortal,
  scansIn,
  TabClosed,
  traders,
  walletHolding,
  walletOn,
} from "./parts.js";

/** How many parts one swap of these wallets makes. */
const arrayMax = 4;

/**
 * Return what completes an offer of somebody else, who wants so many units and may give
 * some.
 */
const completing = (amount, gives) => async () => {
  const { one, other, wanted } = await traders();
  const want = { ...wanted.give, amount };
  const made = await (gives
    ? other.offers.trade({ give: wanted.want, want })
    : other.offers.ask(want));
  const offer = await one.service.api().offer(made.operation.offerId);
  const verb = (wallet) => offersOf(wallet).complete(offer);
  return { ...one, others: [other], verb };
};

/**
 * What is there before each verb, the verb, and the amounts by state when all is done.
 * `others` have deeds too; `before` is over after so many awaits.
 */
const VERBS = {
  mint: {
    before: async () => {
      const verb = (wallet) => wallet.mint({ outputs: [{ amount: 5 }] });
      return { ...(await walletHolding()), verb };
    },
    done: { held: [5] },
    undone: {},
  },
  claim: {
    before: async () => {
      const { service, store, wallet, itemId } = await walletHolding(5);
      const given = madeBy(store, await wallet.send(itemId, 5));
      return { service, store: memoryStore(), verb: (taker) => taker.claim(given) };
    },
    done: { spent: [5], held: [5] },
    undone: {},
  },
  send: {
    before: async () => {
      const ground = await walletHolding(5);
      return { ...ground, verb: (wallet) => wallet.send(ground.itemId, 2) };
    },
    done: { spent: [5], given: [2], held: [3] },
    undone: { held: [5] },
  },
  split: {
    before: async () => {
      const { service, store } = await walletHolding(5);
      const [key] = store.kept.outputs.keys();
      return { service, store, verb: (wallet) => wallet.split(key, [1, 2]) };
    },
    done: { spent: [5], held: [1, 2, 2] },
    undone: { held: [5] },
  },
  merge: {
    before: async () => {
      const ground = await walletHolding(5, 6);
      return { ...ground, verb: (wallet) => wallet.merge(ground.itemId) };
    },
    done: { spent: [5, 6], held: [11] },
    undone: { held: [5, 6] },
  },
  makeLinks: {
    before: async () => {
      const ground = await walletHolding(9);
      const verb = (wallet) => wallet.makeLinks(ground.itemId, { count: 3, each: 2 });
      return { ...ground, verb };
    },
    done: { spent: [9], held: [2, 2, 2, 3] },
    undone: { held: [9] },
  },
  prepareNext: {
    before: async () => {
      const ground = await minted({ count: 8, each: 1 }, arrayMax);
      return { ...ground, verb: (wallet) => wallet.prepareNext(ground.itemId) };
    },
    done: { spent: [5], held: [1, 1, 1, 1, 1, 1, 2] },
    undone: { held: [1, 1, 1, 5] },
  },
  "claim at the door": {
    before: async () => {
      const { service, store, wallet, itemId } = await walletHolding(5);
      const given = madeBy(store, await wallet.send(itemId, 2));
      return { service, store, verb: (door) => door.claim(given, { atDoor: true }) };
    },
    done: { spent: [2, 5], held: [2, 3] },
    undone: { spent: [5], given: [2], held: [3] },
  },
  takeBack: {
    before: async () => {
      const { service, store, wallet, itemId } = await walletHolding(5);
      const given = madeBy(store, await wallet.send(itemId, 5));
      return { service, store, verb: (next) => next.takeBack(given.key) };
    },
    done: { spent: [5, 5], held: [5] },
    undone: { spent: [5], given: [5] },
  },
  ask: {
    before: async () => {
      const { one, other, wanted } = await traders();
      const verb = (wallet) => offersOf(wallet).ask(wanted.want);
      return { ...one, others: [other], verb };
    },
    done: { held: [5], coming: [3] },
    undone: { held: [5] },
  },
  trade: {
    before: async () => {
      const { one, other, wanted } = await traders();
      const verb = (wallet) => offersOf(wallet).trade(wanted);
      return { ...one, others: [other], verb };
    },
    done: { offered: [5], coming: [3] },
    undone: { held: [5] },
  },
  "complete with change": {
    before: completing(2, true),
    done: { spent: [5], held: [3, 3] },
    undone: { held: [5] },
  },
  "complete with nothing in return": {
    before: completing(5),
    done: { spent: [5] },
    undone: { held: [5] },
  },
  withdraw: {
    before: async () => {
      const { one, other, wanted } = await traders();
      const { operation } = await one.offers.trade(wanted);
      const verb = (wallet) => offersOf(wallet).withdraw(operation.key);
      return { ...one, others: [other], verb, beginsAt: 3 };
    },
    done: { spent: [5], held: [5], void: [3] },
    undone: { offered: [5], coming: [3] },
  },
};

/**
 * Return the transaction that writes an operation down. One before it tells which
 * secrets have to be derived, if any: those of a mint are not.
 */
const beginsAtOf = (name) => (/mint|nothing in return/.test(name) ? 1 : 2);

/** Run a verb in a tab that dies; tell whether it got to its end before. */
async function runDying({ service, store, verb }, deadAt, isDoneFirst) {
  const dying = mortal(deadAt, isDoneFirst);
  const dyingStore = dying({ read: store.read, update: store.update });
  try {
    await verb(walletOn(service, dyingStore, dying(service.api()), { arrayMax }));
    return true;
  } catch (error) {
    if (!(error instanceof TabClosed)) throw error;
    return false;
  }
}

/** Finish what was begun; what was scanned at a door, that door finishes. */
async function finishAll(wallet, store) {
  await wallet.finishBegun();
  for (const { key } of scansIn(store)) await wallet.finish(key);
}

/** Finish in a new tab; then every amount is where it belongs. */
async function assertEndsWell(ground, expected, { isAllHere = true } = {}) {
  const { service, store, others = [] } = ground;
  const wallet = walletOn(service, store);
  await finishAll(wallet, store);
  for (const each of [wallet, ...others.map((other) => other.wallet)])
    await each.checkStates();

  assert.deepEqual(amountsByState(store), expected);
  const stores = others.map((other) => other.store);
  if (isAllHere) assertAllIsHere(service, store, ...stores);
}

for (const [name, { before, done, undone }] of Object.entries(VERBS)) {
  for (const isDoneFirst of [false, true]) {
    const moment = isDoneFirst ? "after" : "before";
    test(`a tab that closes ${moment} any await of ${name} loses nothing`, async () => {
      let diedCount = 0;
      for (let deadAt = 1; ; deadAt += 1) {
        const ground = await before();
        const isOver = await runDying(ground, deadAt, isDoneFirst);
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
      // Begin, read, send, settle; a withdraw also reads before, and asks after it for
      // its offer.
      assert.ok(
        name === "withdraw" ? diedCount > 7 : diedCount === 3 + beginsAtOf(name),
      );
    });
  }

  test(`a tab that closes at any await of finishing ${name} loses nothing`, async () => {
    for (let deadAt = 1; ; deadAt += 1) {
      const ground = await before();
      await runDying(ground, 1 + (ground.beginsAt ?? beginsAtOf(name)), false);
      const isOver = await runDying(
        { ...ground, verb: (wallet) => finishAll(wallet, ground.store) },
        deadAt,
        true,
      );
      await assertEndsWell(ground, done);
      if (isOver) break;
    }
  });
}

test("a tab that closes at any await of a refusal loses nothing", async () => {
  for (const isDoneFirst of [false, true]) {
    for (let deadAt = 1; ; deadAt += 1) {
      const { service, store, wallet, itemId } = await walletHolding(5);
      const given = madeBy(store, await wallet.send(itemId, 2));
      service.take(given, "somebody's");
      const ground = { service, store, verb: (next) => next.takeBack(given.key) };

      const isOver = await runDying(ground, deadAt, isDoneFirst);
      const next = walletOn(service, store);
      await next.finishBegun();
      await next.checkStates();

      const states = amountsByState(store);
      assert.deepEqual([states.held, states.spent], [[3], [2, 5]]);
      assert.deepEqual(states.given ?? states.coming ?? states.leaving, undefined);
      if (isOver) break;
    }
  }
});

test("however often a tab closes while links are made, each number is there once", async () => {
  for (const isDoneFirst of [false, true]) {
    for (let deadAt = 1; deadAt <= 9; deadAt += 1) {
      const ground = await minted({ count: 20, each: 1 }, arrayMax);
      const { service, store, itemId } = ground;
      const verb = async (wallet) => {
        while (await wallet.prepareNext(itemId));
      };

      // Each tab gets a little further than the one before, if at all.
      for (let tabs = 0; tabs < 30; tabs += 1) {
        if (await runDying({ ...ground, verb }, deadAt + (tabs % 3), isDoneFirst))
          break;
      }
      await verb(ground.wallet);

      const live = service.live().map((key) => store.kept.outputs.get(key));
      const numbers = live
        .map(({ number }) => number)
        .sort((one, other) => one - other);
      assert.deepEqual(
        numbers,
        Array.from({ length: 20 }, (_, place) => place + 1),
      );
      assert.ok(
        live.every(
          ({ state, amount, each }) => state === "held" && amount === 1 && !each,
        ),
      );
    }
  }
});
