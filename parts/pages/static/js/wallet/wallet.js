// The wallet: what this browser holds, and how it moves.
//
// Every verb is first written down whole, then sent, then settled. Whenever the page
// dies in between, `finishBegun` sends it again with the same Idempotency-Key, which
// the service carries out once.

import { sumOf } from "../format/amounts.js";
import { checkSecret, isStrongSecret } from "../format/raw_output.js";
import { AT_ONCE_MAX } from "./api.js";
import { begin, beginningWanted } from "./beginning.js";
import { makeChecks } from "./checking.js";
import { checkAmount, checkCount, checkLinks, checkUnit } from "./links.js";
import { give, isFree, linkParts, setNote } from "./links.js";
import { makeDoorList } from "./door_list.js";
import { isOurs, makeGather } from "./finding.js";
import { askForLook, LOOK, makeLook } from "./look.js";
import { mergeInto } from "./merging.js";
import { Draft, keyOf, keysOf, readOutputs, WalletError } from "./records.js";
import { deriveSecrets, ownSeed, Secrets, seedsOf } from "./seeds.js";

/** How often a verb is begun while another copy of the wallet is faster. */
const TRIES_MAX = 4;

/** A copy has used a number, or named it in an offer that is completed here. */
const USED = new Set(["used_secret", "duplicate_secret"]);
/**
 * What these take, the wallet has chosen: it can choose again. Of links that are taken
 * back some may have been claimed.
 */
const CHOOSING = new Set(["send", "split", "merge", "trade", "complete", "takeBack"]);

const BACKUP = "backup";
const NOTE = { notes: [BACKUP, LOOK] };
/** @type {import("./records.js").Plan} */
const ALL = {
  outputs: "all",
  operations: "all",
  items: "all",
  seeds: "all",
  numbers: "all",
  ...NOTE,
};

/**
 * @typedef {ReturnType<typeof makeWallet>} Wallet
 * @typedef {import("./checking.js").Outcome} Outcome
 */

/**
 * Return a wallet.
 * @param {object} parts
 * @param {Pick<import("./store.js").Store, "read" | "update">} parts.store
 * @param {import("./api.js").Api} parts.api
 * @param {() => Promise<string>} parts.makeSecret one for a mint, at random
 * @param {typeof deriveSecrets} [parts.derive] all others, from a seed
 * @param {(secret: string) => Promise<boolean>} [parts.isStrong] whether a machine made a secret
 * @param {number} [parts.arrayMax] how many inputs or outputs the service takes at once
 * @param {number} [parts.gap] after how many unused numbers none is looked for
 * @param {() => number} [parts.now] in milliseconds
 */
