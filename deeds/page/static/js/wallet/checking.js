// Asks the service what became of outputs, and finds what was carried out after its refusal.

import { formatRawOutput } from "../format/raw_output.js";
import { ProblemError } from "./api.js";
import { existing } from "./records.js";
import { AT_REST, REFUSALS, settleChecked, settleLate, settlingWanted } from "./settling.js";

/** What a service may still complete, by another clock or after a pepper has come back. */
const LATE_MS = 24 * 60 * 60_000;

/**
 * Return the questions of a wallet, see wallet.js.
 * @param {object} parts
 * @param {Pick<import("./store.js").Store, "read">} parts.store
 * @param {Pick<import("./api.js").Api, "check" | "complete">} parts.api
 * @param {(wanted: import("./records.js").Plan,
 *   apply: (draft: import("./records.js").Draft) => any) => Promise<any>} parts.change
 * @param {(secret: string) => Promise<boolean>} parts.isStrong
 * @param {number} parts.checkedMax how many outputs are asked for at once
 * @param {() => number} parts.now
 */
export function makeChecks({ store, api, change, isStrong, checkedMax, now }) {
  /** The output that the last round ended with. */
  let roundEnd = null;

  /**
   * Ask for the state of an operation's inputs and its first output. All its outputs were made at
   * once, so one tells whether any is there; the others are asked for only if it is: the service
   * counts questions for ordinary secrets that it does not know.
   * @returns {Promise<{isDone: boolean, states: Map<string, string>, spent: Set<string>}>}
   */
  async function look(operation) {
    const { inputs, outputs } = operation;
    const [first, ...others] = keysOf(outputs);
    const states = await statesOf(await readOutputs(store, first ? [...inputs, first] : inputs));
    const isDone = first ? states.get(first) !== "unknown" : await isPaid(operation, states);
    const made = isDone ? await statesOf(await readOutputs(store, others)) : [];
    const all = new Map([...states, ...made]);
    return { isDone, states: all, spent: spentAmong(all) };
  }

  /**
   * Return whether it was this payment that spent its inputs, where it makes nothing that tells. Once
   * one is spent, the same request cannot be carried out: it is answered as the first time or refused.
   */
  async function isPaid({ key, offerId, body }, states) {
    if (!spentAmong(states).size) return false;
    return api.complete(offerId, body, key).then(
      () => true,
      (problem) => {
        if (problem instanceof ProblemError && REFUSALS.has(problem.code)) return false;
        throw problem;
      },
    );
  }

  /**
   * Return the refused and open operations that were carried out after all, where one of these
   * outputs tells: an input that is spent, or something made that is there.
   */
  async function findLate(telling, except) {
    const found = [];
    const suspects = telling.size ? await recordsIn("operations", "refused", "open") : [];
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

  /** Ask for outputs that are at rest or awaited here; return whether anything has changed. */
  async function checkSome(outputs) {
    const states = await statesOf(outputs);
    const isAtRest = ({ state }) => AT_REST.includes(state);
    const isThere = ({ key }) => states.get(key) !== "unknown";
    const made = keysOf(outputs.filter((output) => !isAtRest(output) && isThere(output)));
    const late = await findLate(new Set([...spentAmong(states), ...made]));
    const isNews = ({ key, unknown }) => Boolean(unknown) || states.get(key) !== "unspent";
    const known = outputs.filter((output) => isAtRest(output) && isNews(output));
    const news = new Map(known.map(({ key }) => [key, states.get(key)]));
    if (!news.size && !late.length) return false;
    return change({ ...settlingWanted(keysOf(late)), outputs: [...news.keys()] }, (draft) => {
      settleLate(draft, late, now());
      settleChecked(draft, news, now());
      return draft.isChanged();
    });
  }

  /**
   * Ask the service what of ours is still unspent, in batches.
   * @throws {ProblemError | NoAnswerError} and nothing was changed of the batch that it is about.
   */
  async function checkStates() {
    const outputs = [...(await recordsIn("outputs", ...AT_REST)), ...(await awaited("open", "refused"))];
    for (let start = 0; start < outputs.length; start += checkedMax) {
      await checkSome(outputs.slice(start, start + checkedMax));
    }
  }

  /**
   * Ask once for links and offers that wait, the newest first, going on where the last round ended.
   * Of weak secrets the service is not asked: each question is a guess to it.
   * @returns {Promise<boolean>} whether anything has changed
   * @throws {ProblemError | NoAnswerError} and nothing was changed.
   */
  async function checkRound() {
    const all = [...(await recordsIn("outputs", "given", "offered")), ...(await awaited("open"))];
    const waiting = all.sort(newestFirst);
    const left = waiting.filter((output) => !roundEnd || newestFirst(roundEnd, output) < 0);
    const asked = [];
    for (const output of left.length ? left : waiting) {
      if (asked.length < checkedMax && (await isStrong(output.secret))) asked.push(output);
    }
    const isChanged = asked.length > 0 && (await checkSome(asked));
    roundEnd = asked.length < checkedMax ? null : asked.at(-1);
    return isChanged;
  }

  return { recordsIn, look, findLate, checkStates, checkRound };
}

/** Return the records of outputs, which must be there. */
export function readOutputs(store, keys) {
  return store.read({ outputs: keys }, ({ outputs }) =>
    keys.map((key) => existing(outputs.get(key))),
  );
}

/** Return the keys of records, in their order. */
export function keysOf(records) {
  return records.map(({ key }) => key);
}

/** Return the keys of those that the service calls spent. @param {Map<string, string>} states */
function spentAmong(states) {
  return new Set([...states].filter(([, state]) => state === "spent").map(([key]) => key));
}

function newestFirst(one, other) {
  const since = ({ givenAt, createdAt }) => givenAt ?? createdAt;
  return since(other) - since(one) || Number(one.key > other.key) - Number(one.key < other.key);
}
