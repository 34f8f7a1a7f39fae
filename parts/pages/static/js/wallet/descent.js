// What the outputs of one item were made of: the numbers of the links that were joined
// to them, and what of it came back to its maker. Pure.

import { joinTexts } from "../format/gettext.js";
import { ticketText, wordsOf } from "../format/tickets.js";
import { cutNote } from "./links.js";
import { grouped } from "./records.js";

/** @typedef {import("./records.js").OutputRecord} OutputRecord */

/**
 * Return the keys of what came back to who minted it, which is what was claimed or paid
 * to it, and of what is left of that; and how many units others have given back.
 * @param {import("./records.js").Item | null | undefined} item
 * @param {OutputRecord[]} all of the item
 * @param {Map<string, string>} kinds of operations by their keys
 */
export function comeBack(item, all, kinds) {
  const found = { keys: new Set(), units: 0 };
  if (!item?.isMinted) return found;
  const taken = byOperation(all, "takers");
  // While nothing else is gone, what a look has found was paid by others.
  const isGone = (each) => each.isUnclear && !each.foundAt && !each.neverHeld;
  const isWhole = !all.some(isGone);
  for (const output of byAge(all)) {
    const { key, makers, amount, collectedAt, foundAt, isUnclear } = output;
    const maker = doneOf(makers);
    const kind = kinds.get(maker ?? "");
    // What others have sent was not made here, and nothing of it is given for a payment.
    const own = (taken.get(maker) ?? []).filter((each) => doneOf(each.makers));
    const isOthers = maker
      ? !own.length && kind !== "mint"
      : isWhole && foundAt && !isUnclear;
    const isRest = own.length > 0 && own.every((each) => found.keys.has(each.key));
    if (isOthers && !collectedAt) found.units += amount;
    if (isOthers || isRest || kind === "claim") found.keys.add(key);
  }
  return found;
}

/**
 * Return what gives an output of these the numbers of the links that were joined to it,
 * and tells whether it is among what came `back`.
 * @param {OutputRecord[]} all
 * @param {Set<string>} back keys
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
    // Change, or a part of what was split.
    const isRest =
      givenAt !== createdAt && others.filter((each) => !each.number).length > 1;
    const numbers = new Set(number ? [number] : []);
    if (!number && !isRest) {
      for (const source of sources)
        known.get(source.key)?.forEach((each) => numbers.add(each));
      // A link of the same operation may keep its number.
      for (const other of others) numbers.delete(other.number);
    }
    known.set(key, numbers);
  }
  return (/** @type {OutputRecord} */ found) => {
    const output = back.has(found.key) ? { ...found, isBack: true } : found;
    const numbers = [...(known.get(output.key) ?? [])].sort(
      (one, other) => one - other,
    );
    if (output.number || !numbers.length) return output;
    const sources = [...sourcesOf(output)].sort(byAmount);
    const told = (text) => cutNote(joinTexts(sources.map(text), ", "));
    const words = wordsOf({ ...output, numbers }, told(ticketText));
    return { ...output, numbers, note: words ?? told(noteLeft) };
  };
}

/** Who had a link that was taken back has none of what it became. */
const noteLeft = ({ note, givenAt }) => !givenAt && note;

/** Return outputs by the operation that took them, or made them. */
function byOperation(all, role) {
  const found = grouped(all, (output) => doneOf(output[role]));
  found.delete(undefined);
  return found;
}

const doneOf = (ends = {}) => Object.keys(ends).find((key) => ends[key] === "done");

/** Return outputs in an order in which what one was made of comes before it. */
export const byAge = (all) =>
  [...all].sort((one, other) => one.createdAt - other.createdAt);

/** Of one amount what has no number comes first, and then the first link of a series. */
export function byAmount(one, other) {
  return other.amount - one.amount || (one.number ?? 0) - (other.number ?? 0);
}
