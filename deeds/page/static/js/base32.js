// Lower-case Crockford base32 of whole 5-bit groups, as deeds/domain/base32.py writes it.

export const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/**
 * Return `number` (0 to 2**(5 * length) - 1, below 2**31) as characters, highest group first.
 * @param {number} number
 * @param {number} length
 * @returns {string}
 */
export function encode(number, length) {
  let text = "";
  for (let shift = 5 * (length - 1); shift >= 0; shift -= 5) {
    text += ALPHABET[(number >> shift) & 31];
  }
  return text;
}

/**
 * Return random characters, 5 bits each.
 * @param {number} length
 * @param {Crypto} crypto
 * @returns {string}
 */
export function randomText(length, crypto) {
  const bytes = crypto.getRandomValues(new Uint8Array(length));
  // 256 is a multiple of 32: each character is as likely as any other.
  return Array.from(bytes, (byte) => ALPHABET[byte & 31]).join("");
}
