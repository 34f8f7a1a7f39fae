// A wallet as a file: all records, encrypted under a passphrase by WebCrypto. The file
// names its format and every parameter, so it stays readable when the defaults change.
// Anybody who knows its passphrase may have written anything into it, and its records
// are sent and shown, so each is validated.

import { gettext } from "../format/gettext.js";
import { isAmount } from "../format/amounts.js";
import {
  checkSecret,
  formatRawOutput,
  parseRawOutput,
  sha256,
} from "../format/raw_output.js";
import { isItem as isItemOfService, isMaking, isOfferId } from "./api.js";
import { cutRecords } from "./cutting.js";
import { isNote, LINK_NUMBER_MAX, linkParts, unitOf } from "./links.js";
import { hasFields, keyOf, keysOf, namedBy } from "./records.js";
import { BRANCHES, hexOf, isSeed, NUMBER_MAX, numbersKey, SEEDS_MAX } from "./seeds.js";
import { OUTPUT_STATES, restInFile } from "./states.js";

const FORMAT = "deeds wallet";
const VERSION = 4;
// OWASP's figure for PBKDF2-HMAC-SHA-256 (2023). A file may name another number within
// bounds: fewer iterations do not protect, more would only hang the page.
const ITERATIONS = 600_000;
const ITERATIONS_MIN = 100_000;
const ITERATIONS_MAX = 2_000_000;
const SALT_BYTES = 16;
const IV_BYTES = 12;
const KDF = { name: "PBKDF2", hash: "SHA-256" };
const CIPHER = { name: "AES-GCM", length: 256 };

const TARGET_STATES = ["held", "given"];
/** Optional times of an output. */
const TIMES = [
  "givenAt",
  "collectedAt",
  "foundAt",
  "shownAt",
  "admittedAt",
  "undoneAt",
  "takenBackAt",
];
const OPERATION_STATES = ["begun", "open", "done", "refused"];
const OPERATION_KINDS = [
  "mint",
  "claim",
  "send",
  "split",
  "merge",
  "takeBack",
  "withdraw",
  "ask",
  "trade",
  "complete",
];
const DAMAGED = gettext(
  "This file is damaged: part of it was changed or is missing. Use another copy.",
);
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export class WrongPassphraseError extends Error {
  name = "WrongPassphraseError";
}

export class NotAWalletFileError extends Error {
  name = "NotAWalletFileError";
}

/**
 * Key material derived from a passphrase. Scripts cannot read the key; it encrypts the
 * next file, too.
 * @typedef {{key: CryptoKey, salt: Uint8Array<ArrayBuffer>, iterations: number}} Material
 */

/**
 * Return the material to encrypt files with under a passphrase.
 * @returns {Promise<Material>}
 */
export async function makeMaterial(passphrase) {
  const salt = crypto.getRandomValues(new Uint8Array(SALT_BYTES));
  const key = await deriveKey(passphrase, salt, ITERATIONS);
  return { key, salt, iterations: ITERATIONS };
}

/**
 * Return the text of a file that contains the records, after reading it back.
 * @param {import("./records.js").Records} records
 * @param {Material} material
 * @throws {NotAWalletFileError} it could not be read back
 */
export async function exportWallet(records, { key, salt, iterations }) {
  // New for each file: two files under one key and IV would reveal both.
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const head = {
    format: FORMAT,
    version: VERSION,
    kdf: { ...KDF, iterations, salt: toBase64(salt) },
    cipher: { ...CIPHER, iv: toBase64(iv) },
  };
  const text = new TextEncoder().encode(JSON.stringify(cutRecords(records)));
  const sealed = await crypto.subtle.encrypt(parameters(head, iv), key, text);
  const file = { ...head, data: toBase64(new Uint8Array(sealed)) };
  const checksum = await checksumOf(file);
  const written = `${JSON.stringify({ ...file, checksum }, null, 2)}\n`;
  await openFile(await readFile(written), key).catch(() => {
    throw new NotAWalletFileError(
      gettext("This backup couldn't be read back, so it was not saved."),
    );
  });
  return written;
}

/**
 * Return the SHA-256 of a file's members. It distinguishes damage from a wrong
 * passphrase. Anybody can compute it.
 */
const checksumOf = async (file) => hexOf(await sha256(JSON.stringify(file)));

/**
 * Return the records of a file.
 * @throws {NotAWalletFileError | WrongPassphraseError}
 */
export async function importWallet(text, passphrase) {
  const file = await readFile(text);
  return openFile(
    file,
    await deriveKey(passphrase, file.salt, file.head.kdf.iterations),
  );
}

