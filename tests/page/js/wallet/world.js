// Random walks: people do everything that the wallet can, in several tabs at once,
// while requests and answers are lost or late, refusals have no reason, tabs are
// closed, offers expire and old backups are restored.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

import { sumOf } from "../../../../parts/pages/static/js/format/amounts.js";
import {
  NoAnswerError,
  ProblemError,
} from "../../../../parts/pages/static/js/wallet/api.js";
import { WalletError } from "../../../../parts/pages/static/js/wallet/records.js";
import { fakeService } from "./fake_service.js";
import { memoryStore } from "./memory_store.js";
import { Random } from "./random.js";
import { Turns } from "./turns.js";
import {
  assertAllIsHere,
  callsOf,
  gap,
  makerOn,
  mortal,
  now,
  operationsIn,
  outputsIn,
  pass,
  scansIn,
  TabClosed,
  throughText,
} from "./parts.js";

const arrayMax = 6;

const FAULTS = ["lost", "answer lost", "late", "late", "refused", "refused", "busy"];

const EXPECTED = [WalletError, ProblemError, NoAnswerError, TabClosed];

const SPENDING = ["send", "split", "merge", "trade", "complete"];
export const OURS = /held|given|offered/;
export const OFFER_S_MAX = 30 * 24 * 60 * 60;

/**
 * Return a store that fails the test if an operation that chooses its inputs spends an
 * output that was handed out, admitted, unknown or promised to links.
 */
export function watchedStore(seed) {
  const store = memoryStore(seed);
  const update = async (...given) => {
    const before = new Map(store.kept.outputs);
    const known = new Set(store.kept.operations.keys());
    const since = now();
    const result = await store.update(...given);
    for (const { key, kind, inputs, links, begunAt } of operationsIn(store)) {
      // Operations from a file were begun before.
      if (known.has(key) || begunAt < since || !SPENDING.includes(kind)) continue;
      for (const input of inputs) {
        const { state, givenAt, collectedAt, unknown, each } = before.get(input);
        assert.equal(state, "held");
        assert.ok(!givenAt && !collectedAt && !unknown);
        assert.equal(Boolean(each), Boolean(links?.isNext));
      }
    }
    return result;
  };
  return { ...store, update };
}

export class World {
  constructor(seed, storesCount = 2) {
    this.random = new Random(seed);
    this.service = fakeService();
    this.stores = Array.from({ length: storesCount }, (_, place) => {
      const key = createHash("sha256").update(`${seed} ${place}`).digest("hex");
      return watchedStore({ key, isOwn: true, createdAt: 0 });
    });
    this.exports = [];
    this.seen = new Set(); // Keys of all outputs that were ever stored.
  }

  /** Let one or two tabs do something, with their calls in a random order. */
  async step() {
    const turns = new Turns();
    const actions = this.random.chance(50) ? ["a"] : ["a", "b"];
    const promises = actions.map((who) => this.act(this.tab(turns, who)));
    const ended = await turns.run(promises, (count) => this.random.below(count));
    for (const { reason } of ended) {
      if (reason && !EXPECTED.some((each) => reason instanceof each)) throw reason;
    }
    if (this.random.chance(15))
      this.service.deliverLate((count) => this.random.below(count), 1);
  }

  /** Return a person for each store, each in a new tab. */
  people() {
    const api = this.service.api();
    return this.stores.map((store) => makerOn(this.service, store, api, { arrayMax }));
  }

  /** Take steps, and check after each that nothing is lost. */
  async walk(stepsCount) {
    for (let step = 0; step < stepsCount; step += 1) {
      await this.step();
      this.assertNothingIsLost();
    }
  }

  /**
   * Return a wallet in a new tab of a random person. The tab may be closed at one of
   * its next calls.
   */
  tab(turns, who) {
    const store = this.random.pick(this.stores);
    const fate = () => (this.random.chance(40) ? this.random.pick(FAULTS) : "answered");
    const deadAt = this.random.chance(25) ? 1 + this.random.below(8) : Infinity;
    const dying = mortal(deadAt, this.random.chance(50));
    const gated = turns.gated(who, dying(callsOf(store)));
    const api = turns.gated(who, dying(this.service.api(fate)));
    return { ...makerOn(this.service, gated, api, { arrayMax }), store };
  }

  async act(tab) {
    const { wallet } = tab;
    const actions = this.random.chance(40) ? this.offerActions(tab) : this.actions(tab);
    await this.random.pick([...actions, () => wallet.finishBegun()])();
  }

  /** Return what a person may do with offers. */
  offerActions({ wallet, store, offers }) {
    const { random, service } = this;
    const part = () => {
      const all = outputsIn(random.pick(this.stores));
      const { itemId = "deed_none", amount = 1 } = random.pick(all) ?? {};
      return { itemId, amount: 1 + random.below(amount) };
    };
    const expiresInS = random.pick([60, 3600, undefined]);
    const made = operationsIn(store).filter(({ kind }) => /ask|trade/.test(kind));
    const { key } = random.pick(made) ?? {};
    const operations = this.stores.flatMap(operationsIn);
    const ids = operations.flatMap(({ offerId }) => offerId ?? []).slice(-6);
    const complete = async () => {
      const offer = await service.api().offer(random.pick(ids));
      return offers.complete(offer);
    };
    return [
      () => offers.ask({ ...part(), expiresInS }),
      () => offers.trade({ give: part(), want: part(), expiresInS }),
      () => offers.trade({ give: part(), want: part(), expiresInS }),
      () => ids.length && complete(),
      () => ids.length && complete(),
      () => ids.length && complete(),
      () => key && offers.cancel(key),
      () => key && wallet.finish(key),
      () => wallet.checkRound(),
      async () => random.chance(30) && pass(random.pick([30, 60, 4000])),
    ];
  }

