// Sends operations that have begun, checks outputs and offers, and records the
// service's answers. questions.js decides what to ask.

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
  isListedAsUsed,
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
  settlingPlan,
  unclearBy,
} from "./settling.js";
import { AT_REST } from "./states.js";

/** How long a service may take to commit what it began before an offer expired. */
const COMMIT_MS = 60_000;
/** Maximum number of offers queried at once because they should have ended. */
const DUE_MAX = 16;

/**
 * @typedef {import("./wallet.js").Parts} Parts
 * @typedef {import("./finding.js").Finding} Finding
 * @typedef {import("./records.js").OperationRecord} OperationRecord
 * @typedef {{operation: OperationRecord, problem?: any}} Outcome what became of an
 *   operation; if it is still begun, `problem` says why, and it will be sent again
 */

/**
 * Return functions that check a wallet against the service.
 * @param {Parts} parts
 */
export const makeChecks = (parts) => ({
  operationOf: (key) =>
    parts.store.read({ operations: [key] }, (slices) =>
      slices.operations.existing(key),
    ),

  finish: (key) => finish(parts, key),

  /**
   * Give up a claim that was scanned at a door. If it was never sent, it never will be;
   * otherwise `finish` only asks whether it was carried out.
   */
  cancel: (key) =>
    parts.change(settlingPlan([key]), (draft) => {
      const operation = draft.operations.existing(key);
      if (operation.state !== "begun") return;
      const ended = { state: "refused", code: "cancelled", endedAt: draft.now };
      const isEnded = operation.isUnsent && ended;
      draft.putOperation({ ...operation, isCancelled: true, ...isEnded });
    }),

  /**
   * Send again the operations that have begun, until the service says to wait. A claim
   * that was scanned at a door is sent by that door only.
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
      // A missing pepper affects some items only.
      if (retryAfterS && code !== "scheme_unavailable") break;
    }
    return outcomes;
  },

  /**
   * Ask the service in batches which of our outputs are still unspent, and settle the
   * offers that have ended.
   * @throws {import("./api.js").ProblemError | import("./api.js").NoAnswerError}
   *   answers received until then are recorded
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

  /**
   * Query the held outputs of an item that lists say were used, before the lists are
   * forgotten.
   */
  async checkListed(itemId) {
    const held = await recordsWith(parts.store, "outputs", { itemId, state: "held" });
    const listed = held.filter(isListedAsUsed);
    for (const batch of batchesOf(listed, parts.checkedMax))
      await checkSome(parts, batch);
  },

  checkRound: roundsOf(parts),

  /**
   * Query the state of the output whose code is on the screen, unless its secret is
   * weak, see roundsOf.
   */
  async checkShown(key) {
    const [output] = await readOutputs(parts.store, [key]);
    const isAsked =
      AT_REST.includes(output.state) && (await parts.isStrong(output.secret));
    if (isAsked) await checkSome(parts, [output]);
  },
});

/**
 * Send an operation that has begun, or query our own offer if it is open, and settle
 * it.
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
    // An operation that was carried out earlier may have outputs that are spent since.
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
 * Settle a refused operation, unless it turns out that it was carried out before.
 * @param {Parts} parts
 * @param {OperationRecord} operation
 * @param {string} code
 * @param {boolean} [isFirst] the operation was never sent before
 * @returns {Promise<Outcome>}
 */
async function refuse(parts, operation, code, isFirst) {
  const { key, state: from } = operation;
  const { answer, problem } = await ask(async () => {
    const end = await askWhatBecame(parts, operation, code, isFirst);
    if (end.isDone) return end;
    const findings = await gatherFor(parts, operation, code, end.spent);
    await keepEach(parts, findings);
    return { ...end, findings, late: await findLate(parts, end.spent, key) };
  });
  if (problem) return { operation, problem };
  const { isDone, ...facts } = answer;
  if (isDone) return settle(parts, settleDone, key, facts);
  // It may still be under way, so the next visit looks for what it has made by then.
  if (isInDoubt(code)) await noteLook(parts, namedBy(operation).map(itemIdOf));
  const isUnclear = unclearBy(facts.findings);
  return settle(parts, settleRefused, key, { ...facts, code, from, isUnclear });
}

/**
 * Settle our own offer by its state. If the request that made it is sent again, the
 * offer may have ended long ago.
 */
async function settleOffer(parts, { key }, { state, offerId, expiresAt }) {
  const settled = await settle(parts, settleOpen, key, { offerId, expiresAt });
  const { operation } = settled;
  // The offer may not have been completed even if its output exists: a copy may have
  // used the same secret.
  const isOver = state !== "expired" || parts.now() >= expiresAt + COMMIT_MS;
  const isOpen = state === "open" || operation.state !== "open" || !isOver;
  return isOpen ? settled : refuse(parts, operation, `offer_${state}`);
}

/**
 * Settle an operation by a rule of settling.js, which gets these facts. Settle also
 * operations that were carried out late, and add the outputs that were found.
 * @returns {Promise<Outcome>}
 */
