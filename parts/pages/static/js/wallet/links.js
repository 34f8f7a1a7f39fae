// Links: numbered outputs of one size that are handed out one by one. Outputs that were
// handed out, admitted at the door, or are still to be split, are spent by their own
// operations only. Pure: changes a draft only.

import { AmountError, isAmount, isUnit, sumOf } from "../format/amounts.js";
import { gettext } from "../format/gettext.js";
import {
  isCollected,
  isListedAsUsed,
  keysOf,
  largest,
  WalletError,
} from "./records.js";

/** More links than anybody makes. Numbers after it are still exact integers. */
export const LINK_NUMBER_MAX = 1_000_000_000;
const LINKS_COUNT_MAX = 10_000;
export const NOTE_LENGTH_MAX = 80;

/**
 * @typedef {import("./records.js").OutputRecord} OutputRecord
 * @typedef {{count: number, each: number}} Links `count` links of `each` units
 */

/**
 * Return whether an operation may spend an output, or its link be handed out. One that
 * the service does not know, or that a list says was used, would make a swap fail.
 * @param {Partial<OutputRecord>} output
 */
export function isFree({ state, unknown, each, ...output }) {
  const isUsed = isCollected(output) || isListedAsUsed(output);
  return state === "held" && !unknown && !each && !isUsed;
}

/** Return what identifies a link to people. Later issues of its number keep it. */
export const namedAs = (/** @type {OutputRecord} */ { number, of, issue, note }) =>
  number ? { number, of, issue, note } : {};

/** @throws {AmountError} it is not an amount */
export function checkAmount(amount) {
  if (!isAmount(amount))
    throw new AmountError(gettext("Enter a whole number, 1 or more."));
  return amount;
}

/**
 * @throws {AmountError} there is no part.
 * @throws {WalletError} there are more than the service takes at once.
 */
export function checkCount(parts, most) {
  if (parts.length && parts.length <= most) return;
  const why = gettext("Enter 1 to {most} parts at once.", { most });
  throw parts.length ? new WalletError("too_many", why) : new AmountError(why);
}

/** @param {Links} links @throws {AmountError | WalletError} they cannot be made */
export function checkLinks({ count, each }) {
  if (checkAmount(count) > LINKS_COUNT_MAX)
    throw new WalletError(
      "too_many",
      gettext("At most {most} links at once.", { most: LINKS_COUNT_MAX }),
    );
  sumOf(Array(count).fill(checkAmount(each)));
  return { count, each };
}

/**
 * Return the outputs that one operation makes of a series of links: all links if at
 * most `room`, else `room` - 1 links and one part that is split later.
 * @param {Links & {from?: number, of?: number}} series `from` is the first number
 * @param {number} room how many outputs there may be
 * @returns {{amount: number, number: number, of: number, each?: number}[]}
 */
export function linkParts({ count, each, from = 1, of = from + count - 1 }, room) {
  const readyCount = count <= room ? count : room - 1;
  const part = (place) => ({ amount: each, number: from + place, of });
  const parts = Array.from({ length: readyCount }, (_, place) => part(place));
  const left = count - readyCount;
  if (left > 1 && room < 2)
    throw new WalletError("too_many", gettext("There is room for only one part."));
  return left ? [...parts, { ...part(readyCount), amount: left * each, each }] : parts;
}

/**
 * Return the first number that no link of an item has had. Refused operations count
 * too: they may have been carried out after all.
 * @param {OutputRecord[]} outputs all of the item
 */
export function nextNumber(outputs) {
  return 1 + largest(outputs.flatMap(({ of = 0, number = 0 }) => [of, number]));
}

/**
 * Record that the links of these outputs are handed out. Return those that now are,
 * without outputs that were spent meanwhile.
 * @param {import("./records.js").Draft} draft
 * @throws {WalletError} none of them can be handed out
 */
export function give(draft, keys) {
  const known = keys.flatMap((key) => draft.outputs.get(key) ?? []);
  const links = known.filter((each) => isFree(each) || each.state === "given");
  for (const { key, givenAt = draft.now } of links)
    draft.changeOutput(key, { givenAt, mayBeGiven: undefined });
  if (!links.length)
    throw new WalletError(
      "not_held",
      gettext("It is no longer here, so you can't hand it out."),
    );
  return links.map(({ key }) => draft.outputs.get(key));
}

/**
 * Hand out links of one unit that are still here, the lowest numbers first. Return up
 * to `count` of them.
 * @param {import("./records.js").Draft} draft
 */
export function giveNext(draft, itemId, count) {
  const held = draft.outputs.list({ itemId, state: "held" });
  const ready = held.filter((each) => isFree(each) && isOneLink(each));
  ready.sort(lowestFirst);
  return give(draft, keysOf(ready.slice(0, count)));
}

/** Compare links by number, the order in which they are handed out. */
export const lowestFirst = (one, other) => (one.number ?? 0) - (other.number ?? 0);

/** Return whether an output is a numbered link of one unit. */
export const isOneLink = ({ number = 0, amount }) => number > 0 && amount === 1;

/** Store a person's note on an output; an empty text removes it. */
export function setNote(draft, key, text) {
  const note = clean(text);
  if (!isNote(note))
    throw new WalletError(
      "too_long",
      gettext("A note has at most {most} characters.", { most: NOTE_LENGTH_MAX }),
    );
  draft.changeOutput(key, { note: note || undefined });
}

export function isNote(value) {
  return typeof value === "string" && [...value].length <= NOTE_LENGTH_MAX;
}

/** Return a text, cut to the length of a note. */
export const cutNote = (text) => [...text].slice(0, NOTE_LENGTH_MAX).join("");

/**
 * Return the word for a unit as the wallet stores it, or undefined if it is invalid.
 */
export function unitOf(text) {
  return typeof text === "string" && isUnit(clean(text)) ? clean(text) : undefined;
}

/** @throws {WalletError} the word is invalid */
export function checkUnit(text = "") {
  const unit = unitOf(text);
  if (unit || !clean(text)) return unit;
  throw new WalletError(
    "invalid_unit",
    gettext("A word has at most 20 letters and no digits."),
  );
}

const clean = (text) => text.replace(/\s+/g, " ").trim();