async function openFile({ head, iv, data }, key) {
  const opened = await crypto.subtle
    .decrypt(parameters(head, iv), key, data)
    .catch(() => {
      throw new WrongPassphraseError(gettext("The passphrase doesn't open this file."));
    });
  try {
    return readRecords(JSON.parse(new TextDecoder().decode(opened)));
  } catch {
    throw new NotAWalletFileError(
      gettext("The file opens, but it contains no wallet."),
    );
  }
}

async function readFile(text) {
  const { checksum, ...file } = parse(text);
  const { data, ...head } = file;
  if (!text.includes(FORMAT))
    throw new NotAWalletFileError(
      text.trim()
        ? gettext("This is not a backup file.")
        : gettext("This file is empty."),
    );
  if (head.version > VERSION) {
    throw new NotAWalletFileError(
      gettext(
        "A newer version of this page made this file. Reload the page, then try again.",
      ),
    );
  }
  const isKnownForm = head.format === FORMAT && head.version === VERSION;
  if (!isKnownForm || checksum !== (await checksumOf(file)))
    throw new NotAWalletFileError(DAMAGED);
  const kdf = head.kdf ?? {};
  const cipher = head.cipher ?? {};
  const { iterations } = kdf;
  const isBounded = iterations >= ITERATIONS_MIN && iterations <= ITERATIONS_MAX;
  const isKnown = hasFields(kdf, KDF) && hasFields(cipher, CIPHER);
  if (!isKnown || !isBounded || !Number.isSafeInteger(iterations))
    throw new NotAWalletFileError(gettext("This file is encrypted in an unknown way."));
  const [salt, iv, sealed] = [kdf.salt, cipher.iv, data].map(fromBase64);
  return { head, salt, iv, data: sealed };
}

function parse(text) {
  try {
    return { ...JSON.parse(text) };
  } catch {
    return {};
  }
}

/** The head is authenticated with the data, so a changed parameter is detected. */
function parameters(head, iv) {
  const additionalData = new TextEncoder().encode(JSON.stringify(head));
  return { name: CIPHER.name, iv, additionalData };
}

async function deriveKey(passphrase, salt, iterations) {
  // The same passphrase, however a keyboard composes its letters (RFC 8265).
  const bytes = new TextEncoder().encode(passphrase.normalize("NFC"));
  const material = await crypto.subtle.importKey("raw", bytes, KDF.name, false, [
    "deriveKey",
  ]);
  const kdf = { ...KDF, salt, iterations };
  return crypto.subtle.deriveKey(kdf, material, CIPHER, false, ["encrypt", "decrypt"]);
}

/** In parts, because a call takes only some ten thousand arguments. */
function toBase64(bytes) {
  let text = "";
  for (let start = 0; start < bytes.length; start += 8192) {
    text += String.fromCharCode(...bytes.subarray(start, start + 8192));
  }
  return btoa(text);
}

function fromBase64(text) {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    throw new NotAWalletFileError(DAMAGED);
  }
}

/**
 * Return the records.
 * @throws {Error} a record is invalid, or they do not fit together
 */
export function readRecords({ outputs, operations, items, seeds, numbers, at }) {
  const known = new Set(keysOf(outputs));
  const areValid =
    outputs.every(isOutput) &&
    operations.every((operation) => isOperation(operation, known)) &&
    items.every((item) => isItem(item, operations)) &&
    areSeeds(seeds) &&
    numbers.every((next) => areNumbers(next, seeds));
  if (!areValid) throw new Error("not records of a wallet");
  // Files of older pages do not say when they were written.
  const time = areTimes(at) ? { at } : {};
  return { outputs, operations, items, seeds, numbers, ...time };
}

function areSeeds(seeds) {
  const isValid = ({ key, isOwn, createdAt }) =>
    isSeed(key) && isFlag(isOwn) && areTimes(createdAt);
  const own = seeds.filter(({ isOwn }) => isOwn);
  const isOne = own.length === Math.min(seeds.length, 1);
  return seeds.length <= SEEDS_MAX && seeds.every(isValid) && isOne;
}

function areNumbers({ key, ...next }, seeds) {
  const [, itemId] = key.split(".");
  const isOfSeed = seeds.some((seed) => key === numbersKey(seed.key, itemId));
  const isValid = (number) =>
    Number.isInteger(number) && number >= 0 && number <= NUMBER_MAX;
  return isOfSeed && BRANCHES.every((branch) => isValid(next[branch] ?? 0));
}

