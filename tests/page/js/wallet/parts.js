// Wallets on a fake service, for the tests of the wallet.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";

// Loaded when it is needed, which is to need no waiting here.
import "../../../../deeds/page/static/js/wallet/merging.js";
import { readRecords } from "../../../../deeds/page/static/js/wallet/file.js";
import { WalletError } from "../../../../deeds/page/static/js/wallet/records.js";
import { keysOf } from "../../../../deeds/page/static/js/wallet/records.js";
import { makeWallet } from "../../../../deeds/page/static/js/wallet/wallet.js";
import { offersOf } from "../../../../deeds/page/static/js/wallet/offers.js";
import { now } from "./clock.js";
import { fakeService } from "./fake_service.js";
import { memoryStore } from "./memory_store.js";

let secretsCount = 0;

export { keysOf };
export { now, pass } from "./clock.js";

/** Secrets that need no waiting: what runs in turns must wait for nothing else. */
export async function makeSecret() {
  secretsCount += 1;
  return `secret-${secretsCount}`;
}

/** Secrets from a seed that need no waiting, but for their form like the page's. */
export async function derive(places) {
  return places.map(({ seed, branch, itemId, number }) => {
    const text = `deeds wallet secret v1:${branch}:${itemId}:${number}`;
    return createHmac("sha256", Buffer.from(seed, "hex"))
      .update(text)
      .digest("hex")
      .slice(0, 32);
  });
}

/** Whether a machine made a secret cannot be asked without waiting either. */
export const isStrong = async () => true;

/** After so many unused numbers the walks of the tests look for no more. */
export const gap = 12;

export function walletOn(
  service,
  store = memoryStore(),
  api = service.api(),
  options = {},
) {
  const parts = { store, api, now, makeSecret, derive, gap, isStrong };
  return makeWallet({ ...parts, ...options });
}

/** Return a wallet, and the verbs of its offers. */
export function makerOn(
  service,
  store = memoryStore(),
  api = service.api(),
  options = {},
) {
  const wallet = walletOn(service, store, api, options);
  return { service, store, wallet, offers: offersOf(wallet) };
}

/**
 * Return a wallet on this service and store whose requests meet the fate that it tells
 * of each.
 */
export function walletMeeting({ service, store }, fate) {
  return walletOn(service, store, service.api(fate));
}

/** Return a wallet of whose swaps each makes only so many parts. */
export function smallWallet({ service, store }, arrayMax = 4) {
  return walletOn(service, store, service.api(), { arrayMax });
}

/** Return a wallet whose swaps meet these fates, one after the other. */
export function swapsMeeting(parts, ...fates) {
  return walletMeeting(parts, (verb) => (verb === "swap" ? fates.shift() : "answered"));
}

/**
 * Return a service, a store and its wallet that holds one item in these amounts, if
 * any.
 */
export async function walletHolding(...amounts) {
  const service = fakeService();
  const store = memoryStore();
  const wallet = walletOn(service, store);
  if (!amounts.length) return { service, store, wallet };
  const outcome = await wallet.mint({ outputs: amounts.map((amount) => ({ amount })) });
  return { service, store, wallet, itemId: outcome.operation.itemId };
}

/** Return a wallet that has minted these links, all that one mint can make. */
export async function minted(links, arrayMax = 256) {
  const ground = await walletHolding();
  const wallet = smallWallet(ground, arrayMax);
  const { operation } = await wallet.mint({ links });
  const keys = keysOf(operation.outputs);
  return { ...ground, wallet, operation, keys, itemId: operation.itemId };
}

/** Return people on one service, each of whom holds an item in these amounts. */
export async function people(...holdings) {
  const service = fakeService();
  const all = holdings.map(() => makerOn(service));
  for (const [place, amounts] of holdings.entries()) {
    if (!amounts.length) continue;
    const outputs = amounts.map((amount) => ({ amount }));
    const { operation } = await all[place].wallet.mint({ outputs });
    all[place].itemId = operation.itemId;
  }
  return all;
}

/**
 * Return somebody who holds 5 units of a deed, another who holds 3 of theirs, and the
 * trade that the first one wants.
 */
export async function traders() {
  const [one, other] = await people([5], [3]);
  const give = { itemId: one.itemId, amount: 5 };
  return { one, other, wanted: { give, want: { itemId: other.itemId, amount: 3 } } };
}

/** Let somebody make an offer whose answer is lost. */
export function beginTrade({ service, store }, wanted) {
  const api = service.api(() => "answer lost");
  return makerOn(service, store, api).offers.trade(wanted);
}

/** Return a wallet on a store of its own that has taken in these records. */
export async function walletOf(service, records, api = service.api(), options = {}) {
  const store = memoryStore();
  const wallet = walletOn(service, store, api, options);
  await wallet.importRecords(records);
  return { service, store, wallet };
}

/** What is written into a file must always be what can be read from one. */
export function throughText(records) {
  return readRecords(JSON.parse(JSON.stringify(records)));
}

/** Return whether an error is the wallet's own of this code. */
export const hasCode = (code) => (error) =>
  error instanceof WalletError && error.code === code;

export const outputsIn = ({ kept }) => [...kept.outputs.values()];
export const operationsIn = ({ kept }) => [...kept.operations.values()];

/** Fail unless these stores have all that is live, and of their own nothing else. */
export function assertAllIsHere(service, ...stores) {
  const here = stores
    .flatMap(outputsIn)
    .filter(({ state }) => /held|given|offered/.test(state));
  assert.deepEqual([...new Set(keysOf(here))].sort(), service.live().sort());
}

/** Return the record of an operation's output at a place. */
export function madeBy(store, { operation }, place = 0) {
  return store.kept.outputs.get(operation.outputs[place].key);
}

/** Return the link of so many units that somebody hands out. */
export async function linkFrom({ store, wallet, itemId }, amount) {
  return madeBy(store, await wallet.send(itemId, amount));
}

/** What a tab throws that has died. */
export class TabClosed extends Error {}

/**
 * Return what wraps the store and the api of a tab, which dies at the n-th call of any
 * of them; from then on nothing happens.
 */
export function mortal(deadAt, isDoneFirst) {
  let callsCount = 0;
  const wrapped =
    (call) =>
    async (...given) => {
      callsCount += 1;
      if (callsCount === deadAt && isDoneFirst) await call(...given).catch(() => {});
      if (callsCount >= deadAt) throw new TabClosed();
      return call(...given);
    };
  return (object) =>
    Object.fromEntries(
      Object.entries(object).map(([name, call]) => [name, wrapped(call)]),
    );
}

/** Return the claims of a door that have no answer. */
export function scansIn(store) {
  const isWaiting = ({ atDoor, state }) => atDoor && state === "begun";
  return operationsIn(store).filter(isWaiting);
}

/** Return the records of outputs that are held. */
export function heldIn(store) {
  return outputsIn(store).filter(({ state }) => state === "held");
}

/** Return the amounts in each state, in order. */
export function amountsByState(store) {
  const found = {};
  for (const { state, amount } of outputsIn(store)) {
    found[state] = [...(found[state] ?? []), amount].sort((one, other) => one - other);
  }
  return found;
}
