// The wallet: what this browser holds, and how it moves.
//
// Every verb is first written down whole, then sent, then settled. Whenever the page
// dies in between, `finishBegun` sends it again with the same Idempotency-Key, which
// the service carries out once.

import { sumOf } from "../format/amounts.js";
import { checkSecret, isStrongSecret } from "../format/raw_output.js";
import { AT_ONCE_MAX } from "./api.js";
import { begin, beginningWanted } from "./beginning.js";
import { keysOf, makeChecks, readOutputs } from "./checking.js";
import { checkAmount, checkCount, checkLinks, checkUnit } from "./links.js";
import { giveOut, linkParts, setNote } from "./links.js";
import { Draft, keyOf } from "./records.js";

const BACKUP = "backup";
const NOTE = { notes: [BACKUP] };
/** @type {import("./records.js").Plan} */
const ALL = { outputs: "all", operations: "all", items: "all", ...NOTE };

/**
 * @typedef {ReturnType<typeof makeWallet>} Wallet
 * @typedef {import("./checking.js").Outcome} Outcome
 */

/**
 * Return a wallet.
 * @param {object} parts
 * @param {Pick<import("./store.js").Store, "read" | "update">} parts.store
 * @param {import("./api.js").Api} parts.api
 * @param {() => Promise<string>} parts.makeSecret
 * @param {(secret: string) => Promise<boolean>} [parts.isStrong] whether a machine made a secret
 * @param {number} [parts.arrayMax] how many inputs or outputs the service takes at once
 * @param {() => number} [parts.now] in milliseconds
 */
export function makeWallet({
  store,
  api,
  makeSecret,
  isStrong = isStrongSecret,
  arrayMax = AT_ONCE_MAX,
  now = Date.now,
}) {
  /** How many changes the records of the last export hold. */
  let exportedCount = 0;

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
  const asked = makeChecks({ store, api, change, isStrong, checkedMax, now });

  /**
   * Write an operation down, whole, with so many fresh secrets; then send it.
   * @returns {Promise<Outcome>}
   */
  async function carryOut(rule, secretsCount, given) {
    const secrets = await Promise.all(
      Array.from({ length: secretsCount }, () => makeSecret()),
    );
    const plan = { ...given, secrets, key: crypto.randomUUID(), now: now(), arrayMax };
    const wanted = beginningWanted(rule, plan);
    const begun = await changeOfNote(wanted, (draft) => begin(draft, rule, plan));
    return begun && asked.finish(begun.key, true);
  }

  return {
    carryOut,
    ...asked,

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
      const plan = { outputs: made, amount, links, metadata, unit: checkUnit(unit) };
      return carryOut("mint", made.length, plan);
    },

    /**
     * Claim an output that somebody handed over.
     * @param {import("../format/raw_output.js").RawOutput} output
     * @param {{unit?: string, atDoor?: boolean}} [options] the link's word for a unit; `atDoor` also
     *   claims what this wallet holds or handed out itself, and sets aside what it makes
     * @returns {Promise<Outcome>}
     * @throws {WalletError} `already_spent` here, at the time `at`; `spent_elsewhere`;
     *   `already_held`; at the door `busy` where its claim began before, at the time `at`
     */
    async claim({ amount, itemId, secret }, { unit, atDoor = false } = {}) {
      const output = {
        amount: checkAmount(amount),
        itemId,
        secret: checkSecret(secret),
      };
      return carryOut("claim", 1, { output, outputKey: keyOf(output), unit, atDoor });
    },

    /**
     * Make a fresh secret of `amount` units to give away; it is the operation's first
     * output.
     */
    send: async (itemId, amount) =>
      carryOut("send", 2, { itemId, amount: checkAmount(amount) }),

    /** Split an output into these amounts and the rest of it. */
    async split(outputKey, amounts) {
      checkCount(amounts, arrayMax);
      amounts.forEach(checkAmount);
      return carryOut("split", amounts.length + 1, { outputKey, amounts });
    },

    /** Make a series of numbered links from what is held. */
    async makeLinks(itemId, wanted) {
      const links = checkLinks(wanted);
      return carryOut("links", Math.min(links.count, arrayMax) + 1, { itemId, links });
    },

    /**
     * Make one more batch of the links that a mint or `makeLinks` promised; what is
     * begun already, by another tab too, is finished instead.
     * @returns {Promise<Outcome | null>} null when all are made
     */
    prepareNext: (itemId) => carryOut("nextLinks", arrayMax, { itemId }),

    /**
     * Note that the links of these outputs are handed out, see links.js. Nothing is
     * sent.
     */
    giveOut: (keys) =>
      changeOfNote({ outputs: keys }, (draft) => giveOut(draft, keys, now())),

    /** Keep a person's note on an output. */
    setNote: (key, text) =>
      changeOfNote({ outputs: [key] }, (draft) => setNote(draft, key, text)),

    /** Join the parts of an item that are free and have no number. */
    merge: (itemId) => carryOut("merge", 1, { itemId }),

    /**
     * Make links of an item that were handed out worthless, unless somebody was faster.
     */
    takeBack: (...outputKeys) => carryOut("takeBack", 1, { outputKeys }),

    /**
     * Return the registry's item, which never changes, from the store if it is there.
     */
    async item(itemId) {
      const known = await store.read({ items: [itemId] }, ({ items }) =>
        items.get(itemId),
      );
      if (known) return known;
      const item = await api.item(itemId);
      const kept = change({ items: [itemId], operations: { itemId } }, (draft) => {
        const ofItem = draft.operations.list({ itemId });
        const unit = ofItem.find((operation) => operation.unit)?.unit;
        return draft.items.get(itemId) ?? draft.putItem({ ...item, unit });
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
       * Return how much has changed since the last backup, and what encrypts the next
       * one too.
       */
      async status() {
        const { count, savedCount, at, material } = await store.read(NOTE, noteOf);
        return { changesCount: count - savedCount, at, material };
      },

      /**
       * Note that the records of the last `exportRecords` are in a file.
       * @param {import("./file.js").Material | null} material
       * @returns {Promise<void>}
       */
      async saved(material) {
        const about = { savedCount: exportedCount, at: now(), material };
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
        exportedCount = noteOf(slices).count;
        const { outputs, operations, items } = slices;
        return {
          outputs: outputs.list(),
          operations: operations.list(),
          items: items.list(),
        };
      }),

    /** Merge the records of another wallet, or of an earlier state of this one. */
    async importRecords(theirs) {
      const { mergeInto } = await import("./merging.js");
      return changeOfNote(ALL, (draft) => {
        const note = noteOf(draft.slices);
        const saved = { ...note, savedCount: note.count + 1, at: now() };
        // What comes into an empty wallet is in a file.
        if (!draft.operations.list().length) draft.put("notes", saved);
        return mergeInto(draft, theirs);
      });
    },
  };
}

function noteOf({ notes }) {
  return (
    notes.get(BACKUP) ?? {
      key: BACKUP,
      count: 0,
      savedCount: 0,
      at: null,
      material: null,
    }
  );
}
