// How operations end: checking.js calls this with the service's answers. Pure: changes
// a draft only.
//
// Two tabs may settle one operation, and a request may be carried out long after it was
// given up. So "done" may follow "refused", and nothing follows "done".

import { parseRawOutput } from "../format/raw_output.js";
import { linkParts, namedAs } from "./links.js";
import { keyOf, keysOf, namedBy } from "./records.js";
import { numbersKeys, ownSeed, raiseNumbers } from "./seeds.js";
import { AT_REST, isUnderWay } from "./states.js";

const METADATA_NAMES = ["name", "description", "image"];

/**
 * Codes with which a service may answer a mint that it has carried out, if its limits
 * or tokens have changed since.
 */
export const DOUBTS = new Set([
  "invalid_request",
  "body_too_large",
  "idempotency_key_reused",
  "mint_token_required",
  "mint_token_wrong",
]);

/**
 * With these codes an operation was never carried out and never will be: the service
 * looks up the key before it checks inputs and outputs, and a request that names a
 * secret twice is never valid.
 */
export const SURE = new Set(["spent_input", "used_secret", "duplicate_secret"]);

/**
 * Return whether an operation that was refused with this code may still be carried out,
 * if it was sent before. Offers end by themselves.
 */
export const isInDoubt = (code = "") => !SURE.has(code) && !code.startsWith("offer_");

/**
 * Return the records that are read to settle these operations and to add found outputs.
 * The answer to a mint names the item.
 * @param {string[]} keys
 * @param {{itemId?: string, outputs?: string[], findings?: import("./finding.js").Finding[]}} [more]
 * @returns {import("./records.js").Plan}
 */
export function settlingPlan(keys, { itemId = "", outputs = [], findings = [] } = {}) {
  const touched = (operation) =>
    operation.kind === "mint" && itemId
      ? operation.body.outputs.map(({ secret }) => keyOf({ itemId, secret }))
      : namedBy(operation);
  const itemIds = itemId ? [itemId] : [];
  const counted = [...itemIds, ...findings.map((each) => each.itemId)];
  return {
    operations: keys,
    items: itemIds,
    outputs: [...outputs, ...findings.flatMap(({ found }) => found.map(keyOf))],
    seeds: "all",
    next: (slices) => ({
      outputs: keys.flatMap((key) => touched(slices.operations.existing(key))),
      numbers: numbersKeys(slices, counted),
    }),
  };
}

/**
 * Settle an operation that the service has carried out.
 * @param {import("./records.js").Draft} draft
 * @param {string} key
 * @param {{itemId?: string, spent?: Set<string>}} found the item of a mint, and which
 *   outputs are spent since
 */
export function settleDone(draft, key, { itemId, spent = new Set() }) {
  const operation = draft.operations.existing(key);
  if (operation.state === "done") return operation;
  const { kind, inputs, atDoor } = operation;
  if (atDoor)
    for (const input of inputs) draft.changeOutput(input, { collectedAt: draft.now });
  const outputs =
    kind === "mint" ? addMinted(draft, operation, itemId) : operation.outputs;
  if (kind !== "mint") keepAmounts(draft, operation, outputs);
  // A link that comes back from an offer keeps its number: nobody has seen it.
  if (kind === "withdraw" && inputs.length === 1)
    draft.changeOutput(outputs[0].key, namedAs(draft.outputs.existing(inputs[0])));
  const ended = { state: "done", code: undefined, endedAt: draft.now };
  const done = draft.putOperation({ itemId, ...operation, ...ended, outputs });
  for (const made of keysOf(outputs)) {
    // A look may have found it first, but no copy has made it.
    draft.changeOutput(made, { unknown: undefined, foundAt: undefined });
    const isLost =
      spent.has(made) && AT_REST.includes(draft.outputs.existing(made).state);
    if (isLost) draft.changeOutput(made, { spentElsewhere: true });
  }
  return done;
}

/** Settle operations that were carried out although they had been refused. */
export function settleLate(draft, late) {
  for (const { key, spent } of late) settleDone(draft, key, { spent });
}

/**
 * Settle an offer that the service has made: its inputs are ours until somebody
 * completes it.
 * @param {import("./records.js").Draft} draft
 * @param {string} key
 * @param {{offerId: string, expiresAt: number}} found
 */