export function makeWallet({
  store,
  api,
  makeSecret,
  derive = deriveSecrets,
  isStrong = isStrongSecret,
  arrayMax = AT_ONCE_MAX,
  gap,
  now = Date.now,
}) {
  /** What the records of the last export hold: so many changes, and these items. */
  /** @type {{savedCount: number, itemIds: string[]}} */
  let exported = { savedCount: 0, itemIds: [] };

  const change = (wanted, apply) =>
    store.update(wanted, (slices) => {
      const draft = new Draft(slices);
      const result = apply(draft);
      return { ...draft.changed, result };
    });

  /** Change what the next backup should hold. */
  const changeOfNote = (wanted, apply) =>
    change({ ...wanted, ...NOTE }, (draft) => {
      const result = apply(draft);
      const note = noteOf(draft.slices);
      if (draft.isChanged()) draft.put("notes", { ...note, count: note.count + 1 });
      return result;
    });

  const checkedMax = Math.min(arrayMax, AT_ONCE_MAX);
  const gather = makeGather({ store, api, derive, isStrong, checkedMax, gap });
  const {
    keepGathered: keep,
    endOpen,
    ...asked
  } = makeChecks({
    store,
    api,
    change,
    isStrong,
    gather,
    checkedMax,
    now,
  });

  /**
   * Write an operation down, whole, with its secrets; then send it. Where another copy
   * of this wallet was faster, it is begun again with what is known by then, unless it
   * `isOnce`.
   * @returns {Promise<Outcome>}
   */
  async function carryOut(rule, given) {
    let outcome = await carryOutOnce(rule, given);
    for (let tries = 1; outcome?.isOvertaken && tries < TRIES_MAX; tries += 1) {
      const before = outcome;
      outcome = await carryOutOnce(rule, given).catch((error) => {
        // What is left is not enough: then the refusal says why.
        if (error instanceof WalletError) return { ...before, isOvertaken: false };
        throw error;
      });
    }
    return outcome;
  }

  async function carryOutOnce(rule, given) {
    const plan = { ...given, key: crypto.randomUUID(), now: now(), arrayMax };
    const begun = await writeDown(rule, plan);
    if (!begun) return begun;
    if (begun.isUnsent) return { operation: begun };
    const outcome = await asked.finish(begun.key, true);
    const isAgain = begun.key === plan.key && !given.isOnce;
    const isOvertaken = isAgain && wasOvertaken(outcome.operation);
    return { ...outcome, isOvertaken };
  }

  function writeDown(rule, plan) {
    const secrets = new Secrets(derive);
    const planned = { ...plan, secrets };
    return secrets.during(() => {
      const wanted = beginningWanted(rule, planned);
      return changeOfNote(wanted, (draft) => begin(draft, rule, planned));
    });
  }

  return {
    carryOut,
    ...asked,
    ...makeLook({ store, change, gather, keep, endOpen, now }),
    ...makeDoorList({ store, change: changeOfNote, isStrong, now }),

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
      return carryOut("mint", { outputs: made, fresh, ...about });
    },

    /**
     * Claim an output that somebody handed over.
     * @param {import("../format/raw_output.js").RawOutput} output
     * @param {{unit?: string, atDoor?: boolean, isUnsent?: true, knows?: object}} [options] the
     *   link's word for a unit; `atDoor` also claims what this wallet holds or handed out itself,
     *   and sets aside what it makes; where `isUnsent` it is only written down, for `finish` to
     *   send; number and note that a door list `knows`
     * @returns {Promise<Outcome>}
     * @throws {WalletError} `already_claimed`, here at the time `at`; `already_held`;
     *   at the door `busy` where its claim began before, at the time `at`
     */
    async claim({ amount, itemId, secret }, options = {}) {
      const { unit, atDoor = false, isUnsent, knows } = options;
      const output = {
        amount: checkAmount(amount),
        itemId,
        secret: checkSecret(secret),
      };
      const outputKey = keyOf(output);
      return carryOut("claim", { output, outputKey, unit, atDoor, isUnsent, knows });
    },

    /**
     * Make a fresh secret of `amount` units to give away; it is the operation's first
     * output.
     */
    send: async (itemId, amount) =>
      carryOut("send", { itemId, amount: checkAmount(amount) }),

    /** Split an output into these amounts and the rest of it. */
    async split(outputKey, amounts) {
      checkCount(amounts, arrayMax);
      amounts.forEach(checkAmount);
      return carryOut("split", { outputKey, amounts });
    },

    /** Make a series of numbered links from what is held. */
    async makeLinks(itemId, wanted) {
      const links = checkLinks(wanted);
      return carryOut("links", { itemId, links });
    },

    /**
     * Make one more batch of the links that a mint or `makeLinks` promised; what is
     * begun already, by another tab too, is finished instead.
     * @returns {Promise<Outcome | null>} null when all are made
     */
    prepareNext: (itemId) => carryOut("nextLinks", { itemId }),

    /**
     * Note that the links of these outputs are handed out, see links.js. Nothing is
     * sent.
     */
    give: (keys) =>
      changeOfNote({ outputs: keys }, (draft) => give(draft, keys, now())),

    /** Note when the code of what is held was last shown; no backup is needed for that. */
    shown: (key) =>
      change({ outputs: [key] }, (draft) => {
        if (isFree(draft.outputs.get(key) ?? {}))
          draft.changeOutput(key, { shownAt: now() });
      }),

    /** Keep a person's note on an output. */
    setNote: (key, text) =>
      changeOfNote({ outputs: [key] }, (draft) => setNote(draft, key, text)),

    /** Join the parts of an item that are free and have no number. */
    merge: (itemId) => carryOut("merge", { itemId }),

    /**
     * Make links of an item that were handed out worthless, unless somebody was faster.
     */
    takeBack: (...outputKeys) => carryOut("takeBack", { outputKeys }),

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
        const ofItem = draft.operations.list({ itemId });
        const unit = ofItem.find((operation) => operation.unit)?.unit;
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
    keepCodes: (codes) => store.update({}, () => ({ codes, result: undefined })),

    backup: {
      /**
       * Return how much has changed since the last backup, and how many items that it
       * does not name are here: what becomes of the others is found by its seed. Return
       * what encrypts the next one too, and the `file` that it is written to.
       */
      async status() {
        const { count, savedCount, itemIds, ...more } = await store.read(NOTE, noteOf);
        const changesCount = count - savedCount;
        const isNew = ({ state, itemId }) =>
          state !== "spent" && !itemIds.includes(itemId);
        const fresh = ({ outputs }) => itemIdsOf(outputs.list().filter(isNew));
        const news = changesCount ? await store.read({ outputs: "all" }, fresh) : [];
        return { ...more, changesCount, newCount: news.length };
      },

      /**
       * Note that the records of the last `exportRecords` are in a file.
       * @param {import("./file.js").Material | null} material
       * @param {any} [file] what the browser writes the next one to
       * @returns {Promise<void>}
       */
      async saved(material, file = null) {
        const about = { ...exported, at: now(), material, file };
        const save = (draft) =>
          void draft.put("notes", { ...noteOf(draft.slices), ...about });
        await change(NOTE, save).catch((error) => {
          // Some private windows keep no keys.
          if (error.name !== "DataCloneError" || !material) throw error;
          return this.saved(null);
        });
      },
    },

    /** Return all records, for file.js. They hold every secret. */
    exportRecords: () =>
      store.read(ALL, (slices) => {
        const { outputs, operations, items, numbers } = slices;
        const itemIds = itemIdsOf(outputs.list());
        exported = { savedCount: noteOf(slices).count, itemIds };
        return {
          outputs: outputs.list(),
          operations: operations.list(),
          items: items.list(),
          seeds: seedsOf(slices),
          numbers: numbers.list(),
        };
      }),

    /**
     * Return whether a file is of this wallet, by its own seed. Return null where it
     * comes with another one into a wallet that has never done anything: only a person
     * knows whose it is.
     * @returns {Promise<boolean | null>}
     */
    isOwnFile: ({ seeds }) =>
      store.read({ operations: "all", seeds: "all" }, (slices) => {
        const own = seeds.find(({ isOwn }) => isOwn);
        const isUsed = slices.operations.list().length > 0;
        const isOurs = own?.key === ownSeed(slices);
        return own && !isOurs && !isUsed ? null : isOurs;
      }),

    /**
     * Merge the records of another wallet, or of an earlier state of this one. A wallet
     * that has never done anything goes on with the seed of a file that `isOwn`; of one
     * that is neither that nor of our seed, less is believed.
     */
    importRecords(theirs, { isOwn = false } = {}) {
      return changeOfNote(ALL, (draft) => {
        const note = noteOf(draft.slices);
        const isEmpty = isOwn && !draft.operations.list().length;
        const merged = mergeInto(draft, theirs, isOwn);
        if (!draft.isChanged()) return merged;
        // What comes into an empty wallet is in a file, maybe of a page without seeds;
        // beside other deeds it is not in theirs.
        const inFile = theirs.seeds.length ? itemIdsOf(theirs.outputs) : [];
        const added = itemIdsOf(merged.added);
        const itemIds = note.itemIds.filter((itemId) => !added.includes(itemId));
        const saved = { savedCount: note.count + 1, at: now(), itemIds: inFile };
        draft.put("notes", { ...note, ...(isEmpty ? saved : { itemIds }) });
        // What was moved since is still to be found.
        askForLook(draft, itemIdsOf(draft.outputs.list()));
        return merged;
      });
    },
  };
}

/** Return whether another copy of this wallet has used a number or an input first. */
const wasOvertaken = (
  /** @type {import("./records.js").OperationRecord} */ { state, code = "", kind },
) =>
  state === "refused" &&
  (USED.has(code) || (code === "spent_input" && CHOOSING.has(kind)));

/** Return the items of which a wallet has or had something. */
const itemIdsOf = (outputs) => [
  ...new Set(outputs.filter(isOurs).map(({ itemId }) => itemId)),
];

function noteOf({ notes }) {
  const none = { key: BACKUP, count: 0, savedCount: 0, itemIds: [], at: null };
  return { ...none, material: null, file: null, ...notes.get(BACKUP) };
}
