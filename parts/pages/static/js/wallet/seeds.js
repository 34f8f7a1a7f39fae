// Derives secrets from a seed, so that a wallet restored from an old backup can find
// what was made since (contract 8). A number is taken when an operation is recorded,
// and never again, even if the operation is refused.

import { strongSecretOf } from "../format/raw_output.js";
import { keyOf } from "./records.js";

/** What a secret is for: outputs to keep, links to hand out, and numbered links. */
export const BRANCHES = ["kept", "given", "series"];
/** More than anybody uses. Numbers after it are still exact integers. */
export const NUMBER_MAX = 2 ** 48 - 1;
/** More wallets than anybody joins; each costs requests for every deed. */
export const SEEDS_MAX = 8;

const LABEL = "deeds wallet secret v1:";
const SEED_BYTES = 32;

/**
 * A place in the row of secrets of an item.
 * @typedef {{seed: string, itemId: string, branch: string, number: number}} Place
 */

/** Return the secrets of places, in their order. @param {Place[]} places */
export async function deriveSecrets(places) {
  const keys = new Map();
  for (const { seed } of places) if (!keys.has(seed)) keys.set(seed, importKey(seed));
  return Promise.all(
    places.map(async ({ seed, branch, itemId, number }) => {
      const text = new TextEncoder().encode(`${LABEL}${branch}:${itemId}:${number}`);
      const bits = await crypto.subtle.sign("HMAC", await keys.get(seed), text);
      return strongSecretOf(new Uint8Array(bits));
    }),
  );
}

function importKey(seed) {
  const bytes = Uint8Array.from(seed.match(/../g), (byte) => parseInt(byte, 16));
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  return crypto.subtle.importKey("raw", bytes, algorithm, false, ["sign"]);
}

/** Return whether a value is a seed: 32 bytes in hexadecimal digits. */
export const isSeed = (value) =>
  typeof value === "string" && /^[0-9a-f]{64}$/.test(value);

export const hexOf = (bytes) =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Return the record of a new seed. A store has one from the beginning. */
export function newSeed(now = Date.now()) {
  const bytes = crypto.getRandomValues(new Uint8Array(SEED_BYTES));
  return { key: hexOf(bytes), isOwn: true, createdAt: now };
}

/** Return the seed that new secrets are derived from. All seeds must be loaded. */
export const ownSeed = ({ seeds }) =>
  /** @type {import("./records.js").Seed} */ (seeds.list().find(({ isOwn }) => isOwn))
    .key;

/**
 * Return whether a wallet has ever done anything. Outputs from a file may have been
 * made from its seed, even if there is no operation.
 */
export const isUsed = ({ operations, outputs }) =>
  operations.list().length > 0 || outputs.list().length > 0;

/**
 * Return the records of all seeds to search with. Unused ones are left out: the first
 * seed of a wallet that took over another copy's, and seeds of which nothing is left.
 */
export const seedsOf = ({ seeds }) => seeds.list().filter(({ isUnused }) => !isUnused);

/** Return these seeds and their numbers, as a file holds them. */
export function seedsAndNumbers(slices) {
  const seeds = seedsOf(slices);
  const isOfSeed = (next) => seeds.some(({ key }) => next.key.startsWith(key));
  return { seeds, numbers: slices.numbers.list().filter(isOfSeed) };
}

/** Return the key of the record with an item's next numbers under a seed. */
export const numbersKey = (seed, itemId) => `${seed}.${itemId}`;

/** Return the keys of the records with the next numbers of items, under each seed. */
export const numbersKeys = (slices, itemIds) =>
  seedsOf(slices).flatMap(({ key }) =>
    itemIds.map((itemId) => numbersKey(key, itemId)),
  );

/** Return the next number of each branch, for an item under a seed. */
export function nextNumbers({ numbers }, seed, itemId) {
  const known = numbers.get(numbersKey(seed, itemId));
  return { kept: 0, given: 0, series: 0, ...known };
}

/** Record the next numbers; they never decrease. */
export function raiseNumbers(draft, seed, itemId, next) {
  const key = numbersKey(seed, itemId);
  const known = draft.numbers.get(key) ?? {};
  const isHigher = (branch) => next[branch] > (known[branch] ?? 0);
  const higher = BRANCHES.filter(isHigher).map((branch) => [branch, next[branch]]);
  if (higher.length)
    draft.put("numbers", { ...known, key, ...Object.fromEntries(higher) });
}

/**
 * The secrets that one operation may take. Deriving a secret is asynchronous, and no
 * transaction stays open meanwhile. So an operation begins again until all its secrets
 * are derived.
 */
export class Secrets {
  #derive;
  #known = new Map();

  constructor(/** @type {typeof deriveSecrets} */ derive) {
    this.#derive = derive;
  }

  /**
   * Return the keys of all outputs that could be made with the secrets derived so far.
   */
  keys = () => Array.from(this.#known.values(), keyOf);

  /** Return the result of `begin`, once all secrets that it takes are derived. */
  async during(begin) {
    for (;;) {
      try {
        return await begin();
      } catch (error) {
        if (!error.places) throw error;
        const secrets = await this.#derive(error.places);
        error.places.forEach((place, at) =>
          this.#known.set(JSON.stringify(place), { ...place, secret: secrets[at] }),
        );
      }
    }
  }

  /**
   * Take a secret for each output of an operation, and record that its number is taken.
   * @throws {Error} with the `places` whose secrets must be derived first
   * @param {import("./records.js").Draft} draft
   * @param {any[]} parts outputs, each with its `itemId`
   */
  take(draft, parts) {
    const seed = ownSeed(draft);
    const next = new Map();
    const missing = [];
    const secrets = parts.map((part) => {
      const { itemId } = part;
      if (!next.has(itemId)) next.set(itemId, nextNumbers(draft, seed, itemId));
      for (;;) {
        const place = { seed, itemId, ...takeNumber(part, next.get(itemId)) };
        const known = this.#known.get(JSON.stringify(place));
        if (!known) return void missing.push(place);
        // A copy of this wallet may have handed it to us as a link.
        if (!draft.outputs.get(keyOf(known))) return known.secret;
      }
    });
    if (missing.length)
      throw Object.assign(new Error("secrets to be derived"), { places: missing });
    for (const [itemId, numbers] of next) raiseNumbers(draft, seed, itemId, numbers);
    return secrets;
  }
}

/**
 * Take the next number for an output. A link of a series has the secret of its own
 * number, once; further issues of that number are like other links.
 */
function takeNumber({ number, each, issue = 1, givenAt }, numbers) {
  const isLink = Boolean(number && !each);
  if (isLink && issue === 1 && number >= numbers.series) {
    numbers.series = number + 1;
    return { branch: "series", number };
  }
  const branch = isLink || givenAt ? "given" : "kept";
  numbers[branch] += 1;
  return { branch, number: numbers[branch] - 1 };
}
