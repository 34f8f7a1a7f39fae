// Asks the service: sends what was begun, asks what became of outputs and offers, and
// finds what was carried out after its refusal.

import { formatRawOutput } from "../format/raw_output.js";
import { NoAnswerError, ProblemError } from "./api.js";
import { existing } from "./records.js";
import { AT_REST, DOUBTS, settleChecked, settleDone, settleLate } from "./settling.js";
import { settleOpen, settleRefused, settlingWanted } from "./settling.js";

/**
 * What a service may still complete, by another clock or after a pepper has come back.
 */
const LATE_MS = 24 * 60 * 60_000;
/** What a service may take to commit what it began before an offer expired. */
const COMMIT_MS = 60_000;
/** How many offers that should have ended are asked for at once. */
const DUE_MAX = 16;

/**
 * What became of an operation. Where it is still begun, `problem` says why; it will be
 * sent again.
 * @typedef {{operation: import("./records.js").OperationRecord, problem?: any}} Outcome
 *
 * Return the questions of a wallet, see wallet.js.
 * @param {object} parts
 * @param {Pick<import("./store.js").Store, "read">} parts.store
 * @param {import("./api.js").Api} parts.api
 * @param {(wanted: import("./records.js").Plan,
 *   apply: (draft: import("./records.js").Draft) => any) => Promise<any>} parts.change
 * @param {(secret: string) => Promise<boolean>} parts.isStrong
 * @param {number} parts.checkedMax how many outputs are asked for at once
 * @param {() => number} parts.now
 */
