// Backups: selects the records for one, merges the records of one, finds out whose it
// is, and counts the changes since the last one. The file format is in file.js.

import { askForLook, LOOK, placesOf, secretRows } from "./finding.js";
import { mergeInto } from "./merging.js";
import { keyOf, keysOf } from "./records.js";
import { isUsed, ownSeed, seedsAndNumbers, seedsOf } from "./seeds.js";
import { isLive, isOurs } from "./states.js";

const BACKUP = "backup";
/**
 * Maximum number of secrets that are checked to see whether a seed has unspent outputs.
 * A stranger's file may claim to have used billions.
 */
const LOOKED_AT_MAX = 100_000;
/** Notes that every change may write, too. */
export const NOTE = { notes: [BACKUP, LOOK] };
/** @type {import("./records.js").Plan} */
const ALL = {
  outputs: "all",
  operations: "all",
  items: "all",
  seeds: "all",
  numbers: "all",
  ...NOTE,
};

/** @typedef {import("./wallet.js").Parts} Parts */

/**
 * Return the wallet's functions for backups.
 * @param {Parts} parts
 */
export function makeBackup({ store, change, changeOfNote, now }) {
  /** The last export: how many changes it includes, and its items. */
  /** @type {{savedCount: number, itemIds: string[]}} */
  let exported = { savedCount: 0, itemIds: [] };

  /** @returns {import("./records.js").Records} */
  const recordsOf = (slices) => ({
    outputs: slices.outputs.list().map(({ takers, makers, ...output }) => output),
    operations: slices.operations.list(),
    items: slices.items.list(),
    ...seedsAndNumbers(slices),
    at: now(),
  });

  return {
    backup: {
      /**
       * Return `changesCount`, the number of changes since the last backup, and
       * `newCount`, the number of items here that it does not name; a search can find
       * what became of those that it names. Return also the `material` that encrypts
       * the next backup, the `file` to write it to, and what was `restored` since
       * (`at`: the time of that file, if known).
       */
      async status() {
        const { count, savedCount, itemIds, ...more } = await store.read(
          NOTE,
          backupNote,
        );
        const changesCount = count - savedCount;
        const isNew = ({ state, itemId }) =>
          state !== "spent" && !itemIds.includes(itemId);
        const fresh = ({ outputs }) => itemIdsOf(outputs.list().filter(isNew));
        const news = changesCount ? await store.read({ outputs: "all" }, fresh) : [];
        return { ...more, changesCount, newCount: news.length };
      },

      /**
       * Record that the records of the last `exportRecords` are in a file.
       * @param {import("./file.js").Material | null} material
       * @param {any} [file] the file that the browser writes the next one to
       * @returns {Promise<void>}
       */
      async saved(material, file = null) {
        const about = { ...exported, material, file, restored: null };
        const save = (draft) =>
          void draft.put("notes", { ...backupNote(draft), ...about, at: draft.now });
        await change(NOTE, save).catch((error) => {
          // Some private windows store no keys.
          if (error.name !== "DataCloneError" || !material) throw error;
          return this.saved(null);
        });
      },
    },

    /** Return all records, for file.js. They include every secret. */
    allRecords: () => store.read(ALL, recordsOf),

    /** Return all records for a backup. Call `saved` once it is written. */
    exportRecords: () =>
      store.read(ALL, (slices) => {
        exported = {
          savedCount: backupNote(slices).count,
          itemIds: itemIdsOf(slices.outputs.list()),
        };
        return recordsOf(slices);
      }),

    /**
     * Return whether a file has this wallet's own seed. Return null if it has another
     * one: only the person knows whose it is.
     * @returns {Promise<boolean | null>}
     */
    isOwnFile: ({ seeds }) =>
      store.read({ seeds: "all" }, (slices) => {
        const own = seeds.find(({ isOwn }) => isOwn);
        return own?.key === ownSeed(slices) || (own ? null : false);
      }),

    /**
     * Merge the records of another wallet, or of an older copy of this one. With
     * `isOwn`, an unused wallet adopts the file's seed. A file that is neither `isOwn`
     * nor of our seed is trusted less.
     */
    importRecords: (theirs, { isOwn = false } = {}) =>
      changeOfNote(ALL, (draft) => takeIn(draft, theirs, isOwn)),
  };
}

function takeIn(draft, theirs, isOwn) {
  const note = backupNote(draft);
  const inFile = theirs.seeds.length ? itemIdsOf(theirs.outputs) : [];
  const hasSeed =
    !isUsed(draft) || theirs.seeds.some(({ key }) => key === ownSeed(draft));
  const isAllInFile = itemIdsOf(draft.outputs.list().filter(isLive)).every((itemId) =>
    inFile.includes(itemId),
  );
  const merged = mergeInto(draft, theirs, isOwn);
  if (!draft.isChanged()) return merged;
  // The file counts as a backup of this wallet if it is the person's own, names all
  // items that are live here, and has this wallet's seed (unless the wallet was
  // unused). Otherwise the added items are in no backup.
  const added = itemIdsOf(merged.added);
  const itemIds = note.itemIds.filter((itemId) => !added.includes(itemId));
  const saved = { savedCount: note.count + 1, at: draft.now, itemIds: inFile };
  const more = isOwn && hasSeed && isAllInFile ? saved : { itemIds };
  draft.put("notes", { ...note, ...more, restored: { at: theirs.at } });
  // Units that were moved since the file was written must still be found.
  askForLook(draft, itemIdsOf(draft.outputs.list()));
  return merged;
}

/**
 * Return functions that forget the seeds of joined wallets.
 * @param {Parts} parts
 */
export function makeJoined({ store, change, derive }) {
  return {
    /**
     * Return the seeds of joined wallets that have no output here that is unspent or
     * under way.
     */
    async emptySeeds() {
      const { others, rows, live } = await store.read(ALL, (slices) => {
        const live = slices.outputs.list().filter(isLive);
        const rows = itemIdsOf(live).flatMap((itemId) => secretRows(slices, itemId));
        return { others: seedsOf(slices).filter(({ isOwn }) => !isOwn), rows, live };
      });
      const places = rows.flatMap(({ next, ...row }) => {
        const count = Math.min(next, Math.ceil(LOOKED_AT_MAX / rows.length));
        return placesOf(row, next - count, count);
      });
      const secrets = await derive(places);
      const left = new Set(keysOf(live));
      const isLeft = (place, at) => left.has(keyOf({ ...place, secret: secrets[at] }));
      const inUse = new Set(places.filter(isLeft).map(({ seed }) => seed));
      return others.filter(({ key }) => !inUse.has(key));
    },

    /** Stop searching with these seeds, unless a file contains them again. */
    forgetSeeds: (seeds) =>
      change({ seeds: "all", ...NOTE }, (draft) => {
        for (const seed of seeds) draft.put("seeds", { ...seed, isUnused: true });
      }),
  };
}

/** Return the items of which the wallet has or had outputs. */
const itemIdsOf = (outputs) => [
  ...new Set(outputs.filter(isOurs).map(({ itemId }) => itemId)),
];

function backupNote({ notes }) {
  return {
    key: BACKUP,
    count: 0,
    savedCount: 0,
    itemIds: [],
    at: null,
    material: null,
    file: null,
    restored: null,
    ...notes.get(BACKUP),
  };
}

/** Count a change that the next backup must contain. */
export function countChange(draft) {
  const note = backupNote(draft);
  if (draft.isChanged()) draft.put("notes", { ...note, count: note.count + 1 });
}
