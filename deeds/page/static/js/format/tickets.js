// What a person tells a numbered link, a ticket for example, by.

import { formatAmount, gettext } from "./gettext.js";

/**
 * @typedef {{number?: number, of?: number, issue?: number, note?: string}} Ticket
 *
 * Return for example "17 of 200", or "17 of 200, second issue" of one that was taken back
 * before; nothing of a link without a number.
 * @param {Ticket} ticket
 */
export function numberText({ number = 0, of = 0, issue = 1 }) {
  if (!number) return "";
  const values = { number: formatAmount(number), total: formatAmount(of), issue };
  if (issue === 1) return gettext("{number} of {total}", values);
  if (issue === 2) return gettext("{number} of {total}, second issue", values);
  return gettext("{number} of {total}, issue {issue}", values);
}

/** Return for example "17 of 200 · table 4". @param {Ticket} [ticket] */
export const ticketText = (ticket = {}) =>
  [numberText(ticket), ticket.note].filter(Boolean).join(" · ");
