// Asks the service what became of operations and outputs, and what another copy of this
// wallet may have made. It reads from the store what to ask, and writes nothing:
// checking.js records the answers.

import { formatRawOutput, parseRawOutput } from "../format/raw_output.js";
import { ask, isMaking, sendOperation } from "./api.js";
import { gather } from "./finding.js";
import {
  itemIdOf,
  keyOf,
  keysOf,
  namedBy,
  readOutputs,
  recordsWith,
} from "./records.js";
import { DOUBTS, isInDoubt, SURE } from "./settling.js";
import { AT_REST, isMade } from "./states.js";

/**
 * How long a service may still complete an operation: its clock may differ, or a pepper
 * may come back.
 */
const LATE_MS = 24 * 60 * 60_000;

/**
 * @typedef {import("./wallet.js").Parts} Parts
 * @typedef {import("./finding.js").Finding} Finding
 * @typedef {import("./records.js").OperationRecord} OperationRecord
 */

/** Return the records of a kind in any of these states. */
export const recordsIn = (/** @type {Parts} */ { store }, kind, ...states) =>
  recordsWith(store, kind, ...states.map((state) => ({ state })));

/** Return the states of outputs by their keys. */
export async function statesOf(/** @type {Parts} */ { api }, outputs) {
  const answers = await api.check(outputs.map(formatRawOutput));
  const states = outputs.map(({ key }, place) => [key, answers[place]]);
  // An output may be asked for with two amounts, of which the service knows one. Later
  // entries win.
  const isKnown = ([, state]) => Number(state !== "unknown");
  return new Map(states.sort((one, other) => isKnown(one) - isKnown(other)));
}

/**
 * Return the keys of outputs that are spent.
 * @param {Map<string, string>} states
 */
export function spentAmong(states) {
  return new Set(
    [...states].filter(([, state]) => state === "spent").map(([key]) => key),
  );
}

/**
 * Ask for the states of an operation's inputs, and whether it was carried out although
 * it was refused with this code. If it was, ask for the states of its outputs, too.
 * @param {Parts} parts
 * @param {OperationRecord} operation
 * @param {string} code for our own offer: `offer_` and its state
 * @param {boolean} [isFirst] the operation was never sent before
 */
export async function askWhatBecame(parts, operation, code, isFirst) {
  const inputs = await statesOf(
    parts,
    await readOutputs(parts.store, operation.inputs),
  );
  const isDone = isMaking(operation)
    ? code === "offer_completed"
    : await wasCarriedOut(parts, operation, code, spentAmong(inputs), isFirst);
  const outputs = isDone ? await statesOf(parts, await readMade(parts, operation)) : [];
  const states = new Map([...inputs, ...outputs]);
  return { isDone, states, spent: spentAmong(states) };
}

/** Return the records of an operation's outputs. */
export const readMade = ({ store }, { outputs }) => readOutputs(store, keysOf(outputs));

/**
 * Return whether a swap or a payment that was refused with this code has spent these
 * inputs. Outputs that exist prove nothing: another copy of this wallet may have used
 * the same numbers. The key proves it: once an input is spent, the same request can no
 * longer be carried out, and is answered as the first time or refused.
 */
async function wasCarriedOut(parts, operation, code, spent, isFirst) {
  if (SURE.has(code) || !spent.size) return false;
  const { answer, problem } = await ask(() =>
    sendOperation(parts.api, { ...operation, state: "begun" }),
  );
  if (answer) return true;
  if (!problem.isFinal) throw problem;
  // If the limits have changed, the key was not looked up. Then outputs that exist are
  // ours, whichever copy made them. If this operation was never sent before, only a
  // copy can have made them.
  const { inputs, outputs } = operation;
  const isTaken = !isFirst && spent.size === inputs.length && outputs.length > 0;
  if (!DOUBTS.has(problem.code) || !isTaken) return false;
  const states = await statesOf(parts, await readMade(parts, operation));
  return ![...states.values()].includes("unknown");
}

