// How operations end. Pure: changes a draft only.
//
// Two tabs may settle one operation, and a request may be carried out long after it was
// given up. So that both are told the truth, "done" may follow "refused", and nothing
// follows "done".

import { parseRawOutput } from "../format/raw_output.js";
import { linkParts } from "./links.js";
import { existing, hasFields, keyOf } from "./records.js";
import { numbersWanted, ownSeed, raiseNumbers } from "./seeds.js";

// What becomes of these depends on the operation that makes them.
const AWAITED = ["seen", "coming", "void"];

/** What is ours and not under way. */
export const AT_REST = ["held", "offered", "given"];

const METADATA_NAMES = ["name", "description", "image"];

/**
 * What a service may say of a mint that it has carried out, once its limits or tokens
 * are others.
 */
export const DOUBTS = new Set([
  "invalid_request",
  "body_too_large",
  "idempotency_key_reused",
  "mint_token_required",
  "mint_token_wrong",
]);

/** Refusals that are told after the key was looked up, for ever: nothing was done. */
export const SURE = new Set(["spent_input", "used_secret"]);

/**
 * Return whether what was refused with this code may be carried out all the same, where
 * it was sent before. Offers end by themselves.
 */
export const isInDoubt = (code = "") => !SURE.has(code) && !code.startsWith("offer_");

/**
 * Return what settling these operations looks at, and adding what was found besides. A
 * mint's answer names the item.
 * @param {string[]} keys
 * @param {{itemId?: string, outputs?: string[], gathered?: import("./finding.js").Gathered[]}} [found]
 * @returns {import("./records.js").Plan}
 */
export function settlingWanted(
  keys,
  { itemId = "", outputs = [], gathered = [] } = {},
) {
  const touched = ({ inputs, outputs: made, kind, body }) =>
    kind === "mint" && itemId
      ? body.outputs.map(({ secret }) => keyOf({ itemId, secret }))
      : [...inputs, ...made.map(({ key }) => key)];
  const itemIds = itemId ? [itemId] : [];
  const counted = [...itemIds, ...gathered.map((each) => each.itemId)];
  return {
    operations: keys,
    items: itemIds,
    outputs: [...outputs, ...gathered.flatMap(({ found }) => found.map(keyOf))],
    seeds: "all",
    next: (slices) => ({
      outputs: keys.flatMap((key) => touched(existing(slices.operations.get(key)))),
      numbers: numbersWanted(slices, counted),
    }),
  };
}

/**
 * The service has carried the operation out.
 * @param {import("./records.js").Draft} draft
 * @param {string} key
 * @param {{itemId?: string, spent?: Set<string>, now: number}} found the item of a mint, and which
 *   outputs are spent since
 */
export function settleDone(draft, key, { itemId, spent = new Set(), now }) {
  const operation = existing(draft.operations.get(key));
  if (operation.state === "done") return operation;
  const { kind, inputs, atDoor } = operation;
  const nothingElse = {
    before: undefined,
    spentElsewhere: undefined,
    isUnclear: undefined,
    neverHeld: undefined,
    unknown: undefined,
  };
  const taken = { state: "spent", operation: key, changedAt: now, ...nothingElse };
  for (const input of inputs) {
    draft.changeOutput(input, atDoor ? { ...taken, collectedAt: now } : taken);
  }
  const outputs =
    kind === "mint" ? addMinted(draft, operation, itemId, now) : operation.outputs;
  if (kind === "mint") countLinks(draft, operation, itemId);
  else keepAmounts(draft, operation);
  if (kind === "withdraw" && inputs.length === 1) keepName(draft, operation);
  for (const output of outputs) {
    const isSpent = spent.has(output.key);
    bringToEnd(draft, output, { operation: key, isSpent, now });
  }
  const ended = { state: "done", code: undefined, endedAt: now };
  return draft.put("operations", { itemId, ...operation, ...ended, outputs });
}

/** These operations were carried out although they had been refused. */
export function settleLate(draft, late, now) {
  for (const { key, spent } of late) settleDone(draft, key, { spent, now });
}

/**
 * The service has made an offer: what it puts in is ours until somebody completes it.
 * @param {import("./records.js").Draft} draft
 * @param {string} key
 * @param {{offerId: string, expiresAt: number, now: number}} found
 */
export function settleOpen(draft, key, { offerId, expiresAt, now }) {
  const operation = existing(draft.operations.get(key));
  if (operation.state === "begun" || operation.state === "open")
    awaitAgain(draft, operation, now);
  if (operation.state !== "begun") return operation;
  for (const input of operation.inputs) {
    const { state, operation: owner } = existing(draft.outputs.get(input));
    const isReserved = state === "leaving" && owner === key;
    const offered = { state: "offered", before: undefined, changedAt: now };
    if (isReserved) draft.changeOutput(input, offered);
  }
  return draft.put("operations", { ...operation, state: "open", offerId, expiresAt });
}

/** A copy of this wallet may have begun what was refused with the same number. */
function awaitAgain(draft, operation, now) {
  const { key, outputs } = operation;
  const isVoid = (output) => draft.outputs.get(output.key).state === "void";
  if (!outputs.some(isVoid)) return;
  keepAmounts(draft, operation);
  const awaited = { state: "coming", operation: key, changedAt: now };
  for (const output of outputs.filter(isVoid)) draft.changeOutput(output.key, awaited);
}

/**
 * The service has not carried the operation out, and said that it never will.
 * @param {import("./records.js").Draft} draft
 * @param {string} key
 * @param {{
 *   code: string, from: string, states: Map<string, string>, now: number,
 *   isUnclear: (output: any, wanted: string) => boolean,
 * }} found the states of its inputs; its own when the service was asked: one that is open by now was
 *   not refused; whether another copy of this wallet may have spent an output that is to be `wanted`
 */
