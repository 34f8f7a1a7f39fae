// Amounts in units: integers from 1 to 2**53 - 1, which every JSON parser reads
// exactly.

import { formatAmount, gettext, isolated, ngettext } from "./gettext.js";

/** In units. */
export const AMOUNT_MAX = Number.MAX_SAFE_INTEGER;

const UNIT_LENGTH_MAX = 20;

/** A text is not an amount, or a sum is too large. */
export class AmountError extends Error {
  name = "AmountError";
}

/**
 * Return the amount that a person typed. Commas or spaces, narrow ones too, may group
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
 * Return the sum of amounts.
 * @throws {AmountError} the sum is above AMOUNT_MAX
 */
export function sumOf(amounts) {
  let sum = 0;
  for (const amount of amounts) {
    // Both are at most 2**53 - 1, so a larger sum is never rounded to below that.
    sum += amount;
    if (sum > AMOUNT_MAX)
      throw new AmountError(
        gettext("Together they are more than {most}.", { most: AMOUNT_MAX }),
      );
  }
  return sum;
}

/**
 * Return whether a text is valid as the word for a unit: "ticket", or singular and
 * plural, "ticket/tickets".
 */
export function isUnit(text) {
  const words = text.split("/");
  return words.length <= 2 && words.every(isWord);
}

/** Return whether a unit is the sign of a currency, which has no plural. */
export const isSign = (unit) => /^\p{Sc}/u.test(unit);

/**
 * Return whether a text is a word or a currency sign. A digit could be read as part of
 * the amount.
 */
function isWord(text) {
  const isPlain = /^[\p{L}\p{Sc}]/u.test(text) && !/[\p{N}\p{C}\p{DI}]/u.test(text);
  return isPlain && [...text].length <= UNIT_LENGTH_MAX;
}

/**
 * Return an amount with its unit: "1 unit", "100 units", or with the issuer's singular
 * and plural "1 ticket", "100 tickets". With a singular only it is "100 × ticket",
 * because we cannot form plurals in every language. A currency sign has no plural.
 */
export function unitsText(/** @type {number} */ amount, unit = "") {
  if (!unit) return ngettext("{count} unit", "{count} units", amount);
  const [one, several = isSign(one) ? one : `× ${one}`] = unit.split("/");
  return isolated(`${formatAmount(amount)} ${amount === 1 ? one : several}`);
}
