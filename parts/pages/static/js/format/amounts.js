// Amounts of units: whole numbers from 1 to what every reader of JSON sees exactly.

import { formatAmount, gettext, isolated, ngettext } from "./gettext.js";

/** In units. */
export const AMOUNT_MAX = Number.MAX_SAFE_INTEGER;

const UNIT_LENGTH_MAX = 20;

/** A text is not an amount, or amounts add up to too much. */
export class AmountError extends Error {
  name = "AmountError";
}

/**
 * Return the amount that a person typed; spaces, narrow ones too, or commas may group
 * its digits.
 * @throws {AmountError}
 */
export function parseAmount(text) {
  const typed = text.trim().replace(/([0-9])[ \u00a0\u202f](?=[0-9])/g, "$1");
  const digits = /^[0-9]{1,3}(,[0-9]{3})+$/.test(typed)
    ? typed.replaceAll(",", "")
    : typed;
  if (!/^0*[1-9][0-9]*$/.test(digits))
    throw new AmountError(gettext("Enter a whole number, 1 or more."));
  const amount = Number(digits);
  if (!isAmount(amount))
    throw new AmountError(gettext("Enter at most {most}.", { most: AMOUNT_MAX }));
  return amount;
}

export const isAmount = (value) => Number.isSafeInteger(value) && value >= 1;

/**
 * Return the sum of amounts. @throws {AmountError} it is more than an item can hold.
 */
export function sumOf(amounts) {
  let sum = 0;
  for (const amount of amounts) {
    // Both are at most 2**53 - 1, so that a sum above that is never rounded to below
    // it.
    sum += amount;
    if (sum > AMOUNT_MAX)
      throw new AmountError(
        gettext("Together they are more than {most}.", { most: AMOUNT_MAX }),
      );
  }
  return sum;
}

/**
 * Return whether a text can be the word for a unit, "ticket", or both that for one and
 * that for several, "ticket/tickets".
 */
export function isUnit(text) {
  const words = text.split("/");
  return words.length <= 2 && words.every(isWord);
}

/** Return whether a unit is the sign of a currency, which has no plural. */
export const isSign = (unit) => /^\p{Sc}/u.test(unit);

/** A word or the sign of a currency; a digit would pass for the amount's. */
function isWord(text) {
  const isPlain = /^[\p{L}\p{Sc}]/u.test(text) && !/[\p{N}\p{C}\p{DI}]/u.test(text);
  return isPlain && [...text].length <= UNIT_LENGTH_MAX;
}

/**
 * Return "1 unit" or "100 units"; "1 ticket", "100 tickets" where the issuer has named
 * one and several, and "100 × ticket" where only one: no plural can be made of a word in
 * any language. The sign of a currency has none.
 */
export function unitsText(/** @type {number} */ amount, unit = "") {
  if (!unit) return ngettext("{count} unit", "{count} units", amount);
  const [one, several = isSign(one) ? one : `× ${one}`] = unit.split("/");
  return isolated(`${formatAmount(amount)} ${amount === 1 ? one : several}`);
}