export function settleRefused(draft, key, { code, from, states, isUnclear, now }) {
  const operation = existing(draft.operations.get(key));
  if (operation.state !== from) return operation;
  const isOpen = from === "open";
  // Only this wallet, or a copy of it, can use the secret that a request waits for.
  const isOfferCancelled = operation.kind === "ask" && code === "offer_void";
  let why = isOfferCancelled ? "offer_withdrawn" : code;
  for (const input of operation.inputs) {
    const output = existing(draft.outputs.get(input));
    const { state, operation: owner, before } = output;
    const found = { state: states.get(input), isUnclear };
    if (isOpen && isTakenBack(output)) why = "offer_withdrawn";
    // Another operation may have it by now, if a wallet was imported.
    if (state === "leaving" && owner === key) rest(draft, input, before, found, now);
    else if (state === "offered" && isOpen) rest(draft, input, "held", found, now);
    // It is being cancelled: there is no offer to go back to.
    else if (before === "offered" && isOpen)
      draft.changeOutput(input, { before: "held" });
  }
  for (const output of operation.outputs) {
    const { state, operation: owner } = existing(draft.outputs.get(output.key));
    // Another copy of this wallet may have begun one with the same numbers.
    if (state === "coming" && owner === key) {
      draft.changeOutput(output.key, { state: "void", changedAt: now });
    }
  }
  return draft.put("operations", {
    ...operation,
    state: "refused",
    code: why,
    endedAt: now,
  });
}

/** What an open offer put in and we have spent ourselves, or are about to. */
function isTakenBack({ state, before, spentElsewhere }) {
  return (state === "spent" && !spentElsewhere) || before === "offered";
}

/** The service was asked for outputs that are at rest here. */
export function settleChecked(draft, states, isUnclear, now) {
  for (const [key, found] of states) {
    const { state } = draft.outputs.get(key);
    if (AT_REST.includes(state))
      rest(draft, key, state, { state: found, isUnclear }, now);
  }
}

/**
 * Leave an output in this state, unless the service says that it is spent or unknown.
 */
function rest(draft, key, wanted, { state: found, isUnclear: isUnclearFor }, now) {
  const output = draft.outputs.get(key);
  // What was only seen is no loss.
  const neverHeld = wanted === "seen" || undefined;
  const isUnclear = isUnclearFor(output, wanted) || undefined;
  const taken = { state: "spent", spentElsewhere: true, neverHeld, isUnclear };
  const state = found === "spent" ? taken : { state: wanted };
  const told = {
    ...state,
    before: undefined,
    unknown: found === "unknown" || undefined,
  };
  if (hasFields(output, told)) return;
  draft.changeOutput(key, { ...told, changedAt: now });
}

/**
 * Bring an output of a done operation to its state, unless it has gone on from there.
 */
function bringToEnd(draft, { key, state: wanted }, { operation, isSpent, now }) {
  const { state, before } = draft.outputs.get(key);
  // A look may have been the first to see it, but no other copy has made it.
  draft.changeOutput(key, { neverHeld: undefined, foundAt: undefined });
  // Somebody has begun to claim it as a link, and knew no better.
  if (state === "leaving" && AWAITED.includes(before))
    draft.changeOutput(key, { before: wanted });
  if (!AWAITED.includes(state)) return;
  const fields = isSpent ? { state: "spent", spentElsewhere: true } : { state: wanted };
  // A request and what cancels it wait for one secret.
  const made = { operation, unknown: undefined, changedAt: now };
  draft.changeOutput(key, { ...fields, ...made });
}

/** Another copy of this wallet may have meant to use a number for another amount. */
function keepAmounts(draft, { body }) {
  for (const raw of body.outputs.map(parseRawOutput)) {
    draft.changeOutput(keyOf(raw), { amount: raw.amount });
  }
}

/** A link that an offer gets back is the same link: nobody has seen it. */
function keepName(draft, { inputs: [input], outputs: [output] }) {
  const { number, of, issue, note } = draft.outputs.get(input);
  if (number) draft.changeOutput(output.key, { number, of, issue, note });
}

/** The secrets of a mint are random: its links have used up their numbers all the same. */
function countLinks(draft, { links, body }, itemId) {
  if (!links) return;
  const made = linkParts(links, body.outputs.length).filter(({ each }) => !each);
  const series = 1 + made.length;
  raiseNumbers(draft, ownSeed(draft.slices), itemId, { series });
}

/**
 * Add what the mint has made, and what is known of the item, so that its name is there
 * offline. A secret that a person made may have been told to others by now: it counts
 * as handed out.
 */
function addMinted(draft, minting, itemId, now) {
  const { key: operation, body, links, amount: total, own = [] } = minting;
  const item = draft.items.get(itemId);
  const { unit = item?.unit } = minting;
  // As the registry writes it.
  const metadata = body.metadata ? JSON.stringify(body.metadata, METADATA_NAMES) : null;
  draft.putItem({ id: itemId, total, metadata, ...item, isMinted: true, unit });
  const parts = links ? linkParts(links, body.outputs.length) : body.outputs;
  return body.outputs.map(({ amount, secret }, place) => {
    const given = own.includes(place) && { givenAt: now };
    const about = { itemId, amount, secret, key: keyOf({ itemId, secret }), ...given };
    const output = { ...parts[place], ...about };
    // A link may have named it before, with another amount.
    if (draft.outputs.get(output.key)) draft.changeOutput(output.key, output);
    else {
      draft.addOutput({
        ...output,
        state: "coming",
        operation,
        createdAt: now,
        changedAt: now,
      });
    }
    return { key: output.key, state: given ? "given" : "held" };
  });
}
