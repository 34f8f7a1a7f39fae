// The wallet: what this browser holds, and how it moves. Here are its verbs; what they do
// is in the modules below, of which each needs only those further down (see
// docs/development.md).
//
// Every verb is first written down whole, then sent, then settled. Whenever the page
// dies in between, `finishBegun` sends it again with the same Idempotency-Key, which
// the service carries out once.

import { sumOf } from "../format/amounts.js";
import { checkSecret, isStrongSecret, makeStrongSecret } from "../format/raw_output.js";
import { AT_ONCE_MAX } from "./api.js";
import { countChange, makeBackup, makeJoined, NOTE } from "./backup.js";
import {
  begin,
  beginningWanted,
  claim,
  links,
  merge,
  mint,
  nextLinks,
  send,
  takeBack,
} from "./beginning.js";
import { finish, makeChecks } from "./checking.js";
import { makeDoorList } from "./door_list.js";
import {
  checkAmount,
  checkCount,
  checkLinks,
  checkUnit,
  give,
  giveNext,
  isFree,
  linkParts,
  setNote,
} from "./links.js";
import { makeLook } from "./look.js";
import { Draft, keyOf, keysOf, readOutputs, WalletError } from "./records.js";
import { deriveSecrets, Secrets } from "./seeds.js";

/** How often a verb is begun while another copy of the wallet is faster. */
const TRIES_MAX = 4;

/**
 * A copy has used a number, or named it in an offer that is completed here; or it has
 * spent an input. Where that was the only one, the rule says so when it is tried again.
 */
const OVERTAKEN = new Set(["used_secret", "duplicate_secret", "spent_input"]);

/**
 * @typedef {ReturnType<typeof makeParts>} Parts
 * @typedef {ReturnType<typeof makeWallet>} Wallet
 * @typedef {import("./checking.js").Outcome} Outcome
 */

/**
 * Return a wallet.
 * @param {Parameters<typeof makeParts>[0]} given
 */
export function makeWallet(given) {
  const parts = makeParts(given);
  return {
    carryOut: (rule, plan) => carryOut(parts, rule, plan),
    ...makeVerbs(parts),
    ...makeRecords(parts),
    ...makeChecks(parts),
    ...makeLook(parts),
    ...makeDoorList(parts),
    ...makeBackup(parts),
    ...makeJoined(parts),
  };
}

/**
 * Return what all modules of a wallet work with.
 * @param {object} given
 * @param {Pick<import("./store.js").Store, "read" | "update">} given.store
 * @param {import("./api.js").Api} given.api
 * @param {() => Promise<string>} [given.makeSecret] one for a mint, at random
 * @param {typeof deriveSecrets} [given.derive] all others, from a seed
 * @param {(secret: string) => Promise<boolean>} [given.isStrong] whether a machine made a secret
 * @param {number} [given.arrayMax] how many inputs or outputs the service takes at once
 * @param {number} [given.gap] after how many unused numbers none is looked for
 * @param {() => number} [given.now] in milliseconds
 */
function makeParts({
  makeSecret = makeStrongSecret,
  derive = deriveSecrets,
  isStrong = isStrongSecret,
  arrayMax = AT_ONCE_MAX,
  now = Date.now,
  ...given
}) {
  /**
   * Load what is wanted, and write down what `apply` changes of it, in one transaction.
   * @param {import("./records.js").Plan} wanted
   * @param {(draft: Draft) => any} apply
   * @returns {Promise<any>} what it returns
   */
  const change = (wanted, apply) =>
    given.store.update(wanted, (slices) => {
      const draft = new Draft(slices, now());
      const result = apply(draft);
      return { ...draft.changed, result };
    });

  /** Change what the next backup should hold. @type {typeof change} */
  const changeOfNote = (wanted, apply) =>
    change({ ...wanted, ...NOTE }, (draft) => {
      const result = apply(draft);
      countChange(draft);
      return result;
    });

  /** How many outputs are asked for at once. */
  const checkedMax = Math.min(arrayMax, AT_ONCE_MAX);
  return {
    ...given,
    makeSecret,
    derive,
    isStrong,
    arrayMax,
    checkedMax,
    now,
    change,
    changeOfNote,
  };
}

/**
 * Write an operation down, whole, with its secrets; then send it. Where another copy of
 * this wallet was faster, it is begun again with what is known by then, unless it
 * `isOnce`.
 * @param {Parts} parts
 * @param {import("./beginning.js").Rule} rule see beginning.js and offers.js
 * @param {any} given what the rule is given besides
 * @returns {Promise<any>} its outcome, or null when there is nothing to do
 */
async function carryOut(parts, rule, given, triesLeft = TRIES_MAX) {
  const { derive, changeOfNote, arrayMax } = parts;
  const secrets = new Secrets(derive);
  const key = crypto.randomUUID();
  const plan = { ...given, key, secrets, arrayMax };
  const begun = await secrets.during(() =>
    changeOfNote(beginningWanted(plan), (draft) => begin(draft, rule, plan)),
  );
  if (!begun) return null;
  if (begun.isUnsent) return { operation: begun };
  const isFirst = begun.key === key;
  const outcome = await finish(parts, begun.key, isFirst);
  const mayTryAgain = isFirst && !given.isOnce && triesLeft > 1;
  const { code = "" } = outcome.operation;
  if (!mayTryAgain || !OVERTAKEN.has(code)) return outcome;
  return carryOut(parts, rule, given, triesLeft - 1).catch((error) => {
    // What is left is not enough: then the refusal says why.
    if (error instanceof WalletError) return outcome;
    throw error;
  });
}

/**
 * Return the verbs that move units.
 * @param {Parts} parts
 */
