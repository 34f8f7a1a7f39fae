// Wallets on a fake service, and shorthands that all tests of the wallet use.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";

import { readRecords } from "../../../../parts/pages/static/js/wallet/file.js";
import {
  keysOf,
  WalletError,
} from "../../../../parts/pages/static/js/wallet/records.js";
import { makeWallet } from "../../../../parts/pages/static/js/wallet/wallet.js";
import { offersOf } from "../../../../parts/pages/static/js/wallet/offers.js";
import { now, pass } from "./clock.js";
import { fakeService } from "./fake_service.js";
import { memoryStore } from "./memory_store.js";

let secretsCount = 0;

export { keysOf, now, pass };

/**
 * Return a secret without asynchronous work: calls that run in turns (turns.js) must
 * not wait for anything else.
 */
export async function makeSecret() {
  secretsCount += 1;
  return `secret-${secretsCount}`;
}

/**
 * Return secrets of places without hashing each: a look asks for hundreds, which would
 * take most of the tests' time.
 */
export async function derive(places) {
  return places.map(({ seed, branch, itemId, number }) => {
    const digits = number.toString(16).padStart(14, "0");
    return beginningOf(`${seed}:${branch}:${itemId}`) + digits;
  });
}

const beginnings = new Map();

function beginningOf(text) {
  if (!beginnings.has(text)) {
    const hash = createHash("sha256").update(text).digest("hex");
    beginnings.set(text, hash.slice(0, 18));
  }
  return beginnings.get(text);
}

/** Count every secret as strong, because computing a checksum is asynchronous. */
export const isStrong = async () => true;

/** A search ends after this many unused numbers. */
export const gap = 12;

/** Return a person: a service, a store, the wallet on both, and its offers. */
export function makerOn(
  service,
  store = memoryStore(),
  api = service.api(),
  options = {},
) {
  const parts = { store, api, now, makeSecret, derive, gap, isStrong };
  const wallet = makeWallet({ ...parts, ...options });
  return { service, store, wallet, offers: offersOf(wallet) };
}

/** Return the wallet of such a person. */
export const walletOn = (...parts) => makerOn(...parts).wallet;

/** Return a wallet whose requests have the fates that `fate` returns. */
export function walletMeeting({ service, store }, fate) {
  return walletOn(service, store, service.api(fate));
}

/** Return a wallet whose swaps have at most `arrayMax` inputs or outputs. */
export function smallWallet({ service, store }, arrayMax = 4) {
  return walletOn(service, store, service.api(), { arrayMax });
}

/** Return a function that gives the requests of one verb these fates, in order. */
export const fatesOf =
  (verb, ...fates) =>
  (asked) =>
    asked === verb ? fates.shift() : "answered";

/** Return a wallet whose swaps have these fates, in order. */
export function swapsMeeting(parts, ...fates) {
  return walletMeeting(parts, fatesOf("swap", ...fates));
}

/** Let a wallet mint one item in these amounts. */
export function mintAmounts(wallet, ...amounts) {
  return wallet.mint({ outputs: amounts.map((amount) => ({ amount })) });
}

/** Return somebody on a new service who holds one item in these amounts, if any. */
export async function walletHolding(...amounts) {
  const [person] = await people(amounts);
  return person;
}

/** Return somebody who has handed out a link of `givenAmount` of their units. */
export async function giverOf(amount, givenAmount = amount) {
  const giver = await walletHolding(amount);
  return { ...giver, given: await linkFrom(giver, givenAmount) };
}

/** Return a wallet that has minted these links, as many as one mint makes. */
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
    const { operation } = await mintAmounts(all[place].wallet, ...amounts);
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

/** Return these traders once the trade is open, with its operation and its offer. */
export async function openTrade() {
  const { one, other, wanted } = await traders();
  const { operation } = await one.offers.trade(wanted);
  const offer = await one.service.api().offer(operation.offerId);
  return { one, other, operation, offer };
}

/** Let somebody make an offer whose answer is lost. */
export function beginTrade({ service, store }, wanted) {
  const api = service.api(() => "answer lost");
  return makerOn(service, store, api).offers.trade(wanted);
}

