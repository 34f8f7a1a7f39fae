// Guest lists: which tickets were let in and when, with their numbers and notes, as far
// as a browser knows. Doors and the maker exchange them as text. Lists are merged: the
// latest entry of a ticket counts. A list names a ticket by a hash of its secret, so
// that nobody can claim it from a list.

import { isAmount } from "../format/amounts.js";
import { gettext } from "../format/gettext.js";
import { sha256 } from "../format/raw_output.js";
import { noteOf } from "../format/tickets.js";
import { CLOCK_OFF_MS } from "./api.js";
import { isNote, LINK_NUMBER_MAX } from "./links.js";
import { isCollected, itemIdOf, recordsWith, unitsOf, WalletError } from "./records.js";
import { hexOf } from "./seeds.js";
import { isLive, isOurs } from "./states.js";

const HEAD = "deeds door list 1";
const LABEL = "deeds door list v1:";
const ID_BYTES = 8;
/** In characters or bytes: about 200,000 tickets. */
const LIST_SIZE_MAX = 8_000_000;
/** Maximum number of issues of a ticket in a list, unless this wallet knows more. */
const ISSUES_MAX = 10;
const DAY_MS = 86_400_000;
const ROW =
  /^([0-9a-f]{16}) ([aubcn])([0-9a-z]{1,8}) (\d{1,16})(?: (\d{1,10}) (\d{1,10}) (\d{1,10})(?: (.+))?)?$/;
/** What the letters of a list mean. With "n", the ticket is unchanged. */
const STATES = {
  n: "expected",
  b: "taken back",
  a: "admitted",
  u: "undone",
  c: "collected",
};
/** The field of an output with the time at which a letter became true. */
const TIMES = {
  b: "takenBackAt",
  a: "admittedAt",
  u: "undoneAt",
  c: "collectedAt",
};
/** If two entries are of one second, the later of these letters counts. */
const LETTERS = Object.keys(STATES);

/**
 * What a list says of a ticket, and since when.
 * @typedef {{
 *   id: string, letter: string, at: number, amount: number, number?: number, of?: number,
 *   issue?: number, note?: string, said?: number,
 * }} Row `said` is the number that the code stated at a door, if no number is known;
 *   lists have it in the place of `of`
 * @typedef {import("./records.js").OutputRecord} OutputRecord
 * @typedef {import("./records.js").Draft} Draft
 */

/**
 * Return the id by which lists name a ticket.
 * @param {Pick<OutputRecord, "key">} output
 */
export async function ticketId({ key }) {
  // If a ticket is known only from a list, its key is the id.
  if (!itemIdOf(key)) return key;
  return hexOf((await sha256(LABEL + key)).subarray(0, ID_BYTES));
}

/** Return whether a text is a guest list. A first line alone is not. */
export const isDoorList = (text) => text.startsWith(HEAD) && text.includes("\n");

/** The list that was read last: it may be long, and every scan needs it. */
let lastRead = { text: "", rows: /** @type {Row[]} */ ([]) };

/** Return the rows of a list. They are cached and must not be changed. */
export function rowsOf(text = "") {
  if (!text) return [];
  if (text !== lastRead.text) lastRead = { text, rows: readRows(text) };
  return lastRead.rows;
}

/** Return the rows of a list without invalid lines. @returns {Row[]} */
function readRows(/** @type {string} */ text) {
  return text.split("\n").flatMap((line) => {
    const [, id, letter, time, ...more] = ROW.exec(line.trimEnd()) ?? [];
    const [amount, number, of, issue] = more.slice(0, 4).map(Number);
    const note = more[4];
    const isValid = [number, of, issue].every((each) => !(each > LINK_NUMBER_MAX));
    const isOfSeries = !of || !(number > of);
    if (!id || !isAmount(amount) || !isValid || !isOfSeries || !isNote(note ?? ""))
      return [];
    const named = number ? { number, of: of || number } : of && { said: of };
    const reissued = number && issue > 1 && { issue };
    const at = 1000 * parseInt(time, 36);
    return [{ id, letter, at, amount, ...named, ...reissued, ...(note && { note }) }];
  });
}

/** Check the size of a list before it is read. @throws {WalletError} */
export function checkListSize(/** @type {number} */ size) {
  if (size > LIST_SIZE_MAX)
    throw new WalletError("no_list", gettext("This list is too large."));
}

