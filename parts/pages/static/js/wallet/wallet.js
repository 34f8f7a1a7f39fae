// The wallet: what this browser holds, and how it moves. The functions of the wallet
// are here; docs/development.md shows the order of the modules that they use.
//
// Every operation is first recorded whole, then sent, then settled. If the page dies in
// between, `finishBegun` sends it again with the same Idempotency-Key, for which the
// service carries it out once.

import { sumOf } from "../format/amounts.js";
import { checkSecret, isStrongSecret, makeStrongSecret } from "../format/raw_output.js";
import { AT_ONCE_MAX } from "./api.js";
import { countChange, makeBackup, makeJoined, NOTE } from "./backup.js";
import {
  begin,
  beginningPlan,
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

/**
 * Maximum attempts of an operation if other copies of the wallet keep changing its
 * units.
 */
const TRIES_MAX = 4;

/**
 * Codes of a refusal because another copy of this wallet has changed the units
 * meanwhile. It has used a secret, or named it in an offer that is completed here, or
 * has spent an input. If that was the only input, the rule reports it on the next try.
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
    carryOut: (rule, args) => carryOut(parts, rule, args),
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
 * Return what all modules of a wallet use.
 * @param {object} given
 * @param {Pick<import("./store.js").Store, "read" | "update">} given.store
 * @param {import("./api.js").Api} given.api
 * @param {() => Promise<string>} [given.makeSecret] a random one, for mints
 * @param {typeof deriveSecrets} [given.derive] all other secrets, from a seed
 * @param {(secret: string) => Promise<boolean>} [given.isStrong] whether a secret is
 *   strong
 * @param {number} [given.arrayMax] maximum number of inputs or outputs in a request
 * @param {number} [given.gap] how many unused numbers in a row end a search
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
   * Load records, and store what `apply` changes of them, in one transaction.
   * @param {import("./records.js").Plan} plan
   * @param {(draft: Draft) => any} apply
   * @returns {Promise<any>} the result of `apply`
   */
  const change = (plan, apply) =>
    given.store.update(plan, (slices) => {
      const draft = new Draft(slices, now());
      const result = apply(draft);
      return { ...draft.changed, result };
    });

  /** Make a change that the next backup must contain. @type {typeof change} */
  const changeOfNote = (plan, apply) =>
    change({ ...plan, ...NOTE }, (draft) => {
      const result = apply(draft);
      countChange(draft);
      return result;
    });

  /** Maximum number of outputs queried in a request. */
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
 * Record an operation, whole and with its secrets, then send it. If another copy of
 * this wallet has changed the units meanwhile, begin again with the current records,
 * unless the operation `isOnce`.
 * @param {Parts} parts
 * @param {import("./beginning.js").Rule} rule see beginning.js and offers.js
 * @param {any} given its arguments
 * @returns {Promise<any>} the outcome, or null if there is nothing to do
 */
async function carryOut(parts, rule, given, triesLeft = TRIES_MAX) {
  const { derive, changeOfNote, arrayMax } = parts;
  const secrets = new Secrets(derive);
  const key = crypto.randomUUID();
  const args = { ...given, key, secrets, arrayMax };
  const begun = await secrets.during(() =>
    changeOfNote(beginningPlan(args), (draft) => begin(draft, rule, args)),
  );
  if (!begun) return null;
  if (begun.isUnsent) return { operation: begun };
  const isFirst = begun.key === key;
  const outcome = await finish(parts, begun.key, isFirst);
  const mayTryAgain = isFirst && !given.isOnce && triesLeft > 1;
  const { code = "" } = outcome.operation;
  if (!mayTryAgain || !OVERTAKEN.has(code)) return outcome;
  return carryOut(parts, rule, given, triesLeft - 1).catch((error) => {
    // What is left is not enough, so the refusal says why.
    if (error instanceof WalletError) return outcome;
    throw error;
  });
}

/**
 * Return the functions that move units.
 * @param {Parts} parts
 */
function makeVerbs(parts) {
  const { makeSecret, arrayMax } = parts;
  return {
    /**
     * Mint an item in these amounts, or as numbered links. If there are more links than
     * the service takes outputs in a request, `prepareNext` makes the rest.
     * @param {{
     *   outputs?: {amount: number, secret?: string}[], links?: import("./links.js").Links,
     *   metadata?: object, unit?: string,
     * }} wanted `links` replaces `outputs`; `unit` is the issuer's word for one unit
     */
    async mint({ outputs: amounts = [], links, metadata, unit }) {
      const outputs = links ? linkParts(checkLinks(links), arrayMax) : amounts;
      const amount = sumOf(outputs.map((part) => checkAmount(part.amount)));
      checkCount(outputs, arrayMax);
      const fresh = await Promise.all(outputs.map(() => makeSecret()));
      const about = { amount, links, metadata, unit: checkUnit(unit) };
      return carryOut(parts, mint, { itemIds: [], outputs, fresh, ...about });
    },

    /**
     * Claim an output that somebody handed over.
     * @param {import("../format/raw_output.js").RawOutput} output
     * @param {{unit?: string, atDoor?: boolean, isUnsent?: true, knows?: object}} [options]
     *   `unit` is the link's word for a unit; with `atDoor`, what this wallet holds or
     *   has handed out is claimed too, and the result is set aside; with `isUnsent` the
     *   claim is only recorded, for `finish` to send; `knows` is the number and note
     *   that a door list has, or the number that the code has `said`
     * @returns {Promise<Outcome>}
     * @throws {WalletError} `already_claimed`; `already_held`; at the door `busy` if
     *   its claim has begun before
     */
    async claim({ amount, itemId, secret }, options = {}) {
      checkAmount(amount);
      const output = { amount, itemId, secret: checkSecret(secret) };
      const args = { ...options, output, outputKeys: [keyOf(output)] };
      return carryOut(parts, claim, args);
    },

    /**
     * Make a link of `amount` units to give away. It is the operation's first output.
     */
    send: async (itemId, amount) =>
      carryOut(parts, send, { itemId, amount: checkAmount(amount) }),

    /** Make a series of numbered links from held outputs. */
    async makeLinks(itemId, series) {
      const args = { itemId, looksAt: [{ itemId }], links: checkLinks(series) };
      return carryOut(parts, links, args);
    },

    /**
     * Make one more batch of the links that a mint or `makeLinks` promised. If one has
     * begun, maybe in another tab, finish it instead.
     * @returns {Promise<Outcome | null>} null when all are made
     */
    prepareNext: (itemId) => carryOut(parts, nextLinks, { itemId }),

    /** Join the free outputs of an item that have no number. */
    merge: (itemId) => carryOut(parts, merge, { itemId }),

    /** Take back links of an item that were handed out and not claimed. */
    takeBack: (...outputKeys) => carryOut(parts, takeBack, { outputKeys }),
  };
}

/**
 * Return functions that read records or record something; no units move.
 * @param {Parts} parts
 */
function makeRecords({ store, api, change, changeOfNote }) {
  return {
    /**
     * Record that the links of these outputs are handed out, see links.js. Nothing is
     * sent.
     */
    give: (keys) => changeOfNote({ outputs: keys }, (draft) => give(draft, keys)),

    /** Hand out up to `count` links of one unit, see links.js. */
    giveNext: (itemId, count) =>
      changeOfNote({ outputs: { itemId } }, (draft) => giveNext(draft, itemId, count)),

    /** Record when the code of a held output was last shown. This needs no backup. */
    shown: (key) =>
      change({ outputs: [key] }, (draft) => {
        if (isFree(draft.outputs.get(key) ?? {}))
          draft.changeOutput(key, { shownAt: draft.now });
      }),

    /**
     * Record that a guest was let in who has claimed a ticket and cannot show its code.
     */
    letInByHand: (key) =>
      changeOfNote({ outputs: [key] }, (draft) =>
        draft.changeOutput(key, { admittedAt: draft.now, isByHand: true }),
      ),

    /**
     * Store a person's notes, each given as output key and text; all of them or none.
     */
    setNotes: (...notes) =>
      changeOfNote({ outputs: notes.map(([key]) => key) }, (draft) =>
        notes.forEach(([key, text]) => setNote(draft, key, text)),
      ),

    /**
     * Return the registry's item, which never changes, from the store if it is there.
     * With `isWhole`, fetch it again if a file has cut its metadata.
     */
    async item(itemId, { isWhole = false } = {}) {
      const known = await store.read({ items: [itemId] }, ({ items }) =>
        items.get(itemId),
      );
      if (known && !(isWhole && known.isCut)) return known;
      const item = await api.item(itemId);
      const stored = change({ items: [itemId], operations: { itemId } }, (draft) => {
        const { unit } =
          draft.operations.list({ itemId }).find((each) => each.unit) ?? {};
        const { isCut: _, ...facts } = draft.items.get(itemId) ?? {};
        return draft.putItem({ unit, ...facts, ...item });
      });
      // A device without room to store it still shows it.
      return stored.catch(() => item);
    },

    /**
     * Return the records of an operation's outputs; a mint has none before its answer.
     */
    outputsOf: (operation) => readOutputs(store, keysOf(operation.outputs)),

    /** Return the stored QR codes of these outputs' links as SVG, by key. */
    codes: (keys) =>
      store.read({ codes: keys }, ({ codes }) => {
        const stored = keys.flatMap((key) => codes.get(key) ?? []);
        return new Map(stored.map(({ key, svg }) => [key, svg]));
      }),

    /** @param {{key: string, svg: string}[]} codes */
    keepCodes: (codes) => store.update({}, () => ({ codes })),
  };
}
