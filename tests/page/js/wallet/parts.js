// Wallets on a fake service, for the tests of the wallet.

// Loaded when it is needed, which is to need no waiting here.
import "../../../../deeds/page/static/js/wallet/merging.js";
import { makeWallet } from "../../../../deeds/page/static/js/wallet/wallet.js";
import { offersOf } from "../../../../deeds/page/static/js/wallet/offers.js";
import { now } from "./clock.js";
import { fakeService } from "./fake_service.js";
import { memoryStore } from "./memory_store.js";

let secretsCount = 0;

export { now, pass } from "./clock.js";

/** Secrets that need no waiting: what runs in turns must wait for nothing else. */
export async function makeSecret() {
  secretsCount += 1;
  return `secret-${secretsCount}`;
}

export function walletOn(
  service,
  store = memoryStore(),
  api = service.api(),
  options = {},
) {
  return makeWallet({ store, api, now, makeSecret, ...options });
}

/** Return a wallet, and the verbs of its offers. */
export function makerOn(
  service,
  store = memoryStore(),
  api = service.api(),
  options = {},
) {
  const wallet = walletOn(service, store, api, {
    isStrong: async () => true,
    ...options,
  });
  return { service, store, wallet, offers: offersOf(wallet) };
}

/**
 * Return a wallet on this service and store whose requests meet the fate that it tells
 * of each.
 */
export function walletMeeting({ service, store }, fate) {
  return walletOn(service, store, service.api(fate));
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

/** Return the record of an operation's output at a place. */
export function madeBy(store, { operation }, place = 0) {
  return store.kept.outputs.get(operation.outputs[place].key);
}

/** Return the records of outputs that are held. */
export function heldIn(store) {
  return [...store.kept.outputs.values()].filter(({ state }) => state === "held");
}

/** Return the amounts in each state, in order. */
export function amountsByState(store) {
  const found = {};
  for (const { state, amount } of store.kept.outputs.values()) {
    found[state] = [...(found[state] ?? []), amount].sort((one, other) => one - other);
  }
  return found;
}
