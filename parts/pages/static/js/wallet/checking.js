// Settles by what the service says: sends what was begun, checks outputs and offers, and
// writes down what was answered. What it asks for that is in questions.js.

import { ask, batchesOf, sendOperation } from "./api.js";
import { addFound, askForLook, LOOK } from "./finding.js";
import {
  askWhatBecame,
  awaited,
  findLate,
  gatherFor,
  gatherLost,
  readMade,
  recordsIn,
  spentAmong,
  statesOf,
} from "./questions.js";
import {
  itemIdOf,
  keyOf,
  keysOf,
  namedBy,
  readOutputs,
  recordsWith,
} from "./records.js";
import {
  DOUBTS,
  isInDoubt,
  settleChecked,
  settleDone,
  settleLate,
  settleOpen,
  settleRefused,
  settlingWanted,
  unclearBy,
} from "./settling.js";
import { AT_REST } from "./states.js";

/** What a service may take to commit what it began before an offer expired. */
const COMMIT_MS = 60_000;
/** How many offers that should have ended are asked for at once. */
const DUE_MAX = 16;

/**
 * @typedef {import("./wallet.js").Parts} Parts
 * @typedef {import("./finding.js").Gathered} Gathered
 * @typedef {import("./records.js").OperationRecord} OperationRecord
 * @typedef {{operation: OperationRecord, problem?: any}} Outcome what became of an operation: where it
 *   is still begun, `problem` says why, and it will be sent again
 */

/**
 * Return the checks of a wallet.
 * @param {Parts} parts
 */
export const makeChecks = (parts) => ({
  operationOf: (key) =>
    parts.store.read({ operations: [key] }, (slices) =>
      slices.operations.existing(key),
    ),

  finish: (key) => finish(parts, key),

  /**
   * Give up what a person at a door has scanned. What was never sent never will be; of
   * all else `finish` only asks whether it was carried out.
   */
  cancel: (key) =>
    parts.change(settlingWanted([key]), (draft) => {
      const operation = draft.operations.existing(key);
      if (operation.state !== "begun") return;
      const ended = { state: "refused", code: "cancelled", endedAt: draft.now };
      const isEnded = operation.isUnsent && ended;
      draft.putOperation({ ...operation, isCancelled: true, ...isEnded });
    }),

  /**
   * Send again what was begun, until the service says to wait; what was scanned at a
   * door is sent by that door alone.
   * @returns {Promise<Outcome[]>}
   */
  async finishBegun() {
    const outcomes = [];
    const begun = await recordsIn(parts, "operations", "begun");
    for (const { key, atDoor, isCancelled } of begun) {
      if (atDoor && !isCancelled) continue;
      const outcome = await finish(parts, key);
      outcomes.push(outcome);
      const { retryAfterS, code } = outcome.problem ?? {};
      // A missing pepper is the trouble of some items only.
      if (retryAfterS && code !== "scheme_unavailable") break;
    }
    return outcomes;
  },

  /**
   * Ask the service what of ours is still unspent, in batches, and settle the offers
   * that ended.
   * @throws {import("./api.js").ProblemError | import("./api.js").NoAnswerError} what was answered until then was
   *   written down
   */
  async checkStates() {
    const outputs = [
      ...(await recordsIn(parts, "outputs", ...AT_REST)),
      ...(await awaited(parts, "open", "refused")),
    ];
    for (const batch of batchesOf(outputs, parts.checkedMax))
      await checkSome(parts, batch);
    await endDue(parts);
  },

  checkRound: roundsOf(parts),

  /**
   * Ask for one output, the code of which is on the screen; of a weak secret the service
   * is not asked, see roundsOf.
   */
  async checkShown(key) {
    const [output] = await readOutputs(parts.store, [key]);
    const isAsked =
      AT_REST.includes(output.state) && (await parts.isStrong(output.secret));
    if (isAsked) await checkSome(parts, [output]);
  },
});

/**
 * Send an operation that was begun, again or first, or ask for an offer of ours that is
 * open; and settle it.
 * @param {Parts} parts
 * @returns {Promise<Outcome>}
 */
