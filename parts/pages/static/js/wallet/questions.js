// Asks the service what became of operations and outputs, and what another copy of this
// wallet may have made. Nothing is settled here: see checking.js.

import { formatRawOutput } from "../format/raw_output.js";
import { NoAnswerError, ProblemError } from "./api.js";
import { FindingError } from "./finding.js";
import { askForLook, LOOK } from "./look.js";
import { itemIdOf, keysOf, readOutputs, recordsWith } from "./records.js";
import { DOUBTS, isInDoubt, SURE } from "./settling.js";

/**
 * What a service may still complete, by another clock or after a pepper has come back.
 */
const LATE_MS = 24 * 60 * 60_000;
export const LOOK_NOTE = { notes: [LOOK] };

/**
 * Return the questions that checking.js asks.
 * @param {object} parts
 * @param {Pick<import("./store.js").Store, "read">} parts.store
 * @param {import("./api.js").Api} parts.api
 * @param {(wanted: import("./records.js").Plan,
 *   apply: (draft: import("./records.js").Draft) => any) => Promise<any>} parts.change
 * @param {ReturnType<typeof import("./finding.js").makeGather>} parts.gather
 * @param {() => number} parts.now
 */
export function makeQuestions({ store, api, change, gather, now }) {
  function send({ kind, key, state, body, offerId }) {
    if (state === "open") return api.offer(offerId);
    if (kind === "mint") return api.mint(body, key);
    if (isMaking({ kind })) return api.makeOffer(body, key);
    return kind === "complete" ? api.complete(offerId, body, key) : api.swap(body, key);
  }

  /**
   * Ask for the states of an operation's inputs, and whether it was carried out although
   * it was refused; if so, for those of what it has made.
   * @param {(spent: Set<string>) => Promise<boolean>} askDone
   * @returns {Promise<{isDone: boolean, states: Map<string, string>, spent: Set<string>}>}
   */
  async function look(operation, askDone) {
    const inputs = await statesOf(await readOutputs(store, operation.inputs));
    const isDone = await askDone(spentAmong(inputs));
    const outputs = isDone ? await readOutputs(store, keysOf(operation.outputs)) : [];
    const states = new Map([...inputs, ...(await statesOf(outputs))]);
    return { isDone, states, spent: spentAmong(states) };
  }

  /** Return whether somebody has completed an offer of ours that was called ended. */
  async function isCompleted({ offerId }) {
    return Boolean(offerId) && (await api.offer(offerId)).state === "completed";
  }

  /**
   * Return whether a swap, or a payment, that was refused with this code has spent these
   * inputs. That its outputs are there does not tell: another copy of this wallet may
   * have used the same numbers. Its key does: once an input is spent, the same request
   * cannot be carried out any more, and is answered as the first time or refused.
   */
  async function wasCarriedOut(operation, code, spent) {
    if (SURE.has(code) || !spent.size) return false;
    const { answer, problem } = await ask(() => send({ ...operation, state: "begun" }));
    if (answer) return true;
    if (!isRefusal(problem)) throw problem;
    // Where the limits are others now, its key was not looked up. What is there is
    // ours, whichever copy has made it.
    const { inputs, outputs } = operation;
    const isTaken = spent.size === inputs.length && outputs.length > 0;
    if (!DOUBTS.has(problem.code) || !isTaken) return false;
    const states = await statesOf(await readOutputs(store, keysOf(outputs)));
    return ![...states.values()].includes("unknown");
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
      const { isDone, spent } = await look(operation, async (spentInputs) =>
        isMaking(operation)
          ? isCompleted(operation)
          : wasCarriedOut(operation, operation.code, spentInputs),
      );
      if (isDone) found.push({ key: operation.key, spent });
    }
    return found;
  }

  async function statesOf(outputs) {
    const states = await api.check(outputs.map(formatRawOutput));
    return new Map(outputs.map(({ key }, place) => [key, states[place]]));
  }

  const recordsIn = (kind, ...states) =>
    recordsWith(store, kind, ...states.map((state) => ({ state })));

  /** Return the first output of each offer, or refusal, that may be carried out by now. */
  async function awaited(...states) {
    const isPossible = ({ code, expiresAt, endedAt }) =>
      (expiresAt || isInDoubt(code)) && (expiresAt ?? endedAt) + LATE_MS > now();
    const possible = (await recordsIn("operations", ...states)).filter(isPossible);
    const firsts = possible.flatMap(({ outputs }) => outputs.slice(0, 1));
    return readOutputs(store, keysOf(firsts));
  }

  /**
   * Return what another copy of this wallet has made, where a refusal points to one: a
   * number that was used, or something that is spent and was ours. At a door somebody
   * waits, who may have come twice: there it is enough that the ticket is spent. But not
   * where it may be our own request that has spent it.
   */
  async function gatherFor(operation, code, spent) {
    const { key: refusedKey, atDoor, inputs, outputs } = operation;
    const lost = inputs.filter((key) => spent.has(key));
    if (code === "offer_void" && (await isMade(operation))) return [];
    if (code === "used_secret" || code === "offer_void") {
      const named = [...keysOf(outputs), ...inputs];
      const branches = atDoor ? ["kept"] : undefined;
      return gatherAll(named, () => ({ refusedKey, branches }));
    }
    // A copy may have used its secrets all the same: it is enough to ask for them.
    if (code === "offer_expired" && !lost.length) {
      return gatherAll(keysOf(outputs), () => ({ refusedKey, branches: [] }));
    }
    const isSure = SURE.has(code);
    return atDoor && isSure ? [] : gatherAll(lost, () => ({ refusedKey }));
  }

  /** Return whether what an offer waits for is here: it was cancelled in this browser. */
  const isMade = async ({ outputs }) =>
    (await readOutputs(store, keysOf(outputs))).some(({ state }) => state !== "coming");

  /** Return what is found of these outputs' items; of what does not add up, nothing. */
  async function gatherAll(keys, optionsOf) {
    const gathered = [];
    for (const itemId of new Set(keys.map(itemIdOf))) {
      try {
        gathered.push(await gather(itemId, optionsOf(itemId)));
      } catch (error) {
        if (!(error instanceof FindingError)) throw error;
        gathered.push({ itemId, found: [], next: new Map(), isUnclear: true });
        // Another copy may have moved units meanwhile: the next visit looks.
        await change(LOOK_NOTE, (draft) => askForLook(draft, [itemId]));
      }
    }
    return gathered;
  }

  /**
   * Before it is said who has spent something of ours, look for what another copy of
   * this wallet has made of it. Links are claimed every day: of them it is enough to ask
   * whether anything was kept.
   */
  function gatherLost(lost) {
    const isProbed = (itemId) =>
      lost.every((output) => output.itemId !== itemId || output.state === "given");
    return gatherAll(keysOf(lost), (itemId) => ({ isProbed: isProbed(itemId) }));
  }

  return {
    send,
    look,
    wasCarriedOut,
    findLate,
    statesOf,
    recordsIn,
    awaited,
    gatherFor,
    gatherLost,
  };
}

/**
 * Return the answer, or what the service or the network has against it.
 * @returns {Promise<{answer?: any, problem?: any}>}
 */
export async function ask(question) {
  try {
    return { answer: await question() };
  } catch (problem) {
    if (problem instanceof ProblemError || problem instanceof NoAnswerError)
      return { problem };
    throw problem;
  }
}

export const isMaking = ({ kind }) => kind === "ask" || kind === "trade";

/** Return whether what was sent can never be carried out. */
export const isRefusal = (problem) =>
  problem instanceof ProblemError && problem.isFinal;

/**
 * Return the keys of those that the service calls spent. @param {Map<string, string>}
 * states
 */
export function spentAmong(states) {
  return new Set(
    [...states].filter(([, state]) => state === "spent").map(([key]) => key),
  );
}