/**
 * Return the refused and open operations that were carried out after all, if one of
 * these outputs shows it: an input that is spent, or an output that exists.
 * @param {Parts} parts
 * @param {Set<string>} clues keys of outputs
 * @param {string} [except] the key of an operation to leave out
 */
export async function findLate(parts, clues, except) {
  if (!clues.size) return [];
  const late = [];
  for (const operation of await recordsIn(parts, "operations", "refused", "open")) {
    const { key, offerId, code } = operation;
    if (key === except || !namedBy(operation).some((each) => clues.has(each))) continue;
    // Our own offer may have been completed although it was said to have ended.
    const isOffer = isMaking(operation) && offerId;
    const { answer, problem } = isOffer
      ? await ask(() => parts.api.offer(offerId))
      : {};
    // A service that was restored may no longer know it.
    if (problem && !problem.isFinal) throw problem;
    const now = answer ? `offer_${answer.state}` : code;
    const { isDone, spent } = await askWhatBecame(parts, operation, now);
    if (isDone) late.push({ key, spent });
  }
  return late;
}

/**
 * Return the first output of each offer or refused operation that may be carried out by
 * now, with the amount in the request: another operation may use the same secret for
 * another amount.
 */
export async function awaited(/** @type {Parts} */ parts, ...states) {
  const isPossible = ({ kind, code, expiresAt, endedAt }) =>
    kind !== "mint" &&
    (expiresAt || isInDoubt(code)) &&
    (expiresAt ?? endedAt) + LATE_MS > parts.now();
  const asked = (await recordsIn(parts, "operations", ...states))
    .filter(isPossible)
    .flatMap(({ body }) => body.outputs.slice(0, 1))
    .map(parseRawOutput);
  const known = await readOutputs(parts.store, asked.map(keyOf));
  return asked
    .map(({ amount }, place) => ({ ...known[place], amount }))
    .filter(({ state }) => !AT_REST.includes(state));
}

/**
 * Return what another copy of this wallet has made, if a refusal points to one: a
 * number that was used, or an output of ours that is spent. At a door a guest is
 * waiting, who may have come twice: do not search if the ticket is spent, unless our
 * own request may have spent it.
 * @param {Parts} parts
 * @param {OperationRecord} operation
 * @param {string} code
 * @param {Set<string>} spent
 */
export async function gatherFor(parts, operation, code, spent) {
  const { key: refusedKey, atDoor, inputs, outputs } = operation;
  const lost = inputs.filter((key) => spent.has(key));
  // The output that the offer waits for is here, so this browser cancelled it.
  const isHere = async () => (await readMade(parts, operation)).some(isMade);
  if (code === "offer_void" && (await isHere())) return [];
  if (code === "used_secret" || code === "offer_void") {
    return gatherEach(parts, namedBy(operation), {
      refusedKey,
      branches: atDoor ? ["kept"] : undefined,
    });
  }
  // A copy may still have used its secrets; it is enough to ask for these.
  if (code === "offer_expired" && !lost.length)
    return gatherEach(parts, keysOf(outputs), { refusedKey, branches: [] });
  if (atDoor && SURE.has(code)) return [];
  return gatherEach(parts, lost, { refusedKey });
}

/**
 * Search for outputs of another copy of this wallet, which may have spent these
 * outputs. Links are claimed every day: if only links were spent, first probe the item,
 * see gather.
 * @param {Parts} parts
 * @param {import("./records.js").OutputRecord[]} lost
 */
export function gatherLost(parts, lost) {
  const isProbed = (itemId) =>
    lost.every((output) => output.itemId !== itemId || output.state === "given");
  return gatherEach(parts, keysOf(lost), { isProbed });
}

/**
 * Return the findings about the items of these outputs.
 * @returns {Promise<Finding[]>}
 */
async function gatherEach(parts, keys, options) {
  const findings = [];
  for (const itemId of new Set(keys.map(itemIdOf)))
    findings.push(await gather(parts, itemId, options));
  return findings;
}
