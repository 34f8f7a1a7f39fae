// Strong secrets, as deeds/domain/strong_secret.py makes them: 26 random characters (130 bits) and a
// checksum of 6, by which the service knows that a machine made them. The characters are lower-case
// Crockford base32, five bits each.

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const BODY_LENGTH = 26;
const CHECKSUM_LENGTH = 6;
const CHECKSUM_BITS = 5 * CHECKSUM_LENGTH;
const LABEL = "deeds strong secret v1:";
const FORM = new RegExp(`^[${ALPHABET}]{${BODY_LENGTH + CHECKSUM_LENGTH}}$`);

/**
 * Return a new strong secret of 32 characters.
 * @param {Crypto} [crypto]
 * @returns {Promise<string>}
 */
export async function makeStrongSecret(crypto = globalThis.crypto) {
  const body = randomText(BODY_LENGTH, crypto);
  return body + (await checksum(body, crypto));
}

/**
 * Return whether the text proves by its checksum that a machine made it.
 * @param {string} text
 * @param {Crypto} [crypto]
 */
export async function isStrongSecret(text, crypto = globalThis.crypto) {
  if (!FORM.test(text)) return false;
  return text.slice(BODY_LENGTH) === (await checksum(text.slice(0, BODY_LENGTH), crypto));
}

/** Return the first 30 bits of SHA-256(label + body) as 6 characters. */
async function checksum(body, crypto) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(LABEL + body));
  const firstBits = new DataView(digest).getUint32(0) >>> (32 - CHECKSUM_BITS);
  return encode(firstBits, CHECKSUM_LENGTH);
}

/** Return a number below 2**31 as so many characters, highest group first. */
function encode(number, length) {
  let text = "";
  for (let shift = 5 * (length - 1); shift >= 0; shift -= 5) {
    text += ALPHABET[(number >> shift) & 31];
  }
  return text;
}

function randomText(length, crypto) {
  const bytes = crypto.getRandomValues(new Uint8Array(length));
  // 256 is a multiple of 32: each character is as likely as any other.
  return Array.from(bytes, (byte) => ALPHABET[byte & 31]).join("");
}