export const writeList = (itemId, /** @type {Row[]} */ rows) =>
  [`${HEAD} ${itemId}`, ...rows.map(lineOf)].join("\n");

function lineOf(/** @type {Row} */ { id, letter, at, amount, number = 0, ...row }) {
  const { of = row.said ?? 0, issue = 1, note = "" } = row;
  const time = Math.floor(at / 1000).toString(36);
  const named = number || of || note ? ` ${number} ${of} ${issue} ${note}` : "";
  return `${id} ${letter}${time} ${amount}${named}`.trimEnd();
}

/** Merge lists of one deed; return undefined if they have no rows. */
export const joinLists = (itemId, ...texts) =>
  listOf(itemId, joinRows(texts.flatMap((text) => rowsOf(text))));

const listOf = (itemId, rows) => (rows.length ? writeList(itemId, rows) : undefined);

/**
 * Merge the rows of several lists of one deed, one per ticket. If two have a note, the
 * first stays.
 */
function joinRows(/** @type {Row[]} */ all) {
  /** @type {Map<string, Row>} */
  const rows = new Map();
  for (const row of all) {
    const known = rows.get(row.id);
    rows.set(row.id, known ? joined(known, row) : row);
  }
  return [...rows.values()];
}

function joined(/** @type {Row} */ known, /** @type {Row} */ row) {
  const latest = isLater(row, known) ? row : known;
  const { number, of, issue } = known.number ? known : row;
  const note = known.note ?? row.note;
  const said = Math.max(known.said ?? 0, row.said ?? 0) || undefined;
  return { ...latest, number, of, issue, note, said };
}

/**
 * Return whether a row is later. The order in which lists are merged must not matter.
 */
function isLater(/** @type {Row} */ row, /** @type {Row} */ known) {
  const order = LETTERS.indexOf(row.letter) - LETTERS.indexOf(known.letter);
  return (row.at - known.at || order || row.amount - known.amount) > 0;
}

/**
 * Return a list in parts of at most `lengthMax` characters, each a list.
 * @param {string} text
 */
export function partsOfList(text, lengthMax) {
  const [head, ...lines] = text.split("\n");
  const parts = [head];
  for (const line of lines) {
    const longer = `${parts.at(-1)}\n${line}`;
    if (longer.length > lengthMax) parts.push(`${head}\n${line}`);
    else parts[parts.length - 1] = longer;
  }
  return parts;
}

/**
 * Return when a ticket was let in, here or by a list; 0 if it was not, or that was
 * undone.
 */
export function admittedAtOf(/** @type {OutputRecord} */ output) {
  const { state, collectedAt = 0, admittedAt = 0, undoneAt = 0 } = output;
  if (state === "spent" && isCollected(output)) return collectedAt;
  return admittedAt > undoneAt ? admittedAt : 0;
}

/** Return whether this output was made by admitting a ticket, and is still held. */
const isSetAside = (/** @type {OutputRecord} */ output) =>
  output.state === "held" && isCollected(output);

/** Return the keys of the operations that made outputs by admitting tickets. */
export const setAsideBy = (/** @type {OutputRecord[]} */ outputs) =>
  new Set(outputs.filter(isSetAside).map(({ operation }) => operation));

/**
 * Return the tickets of an item's list as links, see holdings.js.
 * @returns {import("./holdings.js").Link[]}
 */
export function listedLinks(/** @type {import("./records.js").Item | null} */ item) {
  return rowsOf(item?.doorList).map(({ id, letter, at, ...ticket }) => {
    const about = { key: id, itemId: item?.id, createdAt: at, state: "listed" };
    return /** @type {any} */ ({
      output: { ...ticket, ...about },
      state: STATES[letter],
      at,
    });
  });
}

/**
 * Return the wallet's functions for guest lists.
 * @param {import("./wallet.js").Parts} parts
 */
