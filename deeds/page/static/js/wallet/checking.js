// Asks the service what became of outputs, and finds what was carried out after its refusal.

import { formatRawOutput } from "../format/raw_output.js";
import { existing } from "./records.js";
import { settleChecked, settleLate, settlingWanted } from "./settling.js";

/**
 * Return the questions of a wallet, see wallet.js.
 * @param {object} parts
 * @param {Pick<import("./store.js").Store, "read">} parts.store
 * @param {Pick<import("./api.js").Api, "check">} parts.api
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
   * once, so one tells whether any is there; the others are asked for only if it is, because the
   * service counts questions for what it does not know.
   */
  async function look({ inputs, outputs }) {
    const [first, ...others] = keysOf(outputs);
    const states = await statesOf(await readOutputs(store, [...inputs, first]));
    if (states.get(first) === "unknown") return states;
    return new Map([...states, ...(await statesOf(await readOutputs(store, others)))]);
  }

  /** Return the refused operations that were carried out after all, as the spent inputs tell. */
  async function findLate(spent, except) {
    const found = [];
    const refused = spent.size ? await recordsIn("operations", "refused") : [];
    for (const operation of refused) {
      const isSuspect = operation.inputs.some((input) => spent.has(input));
      if (operation.key === except || !isSuspect) continue;
      const states = await look(operation);
      const isThere = states.get(operation.outputs[0].key) !== "unknown";
      if (isThere) found.push({ key: operation.key, spent: spentAmong(states) });
    }
    return found;
  }

  async function statesOf(outputs) {
    const states = await api.check(outputs.map(formatRawOutput));
    return new Map(outputs.map(({ key }, place) => [key, states[place]]));
  }

  const recordsIn = (kind, state) =>
    store.read({ [kind]: { state } }, (slices) => slices[kind].list({ state }));

  /** Ask for outputs that are at rest here; return whether anything has changed. */
  async function checkSome(outputs) {
    const states = await statesOf(outputs);
    const late = await findLate(spentAmong(states));
    const isNews = ({ key, unknown }) => Boolean(unknown) || states.get(key) !== "unspent";
    const news = new Map(outputs.filter(isNews).map(({ key }) => [key, states.get(key)]));
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
    const [held, given] = [await recordsIn("outputs", "held"), await recordsIn("outputs", "given")];
    const outputs = [...held, ...given];
    for (let start = 0; start < outputs.length; start += checkedMax) {
      await checkSome(outputs.slice(start, start + checkedMax));
    }
  }

  /**
   * Ask once for links that wait, the newest first, going on where the last round ended. Of weak
   * secrets the service is not asked: each question is a guess to it.
   * @returns {Promise<boolean>} whether anything has changed
   * @throws {ProblemError | NoAnswerError} and nothing was changed.
   */
  async function checkRound() {
    const waiting = (await recordsIn("outputs", "given")).sort(newestFirst);
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
export function spentAmong(states) {
  return new Set([...states].filter(([, state]) => state === "spent").map(([key]) => key));
}

function newestFirst(one, other) {
  return other.givenAt - one.givenAt || Number(one.key > other.key) - Number(one.key < other.key);
}
