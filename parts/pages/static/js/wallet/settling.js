// How operations end. Pure: changes a draft only.
//
// Two tabs may settle one operation, and a request may be carried out long after it was
// given up. So that both are told the truth, "done" may follow "refused", and nothing
// follows "done".

import { parseRawOutput } from "../format/raw_output.js";
import { linkParts, namedAs } from "./links.js";
import { keyOf, keysOf, namedBy } from "./records.js";
import { numbersWanted, ownSeed, raiseNumbers } from "./seeds.js";
import { AT_REST, isUnderWay } from "./states.js";

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

/** Nothing was done, and never is: the key was looked up first, or no key matters. */
export const SURE = new Set(["spent_input", "used_secret", "duplicate_secret"]);

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
  const touched = (operation) =>
    operation.kind === "mint" && itemId
      ? operation.body.outputs.map(({ secret }) => keyOf({ itemId, secret }))
      : namedBy(operation);
  const itemIds = itemId ? [itemId] : [];
  const counted = [...itemIds, ...gathered.map((each) => each.itemId)];
  return {
    operations: keys,
    items: itemIds,
    outputs: [...outputs, ...gathered.flatMap(({ found }) => found.map(keyOf))],
    seeds: "all",
    next: (slices) => ({
      outputs: keys.flatMap((key) => touched(slices.operations.existing(key))),
      numbers: numbersWanted(slices, counted),
    }),
  };
}

/**
 * The service has carried the operation out.
 * @param {import("./records.js").Draft} draft
 * @param {string} key
 * @param {{itemId?: string, spent?: Set<string>}} found the item of a mint, and which outputs are
 *   spent since
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
  // A link that an offer gets back is the same link: nobody has seen it.
  if (kind === "withdraw" && inputs.length === 1)
    draft.changeOutput(outputs[0].key, namedAs(draft.outputs.existing(inputs[0])));
  const ended = { state: "done", code: undefined, endedAt: draft.now };
  const done = draft.putOperation({ itemId, ...operation, ...ended, outputs });
  for (const made of keysOf(outputs)) {
    // A look may have been the first to see it, but no copy has made it.
    draft.changeOutput(made, { unknown: undefined, foundAt: undefined });
    const isLost =
      spent.has(made) && AT_REST.includes(draft.outputs.existing(made).state);
    if (isLost) draft.changeOutput(made, { spentElsewhere: true });
  }
  return done;
}

/** These operations were carried out although they had been refused. */
export function settleLate(draft, late) {
  for (const { key, spent } of late) settleDone(draft, key, { spent });
}

/**
 * The service has made an offer: what it puts in is ours until somebody completes it.
 * @param {import("./records.js").Draft} draft
 * @param {string} key
 * @param {{offerId: string, expiresAt: number}} found
 */
export function settleOpen(draft, key, { offerId, expiresAt }) {
  const operation = draft.operations.existing(key);
  const { state, outputs } = operation;
  // A copy of this wallet may have begun another one with the same number.
  const isAwaited = ({ key: made }) => draft.outputs.existing(made).state === "coming";
  if (state === "begun" || state === "open")
    keepAmounts(draft, operation, outputs.filter(isAwaited));
  if (state !== "begun") return operation;
  return draft.putOperation({ ...operation, state: "open", offerId, expiresAt });
}

/**
 * The service has not carried the operation out, and said that it never will.
 * @param {import("./records.js").Draft} draft
 * @param {string} key
 * @param {{code: string, from: string}} found its state when the service was asked: one that is open
 *   by now was not refused
 */
export function settleRefused(draft, key, { code, from }) {
  const operation = draft.operations.existing(key);
  if (operation.state !== from) return operation;
  const { kind, inputs } = operation;
  // What it put in and we have spent ourselves, or are about to.
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

/** Note what the service says of outputs, but of those that are under way. */
export function settleChecked(draft, states, isUnclearFor) {
  for (const [key, found] of states) {
    const output = draft.outputs.existing(key);
    if (isUnderWay(output) || output.state === "spent") continue;
    const isUnclear = isUnclearFor(output) || undefined;
    const spent = found === "spent" ? { spentElsewhere: true, isUnclear } : {};
    draft.changeOutput(key, { unknown: found === "unknown" || undefined, ...spent });
  }
}

/**
 * Return what says of an output that is spent by nobody here whether a copy of this
 * wallet may have spent it: where it has made something of the item, where a look, maybe
 * after a restore, is the first to see that it is gone, and where a link may not even
 * have been handed out.
 * @param {import("./finding.js").Gathered[]} gathered
 * @param {boolean} [areOld] see checkSome of checking.js
 */
export function unclearBy(gathered, areOld) {
  const items = new Map(gathered.map((each) => [each.itemId, each]));
  return ({ itemId, mayBeGiven, state }) => {
    const { found = [], wrong, isUnclear, isLook } = items.get(itemId) ?? {};
    const isUnseen = isLook && state !== "given";
    const isMoved = found.length || wrong || isUnclear || isUnseen;
    return Boolean(isMoved || mayBeGiven || areOld);
  };
}

/** Another copy of this wallet may have meant to use a number for another amount. */
function keepAmounts(draft, { body }, outputs) {
  const made = new Set(keysOf(outputs));
  for (const { amount, ...raw } of body.outputs.map(parseRawOutput)) {
    if (made.has(keyOf(raw))) draft.changeOutput(keyOf(raw), { amount });
  }
}

/**
 * Add what the mint has made, and what is known of the item, so that its name is there
 * offline. A secret that a person made may have been told to others by now: it counts
 * as handed out.
 */
function addMinted(draft, minting, itemId) {
  const { body, links, amount: total, own = [] } = minting;
  const item = draft.items.get(itemId);
  const { unit = item?.unit } = minting;
  // As the registry writes it.
  const metadata = body.metadata ? JSON.stringify(body.metadata, METADATA_NAMES) : null;
  draft.putItem({ id: itemId, total, metadata, ...item, isMinted: true, unit });
  const parts = links ? linkParts(links, body.outputs.length) : body.outputs;
  // Its secrets are random: its links have used up their numbers all the same.
  const series = 1 + parts.filter(({ each }) => !each).length;
  if (links) raiseNumbers(draft, ownSeed(draft), itemId, { series });
  return body.outputs.map(({ amount, secret }, place) => {
    const given = own.includes(place) && { givenAt: draft.now };
    const about = { itemId, amount, secret, key: keyOf({ itemId, secret }), ...given };
    const output = { ...parts[place], ...about };
    // A link may have named it before, with another amount.
    if (draft.outputs.get(output.key)) draft.changeOutput(output.key, output);
    else draft.addOutput(output);
    return { key: output.key, state: given ? "given" : "held" };
  });
}