export function settleOpen(draft, key, { offerId, expiresAt }) {
  const operation = draft.operations.existing(key);
  const { state, outputs } = operation;
  // A copy of this wallet may have begun another operation with the same number.
  const isAwaited = ({ key: made }) => draft.outputs.existing(made).state === "coming";
  if (state === "begun" || state === "open")
    keepAmounts(draft, operation, outputs.filter(isAwaited));
  if (state !== "begun") return operation;
  return draft.putOperation({ ...operation, state: "open", offerId, expiresAt });
}

/**
 * Settle an operation that the service has not carried out and never will.
 * @param {import("./records.js").Draft} draft
 * @param {string} key
 * @param {{code: string, from: string}} found `from` is the state when the service was
 *   asked: an operation that is open by now was not refused
 */
export function settleRefused(draft, key, { code, from }) {
  const operation = draft.operations.existing(key);
  if (operation.state !== from) return operation;
  const { kind, inputs } = operation;
  // Inputs of the offer that we have spent ourselves, or are about to.
  const isTaken = (input) => {
    const { state, spentElsewhere } = draft.outputs.existing(input);
    return state === "leaving" || (state === "spent" && !spentElsewhere);
  };
  const isTakenBack = from === "open" && inputs.some(isTaken);
  // Only this wallet, or a copy of it, can use the secret that a request waits for.
  const isCancelled = isTakenBack || (kind === "ask" && code === "offer_void");
  const why = isCancelled ? "offer_withdrawn" : code;
  return draft.putOperation({
    ...operation,
    state: "refused",
    code: why,
    endedAt: draft.now,
  });
}

/** Record the states that the service gives, except for outputs under way. */
export function settleChecked(draft, states, isUnclearFor) {
  for (const [key, state] of states) {
    const output = draft.outputs.existing(key);
    if (isUnderWay(output) || output.state === "spent") continue;
    const isUnclear = isUnclearFor(output) || undefined;
    const loss = state === "spent" ? { spentElsewhere: true, isUnclear } : {};
    draft.changeOutput(key, { unknown: state === "unknown" || undefined, ...loss });
  }
}

/**
 * Return a function that says whether a copy of this wallet, not somebody who claimed
 * it, may have spent an output: if outputs of a copy were found, if a look at all items
 * is the first to find it spent, or if its link may not have been handed out.
 * @param {import("./finding.js").Finding[]} findings
 * @param {boolean} [areOld] see checkSome of checking.js
 */
export function unclearBy(findings, areOld) {
  const byItem = new Map(findings.map((each) => [each.itemId, each]));
  return ({ itemId, mayBeGiven, state }) => {
    const { found = [], error, isUnclear, isLook } = byItem.get(itemId) ?? {};
    const isUnseen = isLook && state !== "given";
    const isMoved = found.length || error || isUnclear || isUnseen;
    return Boolean(isMoved || mayBeGiven || areOld);
  };
}

/**
 * Set the amounts of this operation: another copy of this wallet may have used a number
 * for another amount.
 */
function keepAmounts(draft, { body }, outputs) {
  const made = new Set(keysOf(outputs));
  for (const { amount, ...raw } of body.outputs.map(parseRawOutput)) {
    if (made.has(keyOf(raw))) draft.changeOutput(keyOf(raw), { amount });
  }
}

/**
 * Add the outputs of a mint, and the item, so that its name is known offline. A secret
 * that a person chose may be known to others, so it counts as handed out.
 */
function addMinted(draft, minting, itemId) {
  const { body, links, amount: total, own = [] } = minting;
  const item = draft.items.get(itemId);
  const { unit = item?.unit } = minting;
  // In the notation of the registry.
  const metadata = body.metadata ? JSON.stringify(body.metadata, METADATA_NAMES) : null;
  draft.putItem({ id: itemId, total, metadata, ...item, isMinted: true, unit });
  const parts = links ? linkParts(links, body.outputs.length) : body.outputs;
  // The secrets of a mint are random, but its links use up their numbers, too.
  const series = 1 + parts.filter(({ each }) => !each).length;
  if (links) raiseNumbers(draft, ownSeed(draft), itemId, { series });
  return body.outputs.map(({ amount, secret }, place) => {
    const given = own.includes(place) && { givenAt: draft.now };
    const about = { itemId, amount, secret, key: keyOf({ itemId, secret }), ...given };
    const output = { ...parts[place], ...about };
    // A link may have named this output before, with another amount.
    if (draft.outputs.get(output.key)) draft.changeOutput(output.key, output);
    else draft.addOutput(output);
    return { key: output.key, state: given ? "given" : "held" };
  });
}
