// The wallet: what this browser holds, and how it moves.
//
// Every verb is first written down whole, then sent, then settled. Whenever the page dies in between,
// `finishBegun` sends it again with the same Idempotency-Key, which the service carries out once.

import { AmountError, isAmount, sumOf } from "../format/amounts.js";
import { checkSecret } from "../format/raw_output.js";
import { NoAnswerError, ProblemError } from "./api.js";
import * as beginning from "./beginning.js";
import { INPUTS_COUNT_MAX } from "./beginning.js";
import { mergeInto } from "./merging.js";
import { Draft, existing, rawsOf, WalletError } from "./records.js";
import { isRefusal, settleChecked, settleDone, settleRefused, suspects } from "./settling.js";

/**
 * @typedef {ReturnType<typeof makeWallet>} Wallet
 *
 * What became of an operation. Where it is still begun, `problem` says why; it will be sent again.
 * @typedef {{operation: import("./records.js").OperationRecord, problem?: Error}} Outcome
 */

/**
 * Return a wallet.
 *
 * @param {object} parts
 * @param {Pick<import("./store.js").Store, "read" | "update">} parts.store
 * @param {import("./api.js").Api} parts.api
 * @param {() => Promise<string>} parts.makeSecret
 * @param {() => string} [parts.newKey] a random UUID
 * @param {() => number} [parts.now] in milliseconds
 */