function settle({ change }, rule, key, facts) {
  const { itemId, late = [], findings = [], states, isUnclear } = facts;
  const plan = settlingPlan([key, ...keysOf(late)], { itemId, findings });
  return change(plan, (draft) => {
    settleLate(draft, late);
    const operation = rule(draft, key, facts);
    addFound(draft, findings);
    // Only refusals set `isUnclear`. Do this after addFound, whose outputs are known to
    // be ours.
    if (isUnclear) settleChecked(draft, states, isUnclear);
    return { operation };
  });
}

/**
 * Query the states of outputs that are at rest or awaited. Record the states, and what
 * was found of their items: `findingsBefore`, else the result of a search.
 * @param {Parts} parts
 * @param {any[]} outputs
 * @param {{findingsBefore?: Finding[], areOld?: boolean}} [known] `areOld` if the
 *   outputs were made some time ago and are recorded only now
 */
async function checkSome(parts, outputs, { findingsBefore, areOld } = {}) {
  const { change } = parts;
  const states = await statesOf(parts, outputs);
  const isAtRest = ({ state }) => AT_REST.includes(state);
  const isThere = ({ key }) => states.get(key) !== "unknown";
  const made = keysOf(outputs.filter((output) => !isAtRest(output) && isThere(output)));
  const found = (findingsBefore ?? []).flatMap((each) => each.found.map(keyOf));
  const clues = new Set([...spentAmong(states), ...made, ...found]);
  const late = await findLate(parts, clues);
  // Outputs that late operations have spent are not lost, and outputs that they have
  // made need no search.
  let left = outputs;
  if (late.length) {
    await change(settlingPlan(keysOf(late)), (draft) => settleLate(draft, late));
    left = await readOutputs(parts.store, keysOf(outputs));
  }
  const isNews = ({ key, unknown }) => unknown || states.get(key) !== "unspent";
  const known = left.filter((output) => isAtRest(output) && isNews(output));
  const news = new Map(known.map(({ key }) => [key, states.get(key)]));
  const lost = known.filter(({ key }) => news.get(key) === "spent");
  const findings = findingsBefore ?? (await searchFor(parts, lost));
  const plan = settlingPlan([], { outputs: [...news.keys()], findings });
  const write = (draft) => {
    addFound(draft, findings);
    settleChecked(draft, news, unclearBy(findings, areOld));
  };
  if (news.size + findings.length > 0) await change(plan, write);
  // Another copy of this wallet may have used the secrets of an open offer.
  const isUsed = ({ outputs: own }) => own.some(({ key }) => made.includes(key));
  await endOpen(parts, isUsed);
}

/** Search for what a copy of this wallet has made of lost outputs, and record it. */
async function searchFor(parts, lost) {
  if (!lost.length) return [];
  await finishBegunOf(parts, lost);
  const findings = await gatherLost(parts, lost);
  await keepEach(parts, findings);
  return findings;
}

/**
 * Finish operations on the items of these outputs, as far as possible now. Otherwise
 * their outputs would seem to be made by a copy of this wallet.
 */
async function finishBegunOf(parts, outputs) {
  const itemIds = new Set(outputs.map(({ itemId }) => itemId));
  const isOfThese = (key) => itemIds.has(itemIdOf(key));
  for (const operation of await recordsIn(parts, "operations", "begun"))
    if (!operation.isUnsent && namedBy(operation).some(isOfThese))
      await finish(parts, operation.key);
}

/**
 * Record the findings about each item. If a copy has made an output, it has spent those
 * that it was made from.
 */
async function keepEach(parts, findings) {
  for (const each of findings) {
    if (each.found.length) await keepFinding(parts, each);
    // The copy may go on, or have moved units meanwhile, so the next visit looks again.
    if (each.found.length || each.error) await noteLook(parts, [each.itemId]);
  }
}

const noteLook = ({ change }, itemIds) =>
  change({ notes: [LOOK] }, (draft) => askForLook(draft, itemIds));

/**
 * Record the findings about an item, and query all our outputs of it: a copy of this
 * wallet may have spent some.
 * @param {Parts} parts
 * @param {Finding} finding
 */
export async function keepFinding(parts, finding) {
  const { itemId } = finding;
  const states = AT_REST.map((state) => ({ itemId, state }));
  const asked = await recordsWith(parts.store, "outputs", ...states);
  await checkSome(parts, asked, { findingsBefore: [finding] });
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
 * Settle open offers that should have ended: their time is over, an input is spent, or
 * one of their outputs was made to cancel them.
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
  /** Keys of the outputs that were asked for since the last complete pass. */
  const asked = new Set();

  /**
   * Query one batch of links and offers that wait, and of outputs whose codes were
   * shown to a door. The newest that earlier rounds did not query come first. Skip weak
   * secrets, because the service counts each query of one as a guess.
   * @throws {import("./api.js").ProblemError | import("./api.js").NoAnswerError} as
   *   checkStates
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
