// Settles by what the service says: sends what was begun, and checks outputs and offers.
// What it asks for that is in questions.js.

import { batchesOf } from "./api.js";
import { addFound } from "./finding.js";
import { askForLook } from "./look.js";
import {
  ask,
  isMaking,
  isRefusal,
  LOOK_NOTE,
  makeQuestions,
  spentAmong,
} from "./questions.js";
import {
  existing,
  itemIdOf,
  keyOf,
  keysOf,
  readOutputs,
  recordsWith,
} from "./records.js";
import {
  AT_REST,
  DOUBTS,
  isInDoubt,
  settleChecked,
  settleDone,
  settleLate,
  settleOpen,
  settleRefused,
  settlingWanted,
} from "./settling.js";

/** What a service may take to commit what it began before an offer expired. */
const COMMIT_MS = 60_000;
/** How many offers that should have ended are asked for at once. */
const DUE_MAX = 16;

/**
 * What became of an operation. Where it is still begun, `problem` says why; it will be
 * sent again.
 * @typedef {{operation: import("./records.js").OperationRecord, problem?: any}} Outcome
 *
 * Return the checks of a wallet, see wallet.js.
 * @param {object} parts
 * @param {Pick<import("./store.js").Store, "read">} parts.store
 * @param {import("./api.js").Api} parts.api
 * @param {(wanted: import("./records.js").Plan,
 *   apply: (draft: import("./records.js").Draft) => any) => Promise<any>} parts.change
 * @param {(secret: string) => Promise<boolean>} parts.isStrong
 * @param {ReturnType<typeof import("./finding.js").makeGather>} parts.gather
 * @param {number} parts.checkedMax how many outputs are asked for at once
 * @param {() => number} parts.now
 */
