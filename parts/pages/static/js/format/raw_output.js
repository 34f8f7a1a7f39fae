// The grammar of raw outputs, `+<amount>.<item_id>.<secret>`, and of strong secrets, as
// in deeds/raw_output.py. No error message contains a secret.
//
// A strong secret is 26 random characters (130 bits) and a checksum of 6 characters,
// which shows the service that a program generated it. The characters are lower-case
// Crockford base32, five bits each.

import { gettext } from "./gettext.js";
import { AMOUNT_MAX } from "./amounts.js";

/** In characters. */
export const SECRET_LENGTH_MAX = 32;

// Split at the first two dots.
const FORM = /^\+([^.]*)\.(deed_[^.]*)\.(.*)$/s;
const FORM_TEXT = gettext("This is not a raw output: +amount.deed_id.secret");
// With the u flag this matches lone surrogates only, which have no UTF-8 form.
const SURROGATE = /[\ud800-\udfff]/u;

/** A text is not a raw output. The message never quotes it. */
export class RawOutputError extends Error {
  name = "RawOutputError";
}

/** @typedef {{amount: number, itemId: string, secret: string}} RawOutput */

/** Return the parts of a raw output. @returns {RawOutput} @throws {RawOutputError} */
export function parseRawOutput(text) {
  const [, amountText, itemId, secret] = FORM.exec(text) ?? [];
  if (itemId === undefined || SURROGATE.test(itemId))
    throw new RawOutputError(FORM_TEXT);
  return { amount: parseAmountPart(amountText), itemId, secret: checkSecret(secret) };
}

export function formatRawOutput(/** @type {RawOutput} */ { amount, itemId, secret }) {
  return `+${amount}.${itemId}.${secret}`;
}

/**
 * Return the secret unchanged if it has 1 to 32 code points, each with a UTF-8 form.
 * @throws {RawOutputError}
 */
export function checkSecret(secret) {
  // A code point has at most two code units, so longer texts need not be counted.
  const isShort = secret.length <= 2 * SECRET_LENGTH_MAX;
  if (!secret || !isShort || [...secret].length > SECRET_LENGTH_MAX)
    throw new RawOutputError(
      gettext("A secret has 1 to {most} characters.", { most: SECRET_LENGTH_MAX }),
    );
  if (SURROGATE.test(secret))
    throw new RawOutputError(gettext("The secret has an invalid character."));
  return secret;
}

function parseAmountPart(text) {
  if (!/^[1-9][0-9]*$/.test(text)) throw new RawOutputError(FORM_TEXT);
  const amount = Number(text);
  if (amount > AMOUNT_MAX)
    throw new RawOutputError(gettext("This is more than a deed can hold."));
  return amount;
}

export const BASE32_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const BODY_LENGTH = 26;
/** Bytes that hold 130 bits. */
const BITS_BYTES = 17;
const CHECKSUM_LENGTH = 6;
const LABEL = "deeds strong secret v1:";
const STRONG = new RegExp(`^[${BASE32_ALPHABET}]{${BODY_LENGTH + CHECKSUM_LENGTH}}$`);

/** Return a new strong secret of 32 characters. */
export const makeStrongSecret = () =>
  strongSecretOf(crypto.getRandomValues(new Uint8Array(BITS_BYTES)));

/**
 * Return the strong secret made of the first 130 bits of `bytes` (at least 17), most
 * significant bit first.
 */
export async function strongSecretOf(/** @type {Uint8Array} */ bytes) {
  const body = base32(bytes, BODY_LENGTH);
  return body + (await checksum(body));
}

/** Return whether a text has the form and the checksum of a strong secret. */
export async function isStrongSecret(/** @type {string} */ text) {
  if (!STRONG.test(text)) return false;
  return text.slice(BODY_LENGTH) === (await checksum(text.slice(0, BODY_LENGTH)));
}

/** Return the first 30 bits of SHA-256(label + body) as 6 characters. */
const checksum = async (body) => base32(await sha256(LABEL + body), CHECKSUM_LENGTH);

/**
 * Return the first `length` characters of these bytes in base32, most significant bit
 * first.
 */
function base32(/** @type {Uint8Array} */ bytes, length) {
  const character = (_, place) => {
    const start = (5 * place) >> 3;
    const offset = (5 * place) & 7;
    const both = (bytes[start] << 8) | (bytes[start + 1] ?? 0);
    return BASE32_ALPHABET[(both >> (11 - offset)) & 31];
  };
  return Array.from({ length }, character).join("");
}

/** Return the SHA-256 of a text in UTF-8. */
export async function sha256(/** @type {string} */ text) {
  const bytes = new TextEncoder().encode(text);
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}
