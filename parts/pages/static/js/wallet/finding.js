// Finds what is ours although this wallet has not made it: an older copy of it, or the
// wallet of another seed that was taken in, has moved units since. Each secret that it
// may have used is asked for, until there are no more (contract 8).

import { gettext } from "../format/gettext.js";
import { formatRawOutput } from "../format/raw_output.js";
import { batchesOf, ProblemError } from "./api.js";
import { LINK_NUMBER_MAX, nextNumber } from "./links.js";
import { keyOf, unitsOf } from "./records.js";
import {
  BRANCHES,
  nextNumbers,
  numbersWanted,
  raiseNumbers,
  seedsOf,
} from "./seeds.js";

/**
 * So many numbers in a row that neither the ledger nor an offer knows are the end: a shop
 * asks for many payments that nobody makes.
 */
const GAP = 512;
/** More than anybody has made of an item since a backup. */
const NUMBERS_MAX = 100_000;

/** The service tells of an item that it has, but not this; or of no item. */
const PASSED_OVER = new Set(["unknown_item", "item_not_found", "scheme_unavailable"]);

/** What the service answers cannot be true. */
export class FindingError extends Error {
  name = "FindingError";
  message = gettext("The service’s answer does not add up. Nothing was changed.");
}

/**
 * @typedef {import("./seeds.js").Place & import("./api.js").Found & {secret: string, of?: number}} FoundPlace
 * @typedef {{
 *   itemId: string, found: FoundPlace[], next: Map<string, object>, isUnclear?: boolean,
 *   isLook?: boolean,
 * }} Gathered what was found of an item, and the next numbers by seed; `isUnclear` where that did not
 *   add up, `isLook` where nothing has pointed to the item
 *
 * Return what looks for outputs of an item, `gather`.
 * @param {object} parts
 * @param {Pick<import("./store.js").Store, "read">} parts.store
 * @param {import("./api.js").Api} parts.api
 * @param {typeof import("./seeds.js").deriveSecrets} parts.derive
 * @param {(secret: string) => Promise<boolean>} parts.isStrong
 * @param {number} parts.checkedMax how many secrets are asked for at once
 * @param {number} [parts.gap]
 */