/** The records of an empty wallet. */
export const NOTHING = {
  outputs: [],
  operations: [],
  items: [],
  seeds: [],
  numbers: [],
};

/** Return somebody with a new wallet that has imported these records as its own. */
export async function walletOf(service, records, api = service.api(), options = {}) {
  const person = makerOn(service, memoryStore(), api, options);
  await person.wallet.importRecords(records, { isOwn: true });
  return person;
}

/** Return somebody with a copy of this wallet. */
export async function copyOf({ service, wallet }) {
  return walletOf(service, await wallet.exportRecords());
}

/** Return records as a file gives them back. Throw if they are invalid there. */
export function throughText(records) {
  return readRecords(JSON.parse(JSON.stringify(records)));
}

/** Return the records that a wallet writes into a file. */
export const fileOf = async ({ wallet }) => throughText(await wallet.exportRecords());

/** Return a function that returns whether an error is a WalletError with this code. */
export const hasCode = (code) => (error) =>
  error instanceof WalletError && error.code === code;

/** Return how an operation has ended, and why. */
export const endOf = ({ operation: { state, code } }) => [state, code];

export const outputIn = ({ kept }, key) => kept.outputs.get(key);
export const operationIn = ({ kept }, key) => kept.operations.get(key);
export const outputsIn = ({ kept }) => [...kept.outputs.values()];
export const operationsIn = ({ kept }) => [...kept.operations.values()];

/** Fail unless the stores hold exactly the unspent outputs of the service. */
export function assertAllIsHere(service, ...stores) {
  const here = stores
    .flatMap(outputsIn)
    .filter(({ state }) => /held|given|offered/.test(state));
  assert.deepEqual([...new Set(keysOf(here))].sort(), service.live().sort());
}

/** Return the record of an operation's output at a place. */
export function madeBy(store, { operation }, place = 0) {
  return outputIn(store, operation.outputs[place].key);
}

/** Return the link of `amount` units that somebody hands out. */
export async function linkFrom({ store, wallet, itemId }, amount) {
  return madeBy(store, await wallet.send(itemId, amount));
}

/**
 * Return somebody who holds what another has sent them, in these amounts, and the key
 * of the first.
 */
export async function guestHolding(...amounts) {
  const maker = await walletHolding(9);
  const guest = makerOn(maker.service);
  for (const amount of amounts) await guest.wallet.claim(await linkFrom(maker, amount));
  const [{ key }] = heldIn(guest.store);
  return { ...guest, itemId: maker.itemId, key };
}

/** A closed tab throws this. */
export class TabClosed extends Error {}

/**
 * Return a function that wraps the store and the api of a tab. The tab is closed at the
 * n-th call of either; that call is still carried out if it `isDoneFirst`.
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

/** Return a tab of a person whose calls wait for their turns (turns.js). */
export function tabOf({ service, store }, turns, who, fate, options) {
  const gated = turns.gated(who, callsOf(store));
  return makerOn(service, gated, turns.gated(who, service.api(fate)), options);
}

/** Return the functions of a store that a wallet calls. */
export const callsOf = ({ read, update }) => ({ read, update });

/** Return the claims of a door that wait for an answer. */
export function scansIn(store) {
  const isWaiting = ({ atDoor, state }) => atDoor && state === "begun";
  return operationsIn(store).filter(isWaiting);
}

/** Return the records of outputs that are held. */
export function heldIn(store) {
  return outputsIn(store).filter(({ state }) => state === "held");
}

/** Return the numbers of the links that are live, in order. */
export function liveNumbers({ service, store }) {
  const live = service.live().map((key) => outputIn(store, key));
  return live.map(({ number }) => number).sort((one, other) => one - other);
}

export const upTo = (count) => Array.from({ length: count }, (_, place) => place + 1);

/** Return the amounts in each state, in order. */
export function amountsByState(store) {
  const found = {};
  for (const { state, amount } of outputsIn(store)) {
    found[state] = [...(found[state] ?? []), amount].sort((one, other) => one - other);
  }
  return found;
}

/** Fail unless a wallet has these amounts in each state. */
export function assertAmounts(store, amounts) {
  assert.deepEqual(amountsByState(store), amounts);
}