function isOutput(output) {
  const { key, itemId, amount, secret, state } = output;
  checkSecret(secret);
  // Reading back what was written gives the same item id only if the id has no dot and
  // the amount is valid.
  const isRaw = parseRawOutput(formatRawOutput(output)).itemId === itemId;
  return (
    isRaw &&
    isAmount(amount) &&
    key === keyOf(output) &&
    OUTPUT_STATES.includes(state) &&
    areTimes(output.createdAt, output.changedAt) &&
    isLink(output)
  );
}

/** Return whether the optional fields of an output are valid. */
function isLink(output) {
  const { number, of, each, note = "", mayBeGiven, isByHand } = output;
  const isNumbered =
    number === undefined ? of === undefined : isNumber(number) && isNumber(of);
  return (
    TIMES.map((name) => output[name]).every((time = 0) => areTimes(time)) &&
    [output.issue, output.scans, output.said].every((count = 1) => isNumber(count)) &&
    isNote(note) &&
    [mayBeGiven, isByHand].every(isFlag) &&
    isNumbered &&
    (each === undefined || isPromise(output))
  );
}

/**
 * Return whether a part that is to be split into links has their total amount, and is
 * not handed out.
 */
function isPromise(/** @type {any} */ output) {
  const { amount, each, number, of, givenAt } = output;
  const isGiven = givenAt !== undefined || restInFile(output) === "given";
  return isAmount(each) && amount === each * (of - number + 1) && !isGiven;
}

const isNumber = (value) => isAmount(value) && value <= LINK_NUMBER_MAX;

/**
 * Return whether a series of links is valid. The outputs of a mint must be those links.
 */
function isSeries(links, { kind, body }) {
  if (links === undefined) return true;
  const { count, each, from, isNext = false } = links;
  const isWhole =
    [count, from].every(isNumber) && isAmount(each) && typeof isNext === "boolean";
  if (!isWhole || kind !== "mint") return isWhole;
  return linkParts(links, body.outputs.length).every(
    ({ amount }, place) => body.outputs[place]?.amount === amount,
  );
}

function isOperation(operation, known) {
  const { key, kind, body, inputs, outputs, state, amount, begunAt } = operation;
  const { atDoor, isUnsent, isCancelled, unit, links, own = [] } = operation;
  const isWhole =
    UUID.test(key) &&
    OPERATION_KINDS.includes(kind) &&
    OPERATION_STATES.includes(state) &&
    isAmount(amount) &&
    areTimes(begunAt) &&
    [atDoor, isUnsent, isCancelled].every(isFlag) &&
    unitOf(unit) === unit &&
    isSeries(links, operation) &&
    hasOffer(operation) &&
    own.every(Number.isInteger) &&
    namedBy(operation).every((named) => known.has(named)) &&
    outputs.every((output) => TARGET_STATES.includes(output.state));
  // Only a completion may make nothing: without outputs, a payment that the service
  // never saw would count as made.
  if (!isWhole || (kind !== "complete" && !body.outputs.length)) return false;
  if (kind === "mint") return body.outputs.every(isNew);
  // The request must name the records that are settled. The amount of a link may have
  // been corrected since, so only keys are compared.
  const sent = [...body.inputs, ...body.outputs].map((raw) =>
    keyOf(parseRawOutput(raw)),
  );
  return (
    body.inputs.length === inputs.length &&
    JSON.stringify(sent) === JSON.stringify(namedBy(operation))
  );
}

/** Return whether an operation names its offer: completions and open offers must. */
function hasOffer({ kind, state, offerId, expiresAt, body }) {
  if (kind === "complete" && !isOfferId(offerId)) return false;
  if (!isMaking({ kind })) return state !== "open";
  const isMade = isOfferId(offerId) && areTimes(expiresAt);
  const isUnmade = state !== "open" && offerId === undefined && expiresAt === undefined;
  return isAmount(body.expiresIn) && (isMade || isUnmade);
}

const isNew = ({ amount, secret }) =>
  isAmount(amount) && checkSecret(secret) === secret;

function isItem(item, operations) {
  const { key, id, unit, isMinted, isCut, doorList = "" } = item;
  const isMint = ({ kind, itemId }) => kind === "mint" && itemId === id;
  const isOurs = isFlag(isMinted) && (!isMinted || operations.some(isMint));
  const isValid = unitOf(unit) === unit && typeof doorList === "string";
  return key === id && isItemOfService(item) && isOurs && isValid && isFlag(isCut);
}

const isFlag = (flag = true) => flag === true;

const areTimes = (...times) => times.every(Number.isFinite);
