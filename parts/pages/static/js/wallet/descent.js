// What the outputs of an item were made from, for holdings.js: the numbers of the links
// that were joined, and what came back to the maker. Pure.

import { joinTexts } from "../format/gettext.js";
import { ticketText, wordsOf } from "../format/tickets.js";
import { cutNote } from "./links.js";
import { grouped } from "./records.js";

/** @typedef {import("./records.js").OutputRecord} OutputRecord */

/**
 * Return the `keys` of outputs that came back to the wallet that minted the item, by
 * claim or by payment, or were made from such outputs; and how many `units` others have
 * returned.
 * @param {import("./records.js").Item | null | undefined} item
 * @param {OutputRecord[]} all outputs of the item
 * @param {Map<string, string>} kinds of operations, by key
 */
export function comeBack(item, all, kinds) {
  const back = { keys: new Set(), units: 0 };
  if (!item?.isMinted) return back;
  const taken = byOperation(all, "takers");
  // If no output is missing, the outputs that a search found were paid by others.
  const isGone = (each) => each.isUnclear && !each.foundAt && !each.neverHeld;
  const isWhole = !all.some(isGone);
  for (const output of byAge(all)) {
    const { key, makers, amount, collectedAt, foundAt, isUnclear } = output;
    const maker = doneOf(makers);
    const kind = kinds.get(maker ?? "");
    // An operation that is not a mint and spends no output made here receives what
    // others sent.
    const own = (taken.get(maker) ?? []).filter((each) => doneOf(each.makers));
    const isOthers = maker
      ? !own.length && kind !== "mint"
      : isWhole && foundAt && !isUnclear;
    const isRest = own.length > 0 && own.every((each) => back.keys.has(each.key));
    if (isOthers && !collectedAt) back.units += amount;
    if (isOthers || isRest || kind === "claim") back.keys.add(key);
  }
  return back;
}

/**
 * Return a function that adds to an output the numbers of the links that were joined to
 * it, and whether it came back.
 * @param {OutputRecord[]} all
 * @param {Set<string>} back keys of outputs that came back
 */
export function namerOf(all, back) {
  const [taken, made] = ["takers", "makers"].map((role) => byOperation(all, role));
  const known = new Map();
  const sourcesOf = (/** @type {OutputRecord} */ { makers }) =>
    taken.get(doneOf(makers)) ?? [];
  for (const output of byAge(all)) {
    const { key, number, makers, createdAt, givenAt } = output;
    const maker = doneOf(makers) ?? "";
    const others = made.get(maker) ?? [];
    const sources = sourcesOf(output);
    // Change, or part of a split.
    const isRest =
      givenAt !== createdAt && others.filter((each) => !each.number).length > 1;
    const numbers = new Set(number ? [number] : []);
    if (!number && !isRest) {
      for (const source of sources)
        known.get(source.key)?.forEach((each) => numbers.add(each));
      // Another output of the same operation may keep its number.
      for (const other of others) numbers.delete(other.number);
    }
    known.set(key, numbers);
  }
  return (/** @type {OutputRecord} */ record) => {
    const output = back.has(record.key) ? { ...record, isBack: true } : record;
    const numbers = [...(known.get(output.key) ?? [])].sort(
      (one, other) => one - other,
    );
    if (output.number || !numbers.length) return output;
    const sources = [...sourcesOf(output)].sort(byAmount);
    const noteFrom = (textOf) => cutNote(joinTexts(sources.map(textOf), ", "));
    const words = wordsOf({ ...output, numbers }, noteFrom(ticketText));
    return { ...output, numbers, note: words ?? noteFrom(noteLeft) };
  };
}

/** Omit the note of a link that was taken back: that guest has none of these units. */
const noteLeft = ({ note, givenAt }) => !givenAt && note;

/**
 * Return outputs by the operation that took them ("takers") or made them ("makers").
 */
function byOperation(all, role) {
  const groups = grouped(all, (output) => doneOf(output[role]));
  groups.delete(undefined);
  return groups;
}

const doneOf = (ends = {}) => Object.keys(ends).find((key) => ends[key] === "done");

/** Return outputs in an order in which each comes after those that it was made from. */
export const byAge = (all) =>
  [...all].sort((one, other) => one.createdAt - other.createdAt);

/** Compare outputs: larger ones first, then those without a number, then by number. */
export function byAmount(one, other) {
  return other.amount - one.amount || (one.number ?? 0) - (other.number ?? 0);
}