export function makeWallet({
  store,
  api,
  makeSecret,
  newKey = () => crypto.randomUUID(),
  now = Date.now,
}) {
  const change = (apply) =>
    store.update((slices) => {
      const draft = new Draft(slices);
      return draft.changes(apply(draft));
    });

  /** Write an operation down, whole. Nothing is sent. */
  const begin = (rule, plan) =>
    change((draft) => beginning[rule](draft, { ...plan, key: newKey(), now: now() }));

  const carryOut = async (rule, plan) => finish((await begin(rule, plan)).key);

  /**
   * Send an operation that was begun, and settle it.
   * @returns {Promise<Outcome>}
   */
  async function finish(key) {
    const operation = existing(await store.read(({ operations }) => operations.get(key)));
    if (operation.state !== "begun") return { operation };
    const send = operation.kind === "mint" ? api.mint : api.swap;
    const { answer, problem } = await ask(() => send(operation.body, key));
    if (answer) return settle(settleDone, key, { itemId: answer.itemId });
    if (!(problem instanceof ProblemError) || !isRefusal(problem.code))
      return { operation, problem };
    return refuse(operation, problem.code);
  }

  /** Settle what the service refused, unless it turns out to have been carried out before. */
  async function refuse(operation, code) {
    const { key, outputs } = operation;
    if (operation.kind === "mint") return settle(settleRefused, key, { code, states: new Map() });
    const { answer: states, problem } = await ask(() => look(operation));
    if (!states) return { operation, problem };
    if (states.get(outputs[0].key) !== "unknown") {
      return settle(settleDone, key, { spent: spentAmong(states) });
    }
    const asked = await ask(() => findLate(spentAmong(states), key));
    if (asked.problem) return { operation, problem: asked.problem };
    return settle(settleRefused, key, { code, states }, asked.answer);
  }

  const settle = async (rule, key, found, late = []) => ({
    operation: await change((draft) => {
      settleLate(draft, late);
      return rule(draft, key, { ...found, now: now() });
    }),
  });

  const settleLate = (draft, late) => {
    for (const { key, spent } of late) settleDone(draft, key, { spent, now: now() });
  };

  /**
   * Ask for the state of an operation's inputs and its first output. All its outputs were made at
   * once, so one tells whether any is there; the others are asked for only if it is, because the
   * service counts questions for what it does not know.
   */
  async function look({ inputs, outputs }) {
    const [first, ...others] = outputs.map((output) => output.key);
    const states = await check([...inputs, first]);
    if (states.get(first) === "unknown") return states;
    return new Map([...states, ...(await check(others))]);
  }

  /** Return the refused operations that were carried out after all, as the spent inputs tell. */
  async function findLate(spent, except) {
    const found = [];
    const operations = await store.read((slices) => [...slices.operations.values()]);
    for (const operation of suspects(operations, spent)) {
      if (operation.key === except) continue;
      const states = await look(operation);
      const isThere = states.get(operation.outputs[0].key) !== "unknown";
      if (isThere) found.push({ key: operation.key, spent: spentAmong(states) });
    }
    return found;
  }

  async function check(keys) {
    const records = await store.read(({ outputs }) => keys.map((key) => outputs.get(key)));
    const states = await api.check(rawsOf(records));
    return new Map(keys.map((key, place) => [key, states[place]]));
  }

  return {
    begin,
    finish,

    /** Send again whatever was begun and has not ended. @returns {Promise<Outcome[]>} */
    async finishBegun() {
      const begun = await store.read(({ operations }) =>
        [...operations.values()].filter((operation) => operation.state === "begun"),
      );
      const outcomes = [];
      for (const operation of begun) outcomes.push(await finish(operation.key));
      return outcomes;
    },

    /** @param {{outputs: {amount: number, secret?: string}[], metadata?: object}} wanted */
    async mint({ outputs, metadata }) {
      const amount = sumOf(outputs.map((output) => checkAmount(output.amount)));
      checkCount(outputs);
      const whole = [];
      for (const output of outputs) {
        const secret = checkSecret(output.secret ?? (await makeSecret()));
        whole.push({ amount: output.amount, secret });
      }
      return carryOut("beginMint", { outputs: whole, metadata, amount });
    },

    /** Take custody of an output that somebody handed over. */
    async claim({ amount, itemId, secret }) {
      checkSecret(secret);
      const output = { amount: checkAmount(amount), itemId, secret };
      return carryOut("beginClaim", { output, secret: await makeSecret() });
    },

    /** Make a fresh secret of `amount` units to give away; it is the operation's first output. */
    async send(itemId, amount) {
      checkAmount(amount);
      const [secret, changeSecret] = [await makeSecret(), await makeSecret()];
      return carryOut("beginSend", { itemId, amount, secret, changeSecret });
    },

    /** Part an output into these amounts and the rest of it. */
    async split(outputKey, amounts) {
      checkCount(amounts);
      amounts.forEach(checkAmount);
      const secrets = [];
      while (secrets.length <= amounts.length) secrets.push(await makeSecret());
      return carryOut("beginSplit", { outputKey, amounts, secrets });
    },

    /** Join outputs of an item, all that are held unless some are named. */
    async merge(itemId, outputKeys) {
      return carryOut("beginMerge", { itemId, outputKeys, secret: await makeSecret() });
    },

    /** Make a link that was handed out worthless, unless somebody was faster. */
    async takeBack(outputKey) {
      return carryOut("beginTakeBack", { outputKey, secret: await makeSecret() });
    },

    /**
     * Ask the service what of ours is still unspent.
     * @throws {ProblemError | NoAnswerError} and nothing was changed.
     */
    async checkStates() {
      const isOurs = ({ state }) => state === "held" || state === "given";
      const keys = await store.read(({ outputs }) =>
        [...outputs.values()].filter(isOurs).map((output) => output.key),
      );
      const states = await check(keys);
      const late = await findLate(spentAmong(states));
      await change((draft) => {
        settleLate(draft, late);
        settleChecked(draft, states, now());
      });
    },

    /** Return the registry's item, which never changes, from the store if it is there. */
    async item(itemId) {
      const known = await store.read(({ items }) => items.get(itemId));
      if (known) return known;
      const item = await api.item(itemId);
      return change((draft) => draft.putItem(item));
    },

    /** Return the records of what an operation makes; a mint has none before its answer. */
    outputsOf: (operation) =>
      store.read(({ outputs }) => operation.outputs.map(({ key }) => outputs.get(key))),

    /** Return all records, for file.js. They hold every secret. */
    exportRecords: () =>
      store.read(({ outputs, operations, items }) => ({
        outputs: [...outputs.values()],
        operations: [...operations.values()],
        items: [...items.values()],
      })),

    /** Merge the records of another wallet, or of an earlier state of this one. */
    importRecords: (theirs) => change((draft) => mergeInto(draft, theirs)),
  };
}

/**
 * Return the answer, or what the service or the network has against it.
 * @template Answer
 * @param {() => Promise<Answer>} question
 * @returns {Promise<{answer?: Answer, problem?: ProblemError | NoAnswerError}>}
 */
async function ask(question) {
  try {
    return { answer: await question() };
  } catch (problem) {
    if (problem instanceof ProblemError || problem instanceof NoAnswerError) return { problem };
    throw problem;
  }
}

function spentAmong(states) {
  return new Set([...states].filter(([, state]) => state === "spent").map(([key]) => key));
}

function checkAmount(amount) {
  if (!isAmount(amount)) throw new AmountError("An amount is a whole number from 1.");
  return amount;
}

function checkCount(parts) {
  if (!parts.length || parts.length > INPUTS_COUNT_MAX) {
    throw new WalletError("too_many", `From 1 to ${INPUTS_COUNT_MAX} parts at once.`);
  }
}