function makeVerbs(parts) {
  const { makeSecret, arrayMax } = parts;
  return {
    /**
     * Mint an item in these amounts, or as so many numbered links: of more links than
     * the service takes outputs at once, `prepareNext` makes the rest.
     * @param {{
     *   outputs?: {amount: number, secret?: string}[], links?: import("./links.js").Links,
     *   metadata?: object, unit?: string,
     * }} wanted `links` in place of `outputs`; `unit` is the issuer's word for one
     */
    async mint({ outputs = [], links, metadata, unit }) {
      const made = links ? linkParts(checkLinks(links), arrayMax) : outputs;
      const amount = sumOf(made.map((part) => checkAmount(part.amount)));
      checkCount(made, arrayMax);
      const fresh = await Promise.all(made.map(() => makeSecret()));
      const about = { amount, links, metadata, unit: checkUnit(unit) };
      return carryOut(parts, mint, { itemIds: [], outputs: made, fresh, ...about });
    },

    /**
     * Claim an output that somebody handed over.
     * @param {import("../format/raw_output.js").RawOutput} output
     * @param {{unit?: string, atDoor?: boolean, isUnsent?: true, knows?: object}} [options] the
     *   link's word for a unit; `atDoor` also claims what this wallet holds or handed out itself,
     *   and sets aside what it makes; where `isUnsent` it is only written down, for `finish` to
     *   send; number and note that a door list `knows`, or what a code has `said` of its number
     * @returns {Promise<Outcome>}
     * @throws {WalletError} `already_claimed`; `already_held`; at the door `busy` where its
     *   claim began before
     */
    async claim({ amount, itemId, secret }, options = {}) {
      checkAmount(amount);
      const output = { amount, itemId, secret: checkSecret(secret) };
      const plan = { ...options, output, outputKeys: [keyOf(output)] };
      return carryOut(parts, claim, plan);
    },

    /**
     * Make a fresh secret of `amount` units to give away; it is the operation's first
     * output.
     */
    send: async (itemId, amount) =>
      carryOut(parts, send, { itemId, amount: checkAmount(amount) }),

    /** Make a series of numbered links from what is held. */
    async makeLinks(itemId, wanted) {
      const plan = { itemId, looksAt: [{ itemId }], links: checkLinks(wanted) };
      return carryOut(parts, links, plan);
    },

    /**
     * Make one more batch of the links that a mint or `makeLinks` promised; what is
     * begun already, by another tab too, is finished instead.
     * @returns {Promise<Outcome | null>} null when all are made
     */
    prepareNext: (itemId) => carryOut(parts, nextLinks, { itemId }),

    /** Join the parts of an item that are free and have no number. */
    merge: (itemId) => carryOut(parts, merge, { itemId }),

    /**
     * Make links of an item that were handed out worthless, unless somebody was faster.
     */
    takeBack: (...outputKeys) => carryOut(parts, takeBack, { outputKeys }),
  };
}

/**
 * Return what reads records, and what notes something with them: nothing moves.
 * @param {Parts} parts
 */
function makeRecords({ store, api, change, changeOfNote }) {
  return {
    /**
     * Note that the links of these outputs are handed out, see links.js. Nothing is
     * sent.
     */
    give: (keys) => changeOfNote({ outputs: keys }, (draft) => give(draft, keys)),

    /** Hand out so many links of one unit, those that are here first, see links.js. */
    giveNext: (itemId, count) =>
      changeOfNote({ outputs: { itemId } }, (draft) => giveNext(draft, itemId, count)),

    /** Note when the code of what is held was last shown; no backup is needed for that. */
    shown: (key) =>
      change({ outputs: [key] }, (draft) => {
        if (isFree(draft.outputs.get(key) ?? {}))
          draft.changeOutput(key, { shownAt: draft.now });
      }),

    /** Note that the guest was let in who has claimed a ticket, and cannot show its code. */
    letInByHand: (key) =>
      changeOfNote({ outputs: [key] }, (draft) =>
        draft.changeOutput(key, { admittedAt: draft.now, isByHand: true }),
      ),

    /** Keep a person's notes on outputs, each with its key, or none of them. */
    setNotes: (...notes) =>
      changeOfNote({ outputs: notes.map(([key]) => key) }, (draft) =>
        notes.forEach(([key, text]) => setNote(draft, key, text)),
      ),

    /**
     * Return the registry's item, which never changes, from the store if it is there:
     * where it `isWhole`, what a file has cut is asked for.
     */
    async item(itemId, { isWhole = false } = {}) {
      const known = await store.read({ items: [itemId] }, ({ items }) =>
        items.get(itemId),
      );
      if (known && !(isWhole && known.isCut)) return known;
      const item = await api.item(itemId);
      const kept = change({ items: [itemId], operations: { itemId } }, (draft) => {
        const { unit } =
          draft.operations.list({ itemId }).find((each) => each.unit) ?? {};
        const { isCut: _, ...kept } = draft.items.get(itemId) ?? {};
        return draft.putItem({ unit, ...kept, ...item });
      });
      // A device without room for it shows it all the same.
      return kept.catch(() => item);
    },

    /**
     * Return the records of what an operation makes; a mint has none before its answer.
     */
    outputsOf: (operation) => readOutputs(store, keysOf(operation.outputs)),

    /**
     * Return the QR codes that are kept of these outputs' links, as SVG, by their keys.
     */
    codes: (keys) =>
      store.read({ codes: keys }, ({ codes }) => {
        const found = keys.flatMap((key) => codes.get(key) ?? []);
        return new Map(found.map(({ key, svg }) => [key, svg]));
      }),

    /** @param {{key: string, svg: string}[]} codes */
    keepCodes: (codes) => store.update({}, () => ({ codes })),
  };
}
