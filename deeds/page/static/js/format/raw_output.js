// The grammar of raw outputs, `+<amount>.<item_id>.<secret>`, as deeds/domain/raw_output.py has it.
// No message here ever holds a secret.

import { AMOUNT_MAX } from "./amounts.js";

export const SECRET_LENGTH_MAX = 32;

const ITEM_ID_PREFIX = "deed_";
const AMOUNT_DIGITS_MAX = 16;
const FORM_TEXT = "This is no raw output: +amount.deed_id.secret";
// With the flag u this finds lone surrogates only: they have no UTF-8 form.
const SURROGATE = /[\ud800-\udfff]/u;

/** A text is not a raw output. The message never quotes it. */
export class RawOutputError extends Error {
  name = "RawOutputError";
}

/**
 * @typedef {{amount: number, itemId: string, secret: string}} RawOutput
 */

/**
 * Parse `+<amount>.<item_id>.<secret>`, split at the first two dots after the `+`.
 * @param {string} text
 * @returns {RawOutput}
 * @throws {RawOutputError}
 */
export function parseRawOutput(text) {
  if (!text.startsWith("+")) throw new RawOutputError(FORM_TEXT);
  const [amountText, rest] = partition(text.slice(1));
  const [itemId, secret] = rest === null ? ["", null] : partition(rest);
  if (secret === null || !itemId.startsWith(ITEM_ID_PREFIX) || SURROGATE.test(itemId)) {
    throw new RawOutputError(FORM_TEXT);
  }
  return { amount: parseAmountPart(amountText), itemId, secret: checkSecret(secret) };
}

/**
 * Return the raw output as text.
 * @param {RawOutput} output
 * @returns {string}
 */
export function formatRawOutput({ amount, itemId, secret }) {
  return `+${amount}.${itemId}.${secret}`;
}

/**
 * Return the secret unchanged if it has 1 to 32 code points, each with a UTF-8 form.
 * @param {string} secret
 * @returns {string}
 * @throws {RawOutputError}
 */
export function checkSecret(secret) {
  // Two units at most are a code point: what is longer need not be counted.
  const isShort = secret.length <= 2 * SECRET_LENGTH_MAX;
  if (!secret || !isShort || [...secret].length > SECRET_LENGTH_MAX) {
    throw new RawOutputError(`A secret has 1 to ${SECRET_LENGTH_MAX} characters.`);
  }
  if (SURROGATE.test(secret)) throw new RawOutputError("The secret holds half a character.");
  return secret;
}

function parseAmountPart(text) {
  if (!/^[1-9][0-9]*$/.test(text)) throw new RawOutputError(FORM_TEXT);
  if (text.length > AMOUNT_DIGITS_MAX || Number(text) > AMOUNT_MAX) {
    throw new RawOutputError("This is more than a deed can hold.");
  }
  return Number(text);
}

/** Return what stands before and after the first dot; null after it without a dot. */
function partition(text) {
  const dot = text.indexOf(".");
  return dot < 0 ? [text, null] : [text.slice(0, dot), text.slice(dot + 1)];
}
