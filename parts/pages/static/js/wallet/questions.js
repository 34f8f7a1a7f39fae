// Asks the service what became of operations and outputs, and what another copy of this
// wallet may have made. It reads the store for what to ask and writes nothing: what was
// answered is written down by checking.js.

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
 * What a service may still complete, by another clock or after a pepper has come back.
 */
const LATE_MS = 24 * 60 * 60_000;

/**
 * @typedef {import("./wallet.js").Parts} Parts
 * @typedef {import("./finding.js").Gathered} Gathered
 * @typedef {import("./records.js").OperationRecord} OperationRecord
 */

/** Return the records of a kind that are in one of these states. */
export const recordsIn = (/** @type {Parts} */ { store }, kind, ...states) =>
  recordsWith(store, kind, ...states.map((state) => ({ state })));

/** Return the states of outputs by their keys. */
export async function statesOf(/** @type {Parts} */ { api }, outputs) {
  const answers = await api.check(outputs.map(formatRawOutput));
  const told = outputs.map(({ key }, place) => [key, answers[place]]);
  // Of one that is asked for in two amounts the service knows one.
  const isKnown = ([, state]) => Number(state !== "unknown");
  return new Map(told.sort((one, other) => isKnown(one) - isKnown(other)));
}

/**
 * Return the keys of those that the service calls spent.
 * @param {Map<string, string>} states
 */
export function spentAmong(states) {
  return new Set(
    [...states].filter(([, state]) => state === "spent").map(([key]) => key),
  );
}

/**
 * Ask for the states of an operation's inputs, and whether it was carried out although
 * it was refused with this code; if so, for those of what it has made.
 * @param {Parts} parts
 * @param {OperationRecord} operation
 * @param {string} code of an offer of ours `offer_` and its state
 * @param {boolean} [isFirst] it was never sent before
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

/** Return the records of what an operation makes. */
export const readMade = ({ store }, { outputs }) => readOutputs(store, keysOf(outputs));

/**
 * Return whether a swap, or a payment, that was refused with this code has spent these
 * inputs. That its outputs are there does not tell: another copy of this wallet may
 * have used the same numbers. Its key does: once an input is spent, the same request
 * cannot be carried out any more, and is answered as the first time or refused.
 */
async function wasCarriedOut(parts, operation, code, spent, isFirst) {
  if (SURE.has(code) || !spent.size) return false;
  const { answer, problem } = await ask(() =>
    sendOperation(parts.api, { ...operation, state: "begun" }),
  );
  if (answer) return true;
  if (!problem.isFinal) throw problem;
  // Where the limits are others now, its key was not looked up. What is there is ours,
  // whichever copy has made it; but where this was never sent before, a copy has.
  const { inputs, outputs } = operation;
  const isTaken = !isFirst && spent.size === inputs.length && outputs.length > 0;
  if (!DOUBTS.has(problem.code) || !isTaken) return false;
  const states = await statesOf(parts, await readMade(parts, operation));
  return ![...states.values()].includes("unknown");
}

/**
 * Return the refused and open operations that were carried out after all, where one of
 * these outputs tells: an input that is spent, or something made that is there.
 * @param {Parts} parts
 * @param {Set<string>} telling
 * @param {string} [except] the key of an operation
 */
export async function findLate(parts, telling, except) {
  if (!telling.size) return [];
  const found = [];
  for (const operation of await recordsIn(parts, "operations", "refused", "open")) {
    const { key, offerId, code } = operation;
    if (key === except || !namedBy(operation).some((each) => telling.has(each)))
      continue;
    // An offer of ours that was called ended may have been completed.
    const isOffer = isMaking(operation) && offerId;
    const { answer, problem } = isOffer
      ? await ask(() => parts.api.offer(offerId))
      : {};
    // A service that was restored may no longer know it.
    if (problem && !problem.isFinal) throw problem;
    const now = answer ? `offer_${answer.state}` : code;
    const { isDone, spent } = await askWhatBecame(parts, operation, now);
    if (isDone) found.push({ key, spent });
  }
  return found;
}

/**
 * Return the first output of each offer, or refusal, that may be carried out by now, in
 * the amount that it asked for: another operation may have named its number too.
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
 * Return what another copy of this wallet has made, where a refusal points to one: a
 * number that was used, or something that is spent and was ours. At a door somebody
 * waits, who may have come twice: there it is enough that the ticket is spent. But not
 * where it may be our own request that has spent it.
 * @param {Parts} parts
 * @param {OperationRecord} operation
 * @param {string} code
 * @param {Set<string>} spent
 */
export async function gatherFor(parts, operation, code, spent) {
  const { key: refusedKey, atDoor, inputs, outputs } = operation;
  const lost = inputs.filter((key) => spent.has(key));
  // What an offer waits for is here: it was cancelled in this browser.
  const isHere = async () => (await readMade(parts, operation)).some(isMade);
  if (code === "offer_void" && (await isHere())) return [];
  if (code === "used_secret" || code === "offer_void") {
    return gatherEach(parts, namedBy(operation), {
      refusedKey,
      branches: atDoor ? ["kept"] : undefined,
    });
  }
  // A copy may have used its secrets all the same: it is enough to ask for them.
  if (code === "offer_expired" && !lost.length)
    return gatherEach(parts, keysOf(outputs), { refusedKey, branches: [] });
  if (atDoor && SURE.has(code)) return [];
  return gatherEach(parts, lost, { refusedKey });
}

/**
 * Before it is said who has spent something of ours, look for what another copy of this
 * wallet has made of it. Links are claimed every day: of them it is enough to ask
 * whether anything was kept.
 * @param {Parts} parts
 * @param {import("./records.js").OutputRecord[]} lost
 */
export function gatherLost(parts, lost) {
  const isProbed = (itemId) =>
    lost.every((output) => output.itemId !== itemId || output.state === "given");
  return gatherEach(parts, keysOf(lost), { isProbed });
}

/**
 * Return what is found of these outputs' items.
 * @returns {Promise<Gathered[]>}
 */
async function gatherEach(parts, keys, options) {
  const gathered = [];
  for (const itemId of new Set(keys.map(itemIdOf)))
    gathered.push(await gather(parts, itemId, options));
  return gathered;
}
