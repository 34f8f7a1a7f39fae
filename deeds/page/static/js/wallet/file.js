// A wallet as a file: all records, encrypted under a passphrase by WebCrypto. The file names its
// format and every parameter, so that it can be read when the defaults have changed.

import { readRecords } from "./file_records.js";

const FORMAT = "deeds wallet";
const VERSION = 1;
// OWASP's figure for PBKDF2-HMAC-SHA-256 (2023). A file may name another one within bounds: less is
// no protection, more would only hang the page.
const ITERATIONS = 600_000;
const ITERATIONS_MIN = 100_000;
const ITERATIONS_MAX = 10_000_000;
const SALT_BYTES = 16;
const IV_BYTES = 12;
const KDF = { name: "PBKDF2", hash: "SHA-256" };
const CIPHER = { name: "AES-GCM", length: 256 };

/** The passphrase does not open the file, or the file was changed. */
export class WrongPassphraseError extends Error {
  name = "WrongPassphraseError";
  message = "The passphrase does not open this file.";
}

/** The text is no file of a wallet. */
export class NotAWalletFileError extends Error {
  name = "NotAWalletFileError";
}

/**
 * What a passphrase was made into: the key, which no script can read, does for the next file too.
 * @typedef {{key: CryptoKey, salt: Uint8Array<ArrayBuffer>, iterations: number}} Material
 */

/**
 * Return what to encrypt files with under a passphrase.
 * @param {string} passphrase
 * @param {Crypto} [crypto]
 * @returns {Promise<Material>}
 */
export async function makeMaterial(passphrase, crypto = globalThis.crypto) {
  const salt = crypto.getRandomValues(new Uint8Array(SALT_BYTES));
  const key = await deriveKey(passphrase, salt, ITERATIONS, crypto);
  return { key, salt, iterations: ITERATIONS };
}

/**
 * Return the text of a file that holds the records.
 * @param {import("./records.js").Records} records
 * @param {Material} material
 * @param {Crypto} [crypto]
 * @returns {Promise<string>}
 */
export async function exportWallet(records, { key, salt, iterations }, crypto = globalThis.crypto) {
  // Of each file its own: two under one key and one vector would betray both.
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const head = {
    format: FORMAT,
    version: VERSION,
    kdf: { ...KDF, iterations, salt: toBase64(salt) },
    cipher: { ...CIPHER, iv: toBase64(iv) },
  };
  const text = new TextEncoder().encode(JSON.stringify(records));
  const sealed = await crypto.subtle.encrypt(parameters(head, iv), key, text);
  return `${JSON.stringify({ ...head, data: toBase64(new Uint8Array(sealed)) }, null, 2)}\n`;
}

/**
 * Return the records of a file.
 * @param {string} text
 * @param {string} passphrase
 * @param {Crypto} [crypto]
 * @throws {NotAWalletFileError | WrongPassphraseError}
 */
export async function importWallet(text, passphrase, crypto = globalThis.crypto) {
  const { head, salt, iv, data } = readFile(text);
  const key = await deriveKey(passphrase, salt, head.kdf.iterations, crypto);
  const opened = await crypto.subtle.decrypt(parameters(head, iv), key, data).catch(() => {
    throw new WrongPassphraseError();
  });
  try {
    return readRecords(JSON.parse(new TextDecoder().decode(opened)));
  } catch {
    throw new NotAWalletFileError("The file opens, but what it holds is no wallet.");
  }
}

function readFile(text) {
  const { data, ...head } = parse(text);
  if (head.format !== FORMAT) throw new NotAWalletFileError("This is no file of a wallet.");
  if (head.version !== VERSION) {
    throw new NotAWalletFileError("This file was made by a newer page. Use that to read it.");
  }
  const { iterations } = head.kdf ?? {};
  const isKnown =
    matches(head.kdf, KDF) &&
    matches(head.cipher, CIPHER) &&
    Number.isSafeInteger(iterations) &&
    iterations >= ITERATIONS_MIN &&
    iterations <= ITERATIONS_MAX;
  if (!isKnown) throw new NotAWalletFileError("This file is encrypted in an unknown way.");
  try {
    const [salt, iv, sealed] = [head.kdf.salt, head.cipher.iv, data].map(fromBase64);
    return { head, salt, iv, data: sealed };
  } catch {
    throw new NotAWalletFileError("This file is damaged.");
  }
}

function parse(text) {
  try {
    return { ...JSON.parse(text) };
  } catch {
    throw new NotAWalletFileError("This is no file of a wallet.");
  }
}

function matches(given, wanted) {
  return Object.entries(wanted).every(([name, value]) => given?.[name] === value);
}

/** The head is sealed with the data: a changed parameter is detected. */
function parameters(head, iv) {
  const additionalData = new TextEncoder().encode(JSON.stringify(head));
  return { name: CIPHER.name, iv, additionalData };
}

async function deriveKey(passphrase, salt, iterations, crypto) {
  // One passphrase, however a keyboard composes its letters (RFC 8265).
  const bytes = new TextEncoder().encode(passphrase.normalize("NFC"));
  const material = await crypto.subtle.importKey("raw", bytes, KDF.name, false, ["deriveKey"]);
  const kdf = { ...KDF, salt, iterations };
  return crypto.subtle.deriveKey(kdf, material, CIPHER, false, ["encrypt", "decrypt"]);
}

/** In parts: a call takes no more than some ten thousand arguments. */
function toBase64(bytes) {
  let text = "";
  for (let start = 0; start < bytes.length; start += 8192) {
    text += String.fromCharCode(...bytes.subarray(start, start + 8192));
  }
  return btoa(text);
}

function fromBase64(text) {
  if (typeof text !== "string") throw new TypeError("not base64");
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
