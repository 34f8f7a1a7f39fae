// The payments of a till: those that came in, and requests that can still be paid. Pure.

import { ngettext } from "../../format/gettext.js";
import { unitsText } from "../../format/amounts.js";
import { unitsOf } from "../../wallet/records.js";

const LAST_COUNT = 8;

/**
 * @typedef {import("../../wallet/records.js").OperationRecord} OperationRecord
 *
 * Return the latest payments and open requests, the newest first, and all payments of
 * the day.
 * @param {OperationRecord[]} operations
 */
export function paymentsOf(operations, now = new Date()) {
  const isShown = ({ kind, state, offerId = "" }) =>
    kind === "ask" && offerId && (state === "done" || state === "open");
  const since = ({ endedAt = 0, begunAt }) => endedAt || begunAt;
  const shown = operations
    .filter(isShown)
    .sort((one, other) => since(other) - since(one));
  const isToday = ({ state, endedAt = 0 }) =>
    state === "done" && new Date(endedAt).toDateString() === now.toDateString();
  return {
    last: shown.slice(0, LAST_COUNT),
    today: shown.filter(isToday),
    isAnyOpen: shown.some(({ state }) => state === "open"),
  };
}

/** Return for example "Today: 12 tickets in 4 payments", or nothing. */
export function sumText(payments, unit) {
  if (!payments.length) return "";
  const units = unitsText(unitsOf(payments), unit);
  return ngettext(
    "Today: {units} in {count} payment",
    "Today: {units} in {count} payments",
    payments.length,
    { units },
  );
}