export async function finish(parts, key, isFirst = false) {
  // From now on it may have reached the service.
  const operation = await parts.change({ operations: [key] }, (draft) => {
    const { isUnsent, ...sent } = draft.operations.existing(key);
    return isUnsent ? draft.putOperation(sent) : sent;
  });
  const { kind, state, isCancelled } = operation;
  if (state !== "begun" && state !== "open") return { operation };
  if (isCancelled) return refuse(parts, operation, "cancelled");
  const { answer, problem } = await ask(() => sendOperation(parts.api, operation));
  if (answer && "offerId" in answer) return settleOffer(parts, operation, answer);
  if (answer) {
    const settled = await settle(parts, settleDone, key, { itemId: answer.itemId });
    // What was carried out before may be spent since.
    const check = async () =>
      checkSome(parts, await readMade(parts, settled.operation), { areOld: true });
    if (!isFirst) await ask(check);
    return settled;
  }
  const mayBeDone = kind === "mint" && !isFirst && DOUBTS.has(problem.code);
  if (mayBeDone || !problem.isFinal) return { operation, problem };
  return refuse(parts, operation, problem.code, isFirst);
}

/**
 * Settle what the service refused, unless it turns out to have been carried out before.
 * @param {Parts} parts
 * @param {OperationRecord} operation
 * @param {string} code
 * @param {boolean} [isFirst] it was never sent before
 * @returns {Promise<Outcome>}
 */
async function refuse(parts, operation, code, isFirst) {
  const { key, state: from } = operation;
  const { answer, problem } = await ask(async () => {
    const found = await askWhatBecame(parts, operation, code, isFirst);
    if (found.isDone) return found;
    const gathered = await gatherFor(parts, operation, code, found.spent);
    await keepEach(parts, gathered);
    return { ...found, gathered, late: await findLate(parts, found.spent, key) };
  });
  if (problem) return { operation, problem };
  const { isDone, ...found } = answer;
  if (isDone) return settle(parts, settleDone, key, found);
  // It may be under way still: the next visit looks for what it has made by then.
  if (isInDoubt(code)) await noteLook(parts, namedBy(operation).map(itemIdOf));
  const isUnclear = unclearBy(found.gathered);
  return settle(parts, settleRefused, key, { ...found, code, from, isUnclear });
}

/**
 * Settle an offer of ours by its state: a making that is sent again may have ended long
 * ago.
 */
async function settleOffer(parts, { key }, { state, offerId, expiresAt }) {
  const settled = await settle(parts, settleOpen, key, { offerId, expiresAt });
  const { operation } = settled;
  // That its output is there does not tell: a copy may have used its number.
  const isOver = state !== "expired" || parts.now() >= expiresAt + COMMIT_MS;
  const isOpen = state === "open" || operation.state !== "open" || !isOver;
  return isOpen ? settled : refuse(parts, operation, `offer_${state}`);
}

/**
 * Settle an operation by a rule of settling.js, with what was carried out late and what
 * was gathered.
 * @returns {Promise<Outcome>}
 */
function settle({ change }, rule, key, found) {
  const { itemId, late = [], gathered = [], states, isUnclear } = found;
  const wanted = settlingWanted([key, ...keysOf(late)], { itemId, gathered });
  return change(wanted, (draft) => {
    settleLate(draft, late);
    const operation = rule(draft, key, found);
    addFound(draft, gathered);
    // Of a refusal, and after what was found: that is known to be ours.
    if (isUnclear) settleChecked(draft, states, isUnclear);
    return { operation };
  });
}

/**
 * Ask for outputs that are at rest or awaited here, and write down what was gathered of
 * their items, or is now.
 * @param {Parts} parts
 * @param {any[]} outputs
 * @param {{gatheredBefore?: Gathered[], areOld?: boolean}} [known] they `areOld` where they were made
 *   some time ago, and only now are here
 */
async function checkSome(parts, outputs, { gatheredBefore, areOld } = {}) {
  const { change } = parts;
  const states = await statesOf(parts, outputs);
  const isAtRest = ({ state }) => AT_REST.includes(state);
  const isThere = ({ key }) => states.get(key) !== "unknown";
  const made = keysOf(outputs.filter((output) => !isAtRest(output) && isThere(output)));
  const found = (gatheredBefore ?? []).flatMap((each) => each.found.map(keyOf));
  const late = await findLate(
    parts,
    new Set([...spentAmong(states), ...made, ...found]),
  );
  // What these have taken is not lost, and what they have made need not be found.
  const isLate = late.length > 0;
  if (isLate)
    await change(settlingWanted(keysOf(late)), (draft) => settleLate(draft, late));
  const left = isLate ? await readOutputs(parts.store, keysOf(outputs)) : outputs;
  const isNews = ({ key, unknown }) => unknown || states.get(key) !== "unspent";
  const known = left.filter((output) => isAtRest(output) && isNews(output));
  const news = new Map(known.map(({ key }) => [key, states.get(key)]));
  const lost = known.filter(({ key }) => news.get(key) === "spent");
  if (lost.length && !gatheredBefore) await finishBegunOf(parts, lost);
  const gathered = gatheredBefore ?? (await gatherLost(parts, lost));
  if (!gatheredBefore) await keepEach(parts, gathered);
  const named = { outputs: [...news.keys()], gathered };
  const write = (draft) => {
    addFound(draft, gathered);
    settleChecked(draft, news, unclearBy(gathered, areOld));
  };
  if (news.size + gathered.length > 0) await change(settlingWanted([], named), write);
  // Another copy of this wallet may have used the secrets of an offer that is open.
  const isUsed = ({ outputs: own }) => own.some(({ key }) => made.includes(key));
  await endOpen(parts, isUsed);
}

