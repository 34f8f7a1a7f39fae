// What a person tells a numbered link, a ticket for example, by.

import { formatAmount, gettext, joinTexts, ordinal } from "./gettext.js";

/** As many letters of a note may be numbers. */
const NUMBERS_LENGTH = /^.{1,40}(?=,|$)/;

/**
 * @typedef {{
 *   number?: number, of?: number, issue?: number, note?: string, numbers?: number[], said?: number,
 * }} Ticket `numbers`, in their order, of what several links were joined to
 *
 * Return for example "17 of 200", or "17 of 200, 2nd link" of one that was taken back
 * before; nothing of a link without a number.
 * @param {Ticket} ticket
 */
export function numberText({ number = 0, of = 0, issue, numbers }) {
  if (!number) return rangesText(numbers);
  const numbered = gettext("{number} of {total}", { number, total: of });
  return joinTexts([numbered, issueText({ issue })], ", ");
}

/** Return for example "2–4, 9". */
export function rangesText(/** @type {number[]} */ numbers = []) {
  const ranges = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges
    .map((ends) => [...new Set(ends)].map(formatAmount).join("–"))
    .join(", ");
}

/**
 * Return a person's words as the note that is kept: of joined links their numbers come
 * first, for copies of the wallet that cannot tell them.
 */
export function noteOf(/** @type {Ticket} */ { numbers }, words = "") {
  const [told] = NUMBERS_LENGTH.exec(rangesText(numbers)) ?? [];
  return joinTexts([told, words]);
}

/**
 * Return a person's words of the note of joined links; null where it still is what the
 * wallet `sent` it with, in any language.
 */
export function wordsOf(/** @type {Ticket} */ { note = "", numbers }, sent) {
  const [head, ...words] = note.split(" · ");
  if (head === noteOf({ numbers }, "")) return words.join(" · ");
  const digits = digitsOf(note);
  return digits && digits === digitsOf(sent) ? null : note;
}

/** As many as a note has room for in any language. */
const digitsOf = (text) => text.replace(/\D+/g, " ").trim().slice(0, 30);

/** Return which link with its number a link is, nothing of the first. */
export function issueText(/** @type {Ticket} */ { issue = 1 }) {
  return issue === 1 ? "" : gettext("{nth} link", { nth: ordinal(issue) });
}

/** Return for example "17 of 200 · table 4". @param {Ticket} [ticket] */
export const ticketText = (ticket = {}) => joinTexts([numberText(ticket), ticket.note]);