export function makeGather(parts) {
  const { store, api, derive, isStrong, checkedMax, gap = GAP } = parts;

  /**
   * Return what the service has of an item and this wallet does not know; nothing is
   * written. With `isProbed` nothing more is asked if no copy has made anything of a link:
   * a part that it keeps, or the next issue of its number.
   * @param {string} itemId
   * @param {{
   *   branches?: string[], isProbed?: boolean, refusedKey?: string, service?: {hasOffers: boolean},
   * }} [options] the key of an operation that was refused, whose numbers a copy may have used; what is
   *   known of the service, for several items of one look
   * @returns {Promise<Gathered>}
   * @throws {ProblemError | NoAnswerError | FindingError}
   */
  async function gather(itemId, options = {}) {
    const { isProbed = false, service = { hasOffers: true } } = options;
    const nothing = { itemId, found: [], next: new Map() };
    const known = await readKnown(itemId);
    try {
      // A copy may have used a number that was taken here for something else.
      const isUnclear = isProbed && (await isAnyUsed(known.outputs));
      if (isProbed && !isUnclear && !(await isAnyMade(known, service))) return nothing;
      const { total } = known.item ?? (await api.item(itemId));
      const gathered = await gatherAll(known, { ...options, service });
      const found = await withStates(gathered.found);
      checkSum(found, total);
      return { ...gathered, found, isUnclear };
    } catch (error) {
      if (error instanceof ProblemError && PASSED_OVER.has(error.code)) return nothing;
      throw error;
    }
  }

  /**
   * Return what was found in its states at one moment: another copy may have moved units
   * in between. A wrong amount would hide an output for ever.
   */
  async function withStates(found) {
    const unspent = found.filter(({ state }) => state === "unspent");
    const states = await api.check(unspent.map(formatRawOutput));
    if (states.includes("unknown")) throw new FindingError();
    const stateOf = new Map(unspent.map((place, at) => [place, states[at]]));
    return found.map((place) => ({
      ...place,
      state: stateOf.get(place) ?? place.state,
    }));
  }

  const readKnown = (itemId) =>
    store.read(
      {
        seeds: "all",
        outputs: { itemId },
        items: [itemId],
        next: (slices) => ({ numbers: numbersWanted(slices, [itemId]) }),
      },
      (slices) => ({
        itemId,
        item: slices.items.get(itemId),
        outputs: slices.outputs.list({ itemId }),
        nexts: seedsOf(slices).map(({ key: seed }) => ({
          seed,
          next: nextNumbers(slices, seed, itemId),
        })),
      }),
    );

  async function isAnyUsed(outputs) {
    const isUnmade = ({ state }) => state === "void" || state === "coming";
    return (await findUnmade(outputs.filter(isUnmade))).length > 0;
  }

  async function isAnyMade({ itemId, nexts }, service) {
    for (const { seed, next } of nexts) {
      for (const branch of ["kept", "given"]) {
        const row = rowOf({ seed, itemId, branch }, next[branch], checkedMax);
        if ((await ask(row, new Set())).length) return true;
        // Behind them it may have made more.
        if ((await lastOffered(row, service)) !== null) return true;
      }
    }
    return false;
  }

  async function gatherAll({ itemId, outputs, nexts }, options) {
    const { branches = BRANCHES, refusedKey = "", service } = options;
    const isUnmade = ({ state, operation }) =>
      state === "void" || (state === "coming" && operation === refusedKey);
    const unmade = outputs.filter(isUnmade);
    const ours = outputs.filter((output) => isOurs(output) && !isUnmade(output));
    const passedOver = new Set([...ours, ...unmade].map(({ key }) => key));
    // Where only an operation's own secrets are asked for, the others are in their turn.
    const isAsked = ({ operation }) => branches.length || operation === refusedKey;
    const found = await findUnmade(unmade.filter(isAsked));
    const nextOf = new Map();
    for (const { seed, next } of nexts) {
      const raised = { ...next };
      for (const branch of branches) {
        const least = leastOf(branch, next, outputs);
        const row = { seed, itemId, branch };
        const { used, ...scanned } = await scan(row, least, passedOver, service);
        found.push(...scanned.found);
        raised[branch] = Math.max(raised[branch], used + 1);
      }
      nextOf.set(seed, raised);
    }
    return { itemId, found: withOf(found, outputs), next: nextOf };
  }

  /**
   * Return what is found in a row of numbers, and the last one that is used, until there
   * are so many that are not, and none before `least`. Those below are asked for too:
   * what a copy has written down and sent late may be there.
   */
  async function scan(row, least, passedOver, service) {
    const found = [];
    let used = -1;
    let number = Math.max(0, least - NUMBERS_MAX);
    for (;;) {
      const last = Math.max(used, least - 1);
      if (number <= last + gap) {
        if (number - least >= NUMBERS_MAX) throw new FindingError();
        found.push(...(await ask(rowOf(row, number, checkedMax), passedOver)));
        used = Math.max(used, found.at(-1)?.number ?? used);
        number += checkedMax;
      } else {
        const offered = await lastOffered(rowOf(row, last + 1, gap), service);
        if (offered === null) return { found, used };
        used = offered;
      }
    }
  }

  /**
   * Return the last of these numbers that an offer has named, null where none is. An
   * offer's outputs are all `kept`.
   */
  async function lastOffered(places, service) {
    if (places[0].branch !== "kept") return null;
    for (const batch of batchesOf(places, checkedMax).reverse()) {
      if (!service.hasOffers) return null;
      const secrets = await derive(batch);
      const answers = await api.findOffered(batch[0].itemId, secrets);
      service.hasOffers = answers !== null;
      const at = answers?.lastIndexOf(true) ?? -1;
      if (at >= 0) return batch[at].number;
    }
    return null;
  }

  async function ask(places, passedOver) {
    const secrets = await derive(places);
    const all = places.map((place, at) => ({ ...place, secret: secrets[at] }));
    return find(all.filter((place) => !passedOver.has(keyOf(place))));
  }

  /** A number that was refused here may have been used by another copy. */
  async function findUnmade(unmade) {
    const places = [];
    for (const { itemId, secret, givenAt, number, of, each } of unmade) {
      const branch = givenAt || (number && !each) ? "given" : "kept";
      const place = { itemId, secret, branch, number, of };
      if (await isStrong(secret)) places.push(place);
    }
    return find(places);
  }

  async function find(places) {
    const found = [];
    for (const batch of batchesOf(places, checkedMax)) {
      const secrets = batch.map(({ secret }) => secret);
      const answers = await api.find(batch[0].itemId, secrets);
      const there = batch.map(
        (place, at) => answers[at] && { ...place, ...answers[at] },
      );
      found.push(...there.filter(Boolean));
    }
    return found;
  }

  return gather;
}