export function makeDoorList({ store, api, now, changeOfNote, isStrong }) {
  const planOf = (itemId) => ({ outputs: { itemId }, items: [itemId] });
  /** Return how far this device's clock is ahead, in ms; 0 if that is negligible. */
  const aheadMs = () => {
    const moment = now();
    const ahead = moment - (api.time() ?? moment);
    return Math.abs(ahead) < CLOCK_OFF_MS ? 0 : ahead;
  };

  return {
    /**
     * Return the list of these links. A ticket whose secret a person chose is left out
     * until it is spent: its hash could reveal the secret. Outputs made by admitting
     * tickets here are listed, so that the maker's other browsers do not count them as
     * left.
     * @param {import("./holdings.js").Link[]} links
     */
    async doorList(itemId, links) {
      const ahead = aheadMs();
      const collected = await store.read(planOf(itemId), (slices) =>
        collectedOf(slices, itemId),
      );
      const rows = await Promise.all(
        [...links, ...collected].map(async ({ output, state, at }) => {
          const isSpent = output.state === "spent";
          const { secret } = output;
          const isSafe = !secret || isSpent || (await isStrong(secret));
          if (!isSafe) return [];
          const letter = LETTERS.find((each) => STATES[each] === state) ?? "n";
          // Others would not believe a time in the future.
          const isOurs = output.collectedAt || output.isByHand;
          const since = letter === "n" ? 0 : at - (isOurs ? ahead : 0);
          const note = noteOf(output, output.note);
          return [{ ...output, note, id: await ticketId(output), letter, at: since }];
        }),
      );
      return writeList(itemId, rows.flat());
    },

    /**
     * Take in the list of another browser. Return how many units its tickets have.
     * @param {string} text
     * @throws {WalletError} it is no list of this deed, or has too many tickets
     */
    async takeInList(itemId, text) {
      checkListSize(text.length);
      const rows = rowsOf(text);
      if (!isDoorList(text) || !rows.length)
        throw new WalletError("no_list", gettext("This is not a guest list."));
      if (!text.startsWith(`${HEAD} ${itemId}\n`))
        throw new WalletError("no_list", gettext("This list belongs to another deed."));
      const known = await recordsWith(store, "outputs", { itemId });
      // A ticket that was refused here is known from lists only.
      const outputs = known.filter((each) => isOurs(each) && !each.neverHeld);
      const ids = await Promise.all(outputs.map(ticketId));
      const keys = new Map(ids.map((id, place) => [id, outputs[place].key]));
      const time = api.time();
      const latest = time === null ? now() + DAY_MS : time + CLOCK_OFF_MS;
      // A time in the future would win over every later one.
      const dated = rows.map((row) => (row.at > latest ? { ...row, at: 0 } : row));
      await changeOfNote(planOf(itemId), (draft) =>
        noteRows(draft, itemId, dated, keys),
      );
      // A ticket that was taken back or undone has another link.
      return unitsOf(rows.filter(({ letter }) => letter === "n" || letter === "a"));
    },

    /** Forget what lists have said of a deed, except numbers and notes. */
    forgetLists: (itemId) =>
      changeOfNote(planOf(itemId), (draft) => forget(draft, itemId)),

    /**
     * Undo an admission. If the ticket was admitted here, return a new link with its
     * number and units. Otherwise only record that the admission was undone.
     * @returns {Promise<OutputRecord | null>}
     */
    undoAdmission: (itemId, key) =>
      changeOfNote(planOf(itemId), (draft) =>
        (itemIdOf(key) ? undo : undoRow)(draft, itemId, key),
      ),

    /** Record that a ticket was shown again. Return how often it was shown. */
    scannedAgain: (key) =>
      changeOfNote({ outputs: [key] }, (draft) => {
        const { scans = 1 } = draft.outputs.existing(key);
        draft.changeOutput(key, { scans: scans + 1 });
        return scans + 1;
      }),

    /** Return the row of a ticket in the imported lists, or undefined. */
    async listed(/** @type {string} */ key) {
      const itemId = itemIdOf(key);
      const read = ({ items }) => items.get(itemId)?.doorList;
      const rows = rowsOf(await store.read({ items: [itemId] }, read));
      const id = await ticketId({ key });
      return rows.find((row) => row.id === id);
    },
  };
}

/** Return the outputs made by admitting tickets at their maker's door, as links. */
const collectedOf = ({ items, outputs }, itemId) =>
  outputs
    .list({ itemId })
    .filter((output) => items.get(itemId)?.isMinted && isSetAside(output))
    .map((output) => ({ output, state: "collected", at: output.collectedAt }));

/**
 * Record rows of known outputs with these outputs, and keep the other rows as a list.
 */
