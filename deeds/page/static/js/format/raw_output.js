// The grammar of raw outputs, `+<amount>.<item_id>.<secret>`, as deeds/domain/raw_output.py has it.
// No message here ever holds a secret.

import { AMOUNT_MAX } from "./amounts.js";

/** In characters. */
export const SECRET_LENGTH_MAX = 32;

// Split at the first two dots.
const FORM = /^\+([^.]*)\.(deed_[^.]*)\.(.*)$/s;
const FORM_TEXT = "This is no raw output: +amount.deed_id.secret";
// With the flag u this finds lone surrogates only: they have no UTF-8 form.
const SURROGATE = /[\ud800-\udfff]/u;

/** A text is not a raw output. The message never quotes it. */
export class RawOutputError extends Error {
  name = "RawOutputError";
}

/** @typedef {{amount: number, itemId: string, secret: string}} RawOutput */

/**
 * Return what a raw output says.
 * @param {string} text
 * @returns {RawOutput}
 * @throws {RawOutputError}
 */
export function parseRawOutput(text) {
  const [, amountText, itemId, secret] = FORM.exec(text) ?? [];
  if (itemId === undefined || SURROGATE.test(itemId)) throw new RawOutputError(FORM_TEXT);
  return { amount: parseAmountPart(amountText), itemId, secret: checkSecret(secret) };
}

/**
 * Return the raw output as text.
 * @param {RawOutput} output
 */
export function formatRawOutput({ amount, itemId, secret }) {
  return `+${amount}.${itemId}.${secret}`;
}

/**
 * Return the secret unchanged if it has 1 to 32 code points, each with a UTF-8 form.
 * @param {string} secret
 * @throws {RawOutputError}
 */
export function checkSecret(secret) {
  // Two units at most are a code point: what is longer need not be counted.
  const isShort = secret.length <= 2 * SECRET_LENGTH_MAX;
  if (!secret || !isShort || [...secret].length > SECRET_LENGTH_MAX) {
    throw new RawOutputError(`A secret has 1 to ${SECRET_LENGTH_MAX} characters.`);
  }
  if (SURROGATE.test(secret)) throw new RawOutputError("The secret has an invalid character.");
  return secret;
}

function parseAmountPart(text) {
  if (!/^[1-9][0-9]*$/.test(text)) throw new RawOutputError(FORM_TEXT);
  const amount = Number(text);
  if (amount > AMOUNT_MAX) throw new RawOutputError("This is more than a deed can hold.");
  return amount;
}