/**
 * Finish what is under way of the items of these outputs, as far as it can be now: else
 * what that has made would be taken for a copy's.
 */
async function finishBegunOf(parts, outputs) {
  const itemIds = new Set(outputs.map(({ itemId }) => itemId));
  const isOfThese = (key) => itemIds.has(itemIdOf(key));
  for (const operation of await recordsIn(parts, "operations", "begun"))
    if (!operation.isUnsent && namedBy(operation).some(isOfThese))
      await finish(parts, operation.key);
}

/** Where a copy has made something of an item, it has spent what it was made of. */
async function keepEach(parts, gathered) {
  for (const each of gathered) {
    if (each.found.length) await keepGathered(parts, each);
    // The copy may go on meanwhile, or have moved units: the next visit looks once more.
    if (each.found.length || each.wrong) await noteLook(parts, [each.itemId]);
  }
}

const noteLook = ({ change }, itemIds) =>
  change({ notes: [LOOK] }, (draft) => askForLook(draft, itemIds));

/**
 * Write down what was gathered of an item, and ask for all of ours there. What is spent
 * by then, a copy of this wallet may have spent.
 * @param {Parts} parts
 * @param {Gathered} gathered
 */
export async function keepGathered(parts, gathered) {
  const { itemId } = gathered;
  const states = AT_REST.map((state) => ({ itemId, state }));
  const asked = await recordsWith(parts.store, "outputs", ...states);
  await checkSome(parts, asked, { gatheredBefore: [gathered] });
}

/**
 * Ask what became of our open offers, of all or of those that are due.
 * @param {Parts} parts
 * @param {(offer: OperationRecord) => boolean} [isDue]
 */
export async function endOpen(parts, isDue = () => true, countMax = Infinity) {
  const open = (await recordsIn(parts, "operations", "open")).filter(isDue);
  for (const { key } of open.slice(0, countMax)) {
    const { problem } = await finish(parts, key);
    if (problem) throw problem;
  }
}

/**
 * Settle the open offers that should have ended: by their time, or because an input is
 * spent, or one of its outputs made to cancel it.
 */
async function endDue(parts) {
  const open = await recordsIn(parts, "operations", "open");
  const known = await readOutputs(parts.store, open.flatMap(namedBy));
  const states = new Map(known.map(({ key, state }) => [key, state]));
  const isDue = ({ expiresAt = 0, inputs, outputs }) =>
    parts.now() >= expiresAt + COMMIT_MS ||
    inputs.some((key) => states.get(key) === "spent") ||
    outputs.some(({ key }) => states.get(key) !== "coming");
  await endOpen(parts, isDue, DUE_MAX);
}

/** @param {Parts} parts */
function roundsOf(parts) {
  const { isStrong, checkedMax } = parts;
  /** The keys of what was asked for since all was. */
  const asked = new Set();

  /**
   * Ask once for links and offers that wait, and what was shown to a door, the newest
   * first of those that the last rounds have left. Of weak secrets the service is not
   * asked: each question is a guess to it.
   * @throws {import("./api.js").ProblemError | import("./api.js").NoAnswerError} as checkStates
   */
  return async function checkRound() {
    const ours = await recordsIn(parts, "outputs", ...AT_REST);
    const isWaiting = ({ state, shownAt }) => state !== "held" || shownAt;
    const all = [...ours.filter(isWaiting), ...(await awaited(parts, "open"))];
    const left = all.filter(({ key }) => !asked.has(key));
    const next = [];
    for (const output of left.sort(newestFirst)) {
      if (next.length < checkedMax && (await isStrong(output.secret)))
        next.push(output);
    }
    if (next.length) await checkSome(parts, next);
    keysOf(next).forEach((key) => asked.add(key));
    if (next.length < checkedMax) asked.clear();
    await endDue(parts);
  };
}

function newestFirst(one, other) {
  const since = ({ givenAt, createdAt }) => givenAt ?? createdAt;
  return since(other) - since(one);
}