function noteRows(/** @type {Draft} */ draft, itemId, rows, keys) {
  const { doorList, total } = draft.items.existing(itemId);
  const isPossible = ({ amount }) => amount <= total;
  // A list that is sent again has mostly been corrected, so its note comes first.
  const all = joinRows([...rows.filter(isPossible), ...rowsOf(doorList)]);
  const issuesMax = draft.outputs
    .list({ itemId })
    .reduce((most, { issue = 1 }) => Math.max(most, issue), ISSUES_MAX);
  if (all.length > total * issuesMax)
    throw new WalletError(
      "no_list",
      gettext(
        "That is more tickets than there are. If an earlier list was wrong, forget the imported lists.",
      ),
    );
  for (const row of all) {
    if (keys.has(row.id)) noteRow(draft, keys.get(row.id), row);
  }
  const others = all.filter(({ id, letter }) => !keys.has(id) && letter !== "c");
  keepList(draft, itemId, listOf(itemId, others));
}

function noteRow(/** @type {Draft} */ draft, key, /** @type {Row} */ row) {
  const { letter, at, number, of, issue, note } = row;
  const output = draft.outputs.existing(key);
  const name = TIMES[letter];
  // Lists have whole seconds. Use the last millisecond of the second, so that undoing
  // comes after an admission in the same second.
  const since = letter === "u" ? at + 999 : at;
  // This is somebody else's ticket that was admitted here without its number, or a
  // later issue that a copy of this wallet made.
  const isNameless = !output.number && (!isLive(output) || output.foundAt);
  // The admission was undone at the door that made it, and the guest may have the new
  // link.
  const { foundAt, givenAt } = output;
  const isNewLink = isNameless && foundAt && !givenAt && letter === "n";
  const asLink = { collectedAt: undefined, givenAt: draft.now, mayBeGiven: true };
  draft.changeOutput(key, {
    ...(isNameless && { number, of, issue, note: note ?? output.note }),
    ...(isNewLink && asLink),
    ...(name && { [name]: Math.max(output[name] ?? 0, since) }),
  });
}

function forget(/** @type {Draft} */ draft, itemId) {
  const all = draft.outputs.list({ itemId });
  const setAside = setAsideBy(all);
  for (const { key, collectedAt, operation, undoneAt, foundAt, state } of all) {
    // What was undone here has become another link.
    const isUndoneHere = collectedAt && !setAside.has(operation);
    // What another copy of this wallet let in is known from its list only.
    const isFromList = foundAt && state === "held";
    draft.changeOutput(key, {
      admittedAt: undefined,
      isByHand: undefined,
      takenBackAt: undefined,
      undoneAt: isUndoneHere ? undoneAt : undefined,
      collectedAt: isFromList ? undefined : collectedAt,
    });
  }
  keepList(draft, itemId, undefined);
}

function keepList(draft, itemId, doorList) {
  const item = draft.items.existing(itemId);
  if (doorList !== item.doorList) draft.putItem({ ...item, doorList });
}

function undoRow(draft, itemId, id) {
  const rows = rowsOf(draft.items.existing(itemId).doorList);
  const row = /** @type {Row} */ (rows.find((each) => each.id === id));
  // The clock that wrote the row may be ahead of ours.
  const undone = { ...row, letter: "u", at: Math.max(draft.now, row.at) };
  keepList(draft, itemId, listOf(itemId, joinRows([...rows, undone])));
  return null;
}

function undo(draft, itemId, key) {
  const output = draft.outputs.existing(key);
  const { admittedAt = 0, collectedAt = 0 } = output;
  // The clock that recorded one of these times may have been ahead.
  const undoneAt = Math.max(draft.now, admittedAt, collectedAt);
  draft.changeOutput(key, { undoneAt });
  if (!collectedAt) return null;
  const { operation, number, of, issue = 1, note, said } = output;
  const fresh = draft.outputs.list({ itemId, operation }).find(isSetAside);
  if (!fresh && isCollected(output))
    throw new WalletError("not_held", gettext("It is no longer here."));
  if (!fresh) return null;
  const named = number ? { number, of, issue: issue + 1, note } : { said, note };
  draft.changeOutput(fresh.key, { ...named, givenAt: undoneAt, undoneAt });
  return draft.outputs.get(fresh.key);
}
