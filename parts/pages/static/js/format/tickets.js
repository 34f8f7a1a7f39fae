// What a person tells a numbered link, a ticket for example, by.

import { gettext, ordinal } from "./gettext.js";

/**
 * @typedef {{number?: number, of?: number, issue?: number, note?: string}} Ticket
 *
 * Return for example "17 of 200", or "17 of 200, 2nd link" of one that was taken back
 * before; nothing of a link without a number.
 * @param {Ticket} ticket
 */
export function numberText({ number = 0, of = 0, issue }) {
  if (!number) return "";
  const values = { number, total: of };
  const numbered = gettext("{number} of {total}", values);
  return [numbered, issueText({ issue })].filter(Boolean).join(", ");
}

/** Return which link with its number a link is, nothing of the first. */
export function issueText(/** @type {Ticket} */ { issue = 1 }) {
  return issue === 1 ? "" : gettext("{nth} link", { nth: ordinal(issue) });
}

/** Return for example "17 of 200 · table 4". @param {Ticket} [ticket] */
export const ticketText = (ticket = {}) =>
  [numberText(ticket), ticket.note].filter(Boolean).join(" · ");