const rowOf = (row, start, count) =>
  Array.from({ length: count }, (_, at) => ({ ...row, number: start + at }));

/** Return whether the wallet counts an output as its own, or has spent it. */
export const isOurs = (
  /** @type {import("./records.js").OutputRecord} */ { state, before },
) => !isHearsay(state) && !isHearsay(before);

const isHearsay = (state) => state === "void" || state === "seen";

/**
 * Return the number from which on none may be there. Behind links that are still to be
 * made, others may have been.
 */
function leastOf(branch, next, outputs) {
  const isPromised = branch === "series" && outputs.some(({ each }) => each);
  return Math.max(next[branch], isPromised ? nextNumber(outputs) : 0);
}

/** No more can be there than the item has. */
function checkSum(found, total) {
  const unspent = found.filter(({ state }) => state === "unspent");
  if (unitsOf(unspent) > total || found.some(({ amount }) => amount > total))
    throw new FindingError();
}

/** Return the found, a link with how many it is one of, as far as that is known. */
function withOf(found, outputs) {
  const known = outputs.flatMap(({ of }) => of ?? []).sort((one, other) => one - other);
  const numbers = found.filter(({ branch }) => branch === "series");
  const last = Math.max(...numbers.map(({ number }) => number));
  return found.map((place) => {
    if (place.branch !== "series") return place;
    return { ...place, of: known.find((of) => of >= place.number) ?? last };
  });
}

/**
 * Add what was found, and count on from there.
 * @param {import("./records.js").Draft} draft
 * @param {Gathered[]} gathered
 */
export function addFound(draft, gathered, now) {
  for (const { itemId, next } of gathered) {
    for (const [seed, numbers] of next) raiseNumbers(draft, seed, itemId, numbers);
  }
  const found = gathered.flatMap((each) => each.found);
  for (const place of found) {
    const known = draft.outputs.get(keyOf(place));
    if (known && isOurs(known)) continue;
    const record = recordOf(place, known, now);
    draft.put("outputs", known?.before ? underWay(known, record) : record);
  }
}

/**
 * An operation has it, and knew it from a link only: that is what it goes back to.
 * @param {import("./records.js").OutputRecord} known
 */
function underWay({ state, operation }, found) {
  const before = found.state === "spent" ? "seen" : found.state;
  return { ...found, state, operation, before };
}

function recordOf(/** @type {FoundPlace} */ place, known, now) {
  const { itemId, secret, amount, state, branch, number, of } = place;
  const isKept = branch === "kept";
  const atRest = { state: isKept ? "held" : "given" };
  const spent = { state: "spent", spentElsewhere: true, isUnclear: true };
  // What was promised as links here is as many there.
  const isPromised = Boolean(known?.each) && known.amount === amount;
  // The number of a link by the piece is only its place in the row.
  const isNumbered = (!isKept || isPromised) && (of ?? Infinity) <= LINK_NUMBER_MAX;
  return {
    createdAt: now,
    ...known,
    key: keyOf({ itemId, secret }),
    itemId,
    secret,
    amount,
    ...(state === "unspent" ? atRest : spent),
    operation: undefined,
    givenAt: isKept ? undefined : (known?.givenAt ?? now),
    // A copy may have made a link and not have handed it out yet.
    mayBeGiven: (!isKept && isNumbered) || undefined,
    number: isNumbered ? number : undefined,
    of: isNumbered ? of : undefined,
    each: isPromised ? known.each : undefined,
    changedAt: now,
    foundAt: now,
  };
}
