// Texts that identify a numbered link, such as a ticket.

import { formatAmount, gettext, joinTexts, ordinal } from "./gettext.js";

/** At most 40 characters of a note list the numbers. */
const NUMBERS_LENGTH = /^.{1,40}(?=,|$)/;

/**
 * Return for example "17 of 200", or "17 of 200, 2nd link" if the number was reissued;
 * without a number, the numbers of the links that were joined, if any.
 *
 * @typedef {{
 *   number?: number, of?: number, issue?: number, note?: string, numbers?: number[], said?: number,
 * }} Ticket `numbers` are those of the links that were joined to it, in order
 * @param {Ticket} ticket
 */
export function numberText({ number = 0, of = 0, issue, numbers }) {
  if (!number) return rangesText(numbers);
  const numbered = gettext("{number} of {total}", { number, total: of });
  return joinTexts([numbered, issueText({ issue })], ", ");
}

/** Return numbers as ranges, for example "2–4, 9". */
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
 * Return the note to store for a person's words. For joined links it starts with their
 * numbers, because copies of the wallet may not know them.
 */
export function noteOf(/** @type {Ticket} */ { numbers }, words = "") {
  const [ranges] = NUMBERS_LENGTH.exec(rangesText(numbers)) ?? [];
  return joinTexts([ranges, words]);
}

/**
 * Return the person's words in the note of joined links, or null if the note is still
 * the one that the wallet `sent`, in any language.
 */
export function wordsOf(/** @type {Ticket} */ { note = "", numbers }, sent) {
  const [head, ...words] = note.split(" · ");
  if (head === noteOf({ numbers }, "")) return words.join(" · ");
  const digits = digitsOf(note);
  return digits && digits === digitsOf(sent) ? null : note;
}

/** Return only the digits that a note has room for in every language. */
const digitsOf = (text) => text.replace(/\D+/g, " ").trim().slice(0, 30);

/** Return for example "2nd link"; empty for the first link of a number. */
export function issueText(/** @type {Ticket} */ { issue = 1 }) {
  return issue === 1 ? "" : gettext("{nth} link", { nth: ordinal(issue) });
}

/** Return for example "17 of 200 · table 4". @param {Ticket} [ticket] */
export const ticketText = (ticket = {}) => joinTexts([numberText(ticket), ticket.note]);