  actions({ wallet, store }) {
    const { random } = this;
    const own = outputsIn(store);
    const output = random.pick(own) ?? { key: "none", itemId: "deed_none", amount: 1 };
    const links = this.stores
      .flatMap(outputsIn)
      .filter(({ state }) => state === "given" || state === "spent");
    const amount = 1 + random.below(output.amount);
    const scan = (isUnsent) =>
      links.length && wallet.claim(random.pick(links), { atDoor: true, isUnsent });
    const scans = scansIn(store);
    return [
      () => wallet.mint({ outputs: [{ amount: 1 + random.below(9) }, { amount: 20 }] }),
      () =>
        wallet.mint({
          links: { count: 1 + random.below(20), each: 1 + random.below(3) },
        }),
      () => wallet.prepareNext(output.itemId),
      () => wallet.prepareNext(output.itemId),
      () => wallet.makeLinks(output.itemId, { count: 1 + random.below(9), each: 1 }),
      () => wallet.give([output.key]),
      () => own.length && wallet.setNotes([output.key, "Anna"]),
      () => scan(random.chance(30) || undefined),
      () => scans.length && wallet.finish(random.pick(scans).key),
      () => scans.length && wallet.cancel(random.pick(scans).key),
      () => wallet.checkRound(),
      () => wallet.send(output.itemId, amount),
      () => wallet.send(output.itemId, amount + random.below(9)),
      () => wallet.merge(output.itemId),
      () => wallet.takeBack(output.key),
      () => links.length && wallet.claim({ ...random.pick(links), amount }),
      () => links.length && wallet.claim(random.pick(links)),
      () => wallet.checkStates(),
      () => wallet.finishBegun(),
      () => wallet.finishBegun(),
      () => wallet.finishBegun(),
      async () => this.exports.push(throughText(await wallet.exportRecords())),
      () =>
        this.exports.length &&
        wallet.importRecords(random.pick(this.exports), { isOwn: true }),
    ];
  }

  /** Check what must be true at every moment. */
  assertNothingIsLost() {
    const live = new Set(this.service.live());
    const known = new Set();
    for (const store of this.stores) {
      for (const record of outputsIn(store)) {
        known.add(record.key);
        this.seen.add(record.key);
        if (record.state === "spent")
          assert.ok(!live.has(record.key), "live, but held as spent");
      }
      for (const { kind, body } of operationsIn(store)) {
        // A mint without an answer has its secrets in the request only.
        if (kind === "mint") body.outputs.forEach(({ secret }) => known.add(secret));
      }
    }
    for (const key of live) {
      const [, secret] = key.split(".");
      assert.ok(
        known.has(key) || known.has(secret),
        "a live secret that no wallet has",
      );
    }
    for (const key of this.seen) assert.ok(known.has(key), "a secret was forgotten");
  }

  /** Check that all wallets agree with the service once every fault is over. */
  async assertEndsWell() {
    this.service.deliverLate();
    const isOver = this.random.chance(50);
    const people = this.people();
    await finishAll(people);
    // An expired offer is settled only when no completion can be under way any more.
    pass(isOver ? OFFER_S_MAX : 60);
    await finishAll(people);

    this.assertNothingIsLost();
    for (const store of this.stores) {
      const open = operationsIn(store).filter(({ state }) => state === "open");
      assert.ok(!isOver || !open.length, "an offer that should have ended");
      // The states of outputs follow from those of operations.
      for (const { kind, state } of operationsIn(store)) {
        assert.ok(["done", "refused", "open"].includes(state));
        assert.ok(kind !== "mint" || state !== "refused");
      }
      for (const { state, unknown } of outputsIn(store)) {
        assert.ok(!OURS.test(state) || !unknown, "held, but unknown to the service");
      }
    }
    assertAllIsHere(this.service, ...this.stores);
    this.assertUnitsAreWhole();
  }

  assertUnitsAreWhole() {
    const minted = new Map();
    for (const { key, kind, state, amount } of this.stores.flatMap(operationsIn)) {
      if (kind === "mint" && state === "done") minted.set(key, amount);
    }
    const { outputs } = this.service;
    const live = this.service.live().map((key) => outputs.get(key).amount);
    assert.equal(sumOf(live), sumOf([...minted.values()]));
  }
}

/** A world of shops whose customers request payments and never make them. */
export class ShopWorld extends World {
  offerActions(tab) {
    const { itemId } = this.random.pick(outputsIn(tab.store)) ?? {};
    const abandon = () => itemId && abandonCarts(tab.offers, { itemId, amount: 1 });
    return [...super.offerActions(tab), abandon];
  }
}

/** Request more payments that nobody makes than a search skips unused numbers. */
export async function abandonCarts(offers, asked) {
  for (let count = 0; count <= gap; count += 1)
    await offers.ask({ ...asked, expiresInS: 60 });
  pass(200);
}

/** Finish everything that has begun, and query each wallet until nothing changes. */
export async function finishAll(people) {
  for (const { wallet, store } of people) {
    for (const { key, begunAt } of scansIn(store)) {
      await (begunAt % 2 ? wallet.cancel(key) : wallet.finish(key));
    }
    await wallet.finishBegun();
  }
  for (const { wallet, store } of people) {
    const all = () => [outputsIn(store), operationsIn(store)];
    let before;
    await wallet.checkStates();
    while (!isDeepStrictEqual(all(), before)) {
      before = all();
      await wallet.checkRound();
    }
  }
}