export function makeChecks({ store, api, change, isStrong, checkedMax, now }) {
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
    const operation = await operationOf(key);
    const { kind, state } = operation;
    if (state !== "begun" && state !== "open") return { operation };
    const { answer, problem } = await ask(() => send(operation));
    if (answer && "offerId" in answer) return settleOffer(operation, answer);
    if (answer) return settle(settleDone, key, { itemId: answer.itemId });
    const isInDoubt = kind === "mint" && !isFirst && DOUBTS.has(problem.code);
    if (isInDoubt || !isRefusal(problem)) return { operation, problem };
    return refuse(operation, problem.code);
  }

  function send({ kind, key, state, body, offerId }) {
    if (state === "open") return api.offer(offerId);
    if (kind === "mint") return api.mint(body, key);
    if (kind === "ask" || kind === "trade") return api.makeOffer(body, key);
    return kind === "complete" ? api.complete(offerId, body, key) : api.swap(body, key);
  }

  /**
   * Settle what the service refused, unless it turns out to have been carried out
   * before.
   */
  async function refuse(operation, code) {
    const { key, state: from } = operation;
    const { answer, problem } = await ask(async () => {
      const found = await look(operation);
      return { ...found, late: found.isDone ? [] : await findLate(found.spent, key) };
    });
    if (problem) return { operation, problem };
    const { isDone, spent, states, late } = answer;
    if (isDone) return settle(settleDone, key, { spent });
    return settle(settleRefused, key, { code, from, states }, late);
  }

  /**
   * Settle an offer of ours by its state: a making that is sent again may have ended
   * long ago.
   */
  async function settleOffer({ key }, { state, offerId, expiresAt }) {
    const { operation } = await settle(settleOpen, key, { offerId, expiresAt });
    const isSure = state !== "expired" || now() >= expiresAt + COMMIT_MS;
    const isOpen = state === "open" || operation.state !== "open" || !isSure;
    return isOpen ? { operation } : refuse(operation, `offer_${state}`);
  }

  const settle = async (rule, key, found, late = []) => ({
    operation: await change(
      settlingWanted([key, ...keysOf(late)], found.itemId),
      (draft) => {
        settleLate(draft, late, now());
        return rule(draft, key, { ...found, now: now() });
      },
    ),
  });

  /**
   * Send again what was begun, until the service says to wait. @returns
   * {Promise<Outcome[]>}
   */
  async function finishBegun() {
    const outcomes = [];
    for (const { key } of await recordsIn("operations", "begun")) {
      outcomes.push(await finish(key));
      const { retryAfterS, code } = outcomes.at(-1)?.problem ?? {};
      // A missing pepper is the trouble of some items only.
      if (retryAfterS && code !== "scheme_unavailable") break;
    }
    return outcomes;
  }

  /**
   * Ask for the state of an operation's inputs and its first output. All its outputs
   * were made at once, so one tells whether any is there; the others are asked for only
   * if it is: the service counts questions for ordinary secrets that it does not know.
   * @returns {Promise<{isDone: boolean, states: Map<string, string>, spent: Set<string>}>}
   */
  async function look(operation) {
    const { inputs, outputs } = operation;
    const [first, ...others] = keysOf(outputs);
    const states = await statesOf(
      await readOutputs(store, first ? [...inputs, first] : inputs),
    );
    const isDone = first
      ? states.get(first) !== "unknown"
      : await isPaid(operation, states);
    const made = isDone ? await statesOf(await readOutputs(store, others)) : [];
    const all = new Map([...states, ...made]);
    return { isDone, states: all, spent: spentAmong(all) };
  }

  /**
   * Return whether it was this payment that spent its inputs, where it makes nothing
   * that tells. Once one is spent, the same request cannot be carried out: it is
   * answered as the first time or refused.
   */
  async function isPaid({ key, offerId, body }, states) {
    if (!spentAmong(states).size) return false;
    const { answer, problem } = await ask(() => api.complete(offerId, body, key));
    if (problem && !isRefusal(problem)) throw problem;
    return Boolean(answer);
  }

  /**
   * Return the refused and open operations that were carried out after all, where one
   * of these outputs tells: an input that is spent, or something made that is there.
   */
  async function findLate(telling, except) {
    const found = [];
    const suspects = telling.size
      ? await recordsIn("operations", "refused", "open")
      : [];
    for (const operation of suspects) {
      const named = [...operation.inputs, ...keysOf(operation.outputs)];
      if (operation.key === except || !named.some((key) => telling.has(key))) continue;
      const { isDone, spent } = await look(operation);
      if (isDone) found.push({ key: operation.key, spent });
    }
    return found;
  }

  async function statesOf(outputs) {
    const states = await api.check(outputs.map(formatRawOutput));
    return new Map(outputs.map(({ key }, place) => [key, states[place]]));
  }

  const recordsIn = (kind, ...states) =>
    store.read({ [kind]: states.map((state) => ({ state })) }, (slices) =>
      states.flatMap((state) => slices[kind].list({ state })),
    );

  /** Return the first outputs of offers of ours that may be completed by now. */
  async function awaited(...states) {
    const isPossible = ({ expiresAt }) => expiresAt + LATE_MS > now();
    const offers = (await recordsIn("operations", ...states)).filter(isPossible);
    return readOutputs(store, keysOf(offers.map(({ outputs: [first] }) => first)));
  }

  /**
   * Ask for outputs that are at rest or awaited here; return whether anything has
   * changed.
   */
  async function checkSome(outputs) {
    const states = await statesOf(outputs);
    const isAtRest = ({ state }) => AT_REST.includes(state);
    const isThere = ({ key }) => states.get(key) !== "unknown";
    const made = keysOf(
      outputs.filter((output) => !isAtRest(output) && isThere(output)),
    );
    const late = await findLate(new Set([...spentAmong(states), ...made]));
    const isNews = ({ key, unknown }) =>
      Boolean(unknown) || states.get(key) !== "unspent";
    const known = outputs.filter((output) => isAtRest(output) && isNews(output));
    const news = new Map(known.map(({ key }) => [key, states.get(key)]));
    if (!news.size && !late.length) return false;
    return change(
      { ...settlingWanted(keysOf(late)), outputs: [...news.keys()] },
      (draft) => {
        settleLate(draft, late, now());
        settleChecked(draft, news, now());
        return draft.isChanged();
      },
    );
  }

  /**
   * Settle the open offers that should have ended: by their time, or because an input
   * is spent.
   */
  async function endDue() {
    const open = await recordsIn("operations", "open");
    const put = await readOutputs(
      store,
      open.flatMap(({ inputs }) => inputs),
    );
    const spent = new Set(keysOf(put.filter(({ state }) => state === "spent")));
    const isDue = ({ expiresAt, inputs }) =>
      now() >= expiresAt + COMMIT_MS || inputs.some((input) => spent.has(input));
    let isChanged = false;
    for (const { key } of open.filter(isDue).slice(0, DUE_MAX)) {
      const { operation, problem } = await finish(key);
      if (problem) throw problem;
      isChanged ||= operation.state !== "open";
    }
    return isChanged;
  }

  /**
   * Ask the service what of ours is still unspent, in batches, and settle the offers
   * that ended.
   * @throws {ProblemError | NoAnswerError} and nothing was changed of the batch that it is about.
   */
  async function checkStates() {
    const outputs = [
      ...(await recordsIn("outputs", ...AT_REST)),
      ...(await awaited("open", "refused")),
    ];
    for (let start = 0; start < outputs.length; start += checkedMax) {
      await checkSome(outputs.slice(start, start + checkedMax));
    }
    await endDue();
  }

  /**
   * Ask once for links and offers that wait, the newest first, going on where the last
   * round ended. Of weak secrets the service is not asked: each question is a guess to
   * it.
   * @returns {Promise<boolean>} whether anything has changed
   * @throws {ProblemError | NoAnswerError} and nothing was changed of the part that it is about.
   */
  async function checkRound() {
    const all = [
      ...(await recordsIn("outputs", "given", "offered")),
      ...(await awaited("open")),
    ];
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

  return { operationOf, finish, finishBegun, checkStates, checkRound };
}

/**
 * Return the answer, or what the service or the network has against it.
 * @returns {Promise<{answer?: any, problem?: any}>}
 */
async function ask(question) {
  try {
    return { answer: await question() };
  } catch (problem) {
    if (problem instanceof ProblemError || problem instanceof NoAnswerError)
      return { problem };
    throw problem;
  }
}

/** Return whether what was sent can never be carried out. */
const isRefusal = (problem) => problem instanceof ProblemError && problem.isFinal;

/** Return the records of outputs, which must be there. */
export function readOutputs(store, keys) {
  return store.read({ outputs: keys }, ({ outputs }) =>
    keys.map((key) => existing(outputs.get(key))),
  );
}

/** Return the keys of records, in their order. */
export const keysOf = (records) => records.map(({ key }) => key);

/**
 * Return the keys of those that the service calls spent. @param {Map<string, string>}
 * states
 */
function spentAmong(states) {
  return new Set(
    [...states].filter(([, state]) => state === "spent").map(([key]) => key),
  );
}

function newestFirst(one, other) {
  const since = ({ givenAt, createdAt }) => givenAt ?? createdAt;
  return (
    since(other) - since(one) ||
    Number(one.key > other.key) - Number(one.key < other.key)
  );
}