export function makeChecks({ store, api, change, isStrong, gather, checkedMax, now }) {
  const questions = makeQuestions({ store, api, change, gather, now });
  const { look, wasCarriedOut, findLate, statesOf, recordsIn, awaited } = questions;
  const { send, gatherFor, gatherLost } = questions;
  /** The output that the last round ended with. */
  let roundEnd = null;

  const operationOf = (key) =>
    store.read({ operations: [key] }, ({ operations }) =>
      existing(operations.get(key)),
    );

  /**
   * Send an operation that was begun, again or first, or ask for an offer of ours that
   * is open; and settle it.
   * @returns {Promise<Outcome>}
   */
  async function finish(key, isFirst = false) {
    const operation = await setOut(key);
    const { kind, state, isCancelled } = operation;
    if (state !== "begun" && state !== "open") return { operation };
    if (isCancelled) return refuse(operation, "cancelled");
    const { answer, problem } = await ask(() => send(operation));
    if (answer && "offerId" in answer) return settleOffer(operation, answer);
    if (answer) {
      const settled = await settle(settleDone, key, { itemId: answer.itemId });
      // What was carried out before may be spent since.
      if (!isFirst) await ask(() => checkMade(settled.operation));
      return settled;
    }
    const mayBeDone = kind === "mint" && !isFirst && DOUBTS.has(problem.code);
    if (mayBeDone || !isRefusal(problem)) return { operation, problem };
    return refuse(operation, problem.code);
  }

  /** Return an operation; from now on it may have reached the service. */
  const setOut = (key) =>
    change({ operations: [key] }, (draft) => {
      const { isUnsent, ...operation } = existing(draft.operations.get(key));
      return isUnsent ? draft.put("operations", operation) : operation;
    });

  /**
   * Give up what a person at a door has scanned. What was never sent never will be; of
   * all else `finish` only asks whether it was carried out.
   */
  const cancel = (key) =>
    change(settlingWanted([key]), (draft) => {
      const operation = existing(draft.operations.get(key));
      if (operation.state !== "begun") return;
      draft.put("operations", { ...operation, isCancelled: true });
      if (!operation.isUnsent) return;
      settleRefused(draft, key, {
        code: "cancelled",
        from: "begun",
        states: new Map(),
        isUnclear: () => false,
        now: now(),
      });
    });

  /**
   * Settle what the service refused, unless it turns out to have been carried out
   * before.
   */
  async function refuse(operation, code) {
    const { key, state: from } = operation;
    const { answer, problem } = await ask(async () => {
      const found = await look(operation, async (spent) =>
        isMaking(operation)
          ? code === "offer_completed"
          : wasCarriedOut(operation, code, spent),
      );
      if (found.isDone) return { ...found, late: [], gathered: [] };
      const gathered = await gatherFor(operation, code, found.spent);
      await keepEach(gathered);
      return { ...found, gathered, late: await findLate(found.spent, key) };
    });
    if (problem) return { operation, problem };
    const { isDone, spent, states, late, gathered } = answer;
    if (isDone) return settle(settleDone, key, { spent });
    // It may be under way still: the next visit looks for what it has made by then.
    if (isInDoubt(code)) {
      const itemIds = [...operation.inputs, ...keysOf(operation.outputs)].map(itemIdOf);
      await change(LOOK_NOTE, (draft) => askForLook(draft, itemIds));
    }
    const isUnclear = unclearBy(gathered);
    const told = { code, from, states, isUnclear };
    return settle(settleRefused, key, told, late, gathered);
  }

  /**
   * Settle an offer of ours by its state: a making that is sent again may have ended
   * long ago.
   */
  async function settleOffer({ key }, { state, offerId, expiresAt }) {
    const { operation } = await settle(settleOpen, key, { offerId, expiresAt });
    // That its output is there does not tell: a copy may have used its number.
    const isOver = state !== "expired" || now() >= expiresAt + COMMIT_MS;
    const isOpen = state === "open" || operation.state !== "open" || !isOver;
    return isOpen ? { operation } : refuse(operation, `offer_${state}`);
  }

  const settle = async (rule, key, found, late = [], gathered = []) => {
    const { itemId } = found;
    const wanted = settlingWanted([key, ...keysOf(late)], { itemId, gathered });
    return {
      operation: await change(wanted, (draft) => {
        settleLate(draft, late, now());
        const operation = rule(draft, key, { ...found, now: now() });
        addFound(draft, gathered, now());
        return operation;
      }),
    };
  };

  /**
   * Send again what was begun, until the service says to wait; what was scanned at a
   * door is sent by that door alone.
   * @returns {Promise<Outcome[]>}
   */
  async function finishBegun() {
    const outcomes = [];
    for (const { key, atDoor, isCancelled } of await recordsIn("operations", "begun")) {
      if (atDoor && !isCancelled) continue;
      outcomes.push(await finish(key));
      const { retryAfterS, code } = outcomes.at(-1)?.problem ?? {};
      // A missing pepper is the trouble of some items only.
      if (retryAfterS && code !== "scheme_unavailable") break;
    }
    return outcomes;
  }

  /**
   * Ask for outputs that are at rest or awaited here, and write down what was gathered
   * of their items, or is now; return whether anything has changed.
   * @param {any[]} outputs
   * @param {{gatheredBefore?: import("./finding.js").Gathered[], areOld?: boolean}} [known] they
   *   `areOld` where they were made some time ago, and only now are here
   */
  async function checkSome(outputs, { gatheredBefore, areOld } = {}) {
    const states = await statesOf(outputs);
    const isAtRest = ({ state }) => AT_REST.includes(state);
    const isThere = ({ key }) => states.get(key) !== "unknown";
    const made = keysOf(
      outputs.filter((output) => !isAtRest(output) && isThere(output)),
    );
    const found = (gatheredBefore ?? []).flatMap((each) => each.found.map(keyOf));
    const telling = new Set([...spentAmong(states), ...made, ...found]);
    const late = await findLate(telling);
    const isLate = late.length > 0;
    if (isLate) {
      const wanted = settlingWanted(keysOf(late));
      await change(wanted, (draft) => settleLate(draft, late, now()));
    }
    // What these have taken is not lost, and what they have made need not be found.
    const left = isLate ? await readOutputs(store, keysOf(outputs)) : outputs;
    const isNews = ({ key, unknown }) =>
      Boolean(unknown) || states.get(key) !== "unspent";
    const known = left.filter((output) => isAtRest(output) && isNews(output));
    const news = new Map(known.map(({ key }) => [key, states.get(key)]));
    const lost = known.filter(({ key }) => news.get(key) === "spent");
    const gathered = gatheredBefore ?? (await gatherLost(lost));
    if (!gatheredBefore) await keepEach(gathered);
    if (!news.size && !gathered.length) return (await endUsed(made)) || isLate;
    const wanted = settlingWanted([], { outputs: [...news.keys()], gathered });
    const isChanged = await change(wanted, (draft) => {
      addFound(draft, gathered, now());
      settleChecked(draft, news, unclearBy(gathered, areOld), now());
      return draft.isChanged();
    });
    return (await endUsed(made)) || isChanged || isLate;
  }

  const checkMade = async ({ outputs }) =>
    checkSome(await readOutputs(store, keysOf(outputs)), { areOld: true });

  /** Where a copy has made something of an item, it has spent what it was made of. */
  async function keepEach(gathered) {
    for (const each of gathered) {
      if (!each.found.length) continue;
      await keepGathered(each);
      // The copy may go on meanwhile: the next visit looks once more.
      await change(LOOK_NOTE, (draft) => askForLook(draft, [each.itemId]));
    }
  }

  /**
   * Write down what was gathered of an item, and ask for all of ours there. What is
   * spent by then, a copy of this wallet may have spent.
   */
  async function keepGathered(gathered) {
    const { itemId } = gathered;
    const states = AT_REST.map((state) => ({ itemId, state }));
    const asked = await recordsWith(store, "outputs", ...states);
    const [first, ...others] = batchesOf(asked, checkedMax);
    const known = { gatheredBefore: [gathered] };
    await checkSome(first ?? [], known);
    for (const batch of others) await checkSome(batch, known);
  }

  /** Another copy of this wallet may have used the secrets of an offer that is open. */
  async function endUsed(made) {
    const open = await recordsIn("operations", "open");
    const isUsed = ({ outputs }) => outputs.some(({ key }) => made.includes(key));
    return endEach(open.filter(isUsed));
  }

  /** Ask what became of all offers of ours. */
  const endOpen = async () => endEach(await recordsIn("operations", "open"));

  /**
   * Settle the open offers that should have ended: by their time, or because an input
   * is spent, or one of its outputs made to cancel it.
   */
  async function endDue() {
    const open = await recordsIn("operations", "open");
    const named = open.flatMap(({ inputs, outputs }) => [
      ...inputs,
      ...keysOf(outputs),
    ]);
    const known = await readOutputs(store, named);
    const stateOf = new Map(known.map(({ key, state }) => [key, state]));
    const isDue = ({ expiresAt, inputs, outputs }) =>
      now() >= expiresAt + COMMIT_MS ||
      inputs.some((key) => stateOf.get(key) === "spent") ||
      outputs.some(({ key }) => stateOf.get(key) !== "coming");
    return endEach(open.filter(isDue).slice(0, DUE_MAX));
  }

  async function endEach(offers) {
    let isChanged = false;
    for (const { key } of offers) {
      const { operation, problem } = await finish(key);
      if (problem) throw problem;
      isChanged ||= operation.state !== "open";
    }
    return isChanged;
  }

  /**
   * Ask the service what of ours is still unspent, in batches, and settle the offers
   * that ended.
   * @throws {import("./api.js").ProblemError | import("./api.js").NoAnswerError} and nothing was changed of the batch that it is about.
   */
  async function checkStates() {
    const outputs = [
      ...(await recordsIn("outputs", ...AT_REST)),
      ...(await awaited("open", "refused")),
    ];
    for (const batch of batchesOf(outputs, checkedMax)) await checkSome(batch);
    await endDue();
  }

  /**
   * Ask once for links and offers that wait, and what was shown to a door, the newest
   * first, going on where the last round ended. Of weak secrets the service is not
   * asked: each question is a guess to it.
   * @returns {Promise<boolean>} whether anything has changed
   * @throws {import("./api.js").ProblemError | import("./api.js").NoAnswerError} and nothing was changed of the part that it is about.
   */
  async function checkRound() {
    const ours = await recordsIn("outputs", ...AT_REST);
    const isAsked = ({ state, shownAt }) => state !== "held" || shownAt;
    const all = [...ours.filter(isAsked), ...(await awaited("open"))];
    const waiting = all.sort(newestFirst);
    const left = waiting.filter(
      (output) => !roundEnd || newestFirst(roundEnd, output) < 0,
    );
    const asked = [];
    for (const output of left.length ? left : waiting) {
      if (asked.length < checkedMax && (await isStrong(output.secret)))
        asked.push(output);
    }
    const isChanged = asked.length > 0 && (await checkSome(asked));
    roundEnd = asked.length < checkedMax ? null : asked.at(-1);
    return (await endDue()) || isChanged;
  }

  return {
    operationOf,
    finish,
    cancel,
    finishBegun,
    checkStates,
    checkRound,
    keepGathered,
    endOpen,
  };
}

/**
 * Return what says of an output that is spent by nobody here whether a copy of this
 * wallet may have spent it: where it has made something of the item, where a look,
 * maybe after a restore, is the first to see that it is gone, and where a link may not
 * even have been handed out.
 * @param {import("./finding.js").Gathered[]} gathered
 * @param {boolean} [areOld] see checkSome
 */
function unclearBy(gathered, areOld) {
  const items = new Map(gathered.map((each) => [each.itemId, each]));
  return ({ itemId, mayBeGiven }, wanted) => {
    const { found = [], isUnclear, isLook } = items.get(itemId) ?? {};
    const isUnseen = isLook && wanted !== "given";
    return Boolean(found.length || isUnclear || isUnseen || mayBeGiven || areOld);
  };
}

function newestFirst(one, other) {
  const since = ({ givenAt, createdAt }) => givenAt ?? createdAt;
  return (
    since(other) - since(one) ||
    Number(one.key > other.key) - Number(one.key < other.key)
  );
}
