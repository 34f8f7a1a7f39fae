// Finds what is ours although this wallet has not made it: an older copy of it, or the
// wallet of another seed that was taken in, has moved units since. Each secret that it
// may have used is asked for, until there are no more (contract 8).

import { gettext } from "../format/gettext.js";
import { formatRawOutput } from "../format/raw_output.js";
import { batchesOf, ProblemError } from "./api.js";
import { LINK_NUMBER_MAX, nextNumber } from "./links.js";
import { keyOf, keysOf, unitsOf } from "./records.js";
import {
  BRANCHES,
  nextNumbers,
  numbersWanted,
  raiseNumbers,
  seedsOf,
} from "./seeds.js";
import { isOurs } from "./states.js";

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
  message = gettext("The service's answer doesn't add up. Nothing was changed.");
}

/** The key of the note that says which items are left to look at. */
export const LOOK = "look";

/**
 * @typedef {import("./wallet.js").Parts} Parts
 * @typedef {import("./records.js").OutputRecord} OutputRecord
 * @typedef {import("./seeds.js").Place & import("./api.js").Found & {secret: string, of?: number}} FoundPlace
 * @typedef {{
 *   itemId: string, found: FoundPlace[], next: Map<string, object>, isUnclear?: boolean,
 *   wrong?: FindingError, isLook?: boolean,
 * }} Gathered what was found of an item, and the next numbers by seed; `isUnclear` where that did not
 *   add up, `wrong` where the answer cannot be true, `isLook` where nothing has pointed to the item
 */

/**
 * Return what the service has of an item and this wallet does not know; nothing is
 * written. Of an item that `isProbed` nothing more is asked if no copy has made anything
 * of a link: a part that it keeps, or the next issue of its number.
 * @param {Parts} parts
 * @param {string} itemId
 * @param {{branches?: string[], isProbed?: (itemId: string) => boolean, refusedKey?: string}} [options] the key of an
 *   operation that was refused, whose numbers a copy may have used
 * @returns {Promise<Gathered>}
 * @throws {ProblemError | NoAnswerError}
 */
export async function gather(parts, itemId, options = {}) {
  const nothing = { itemId, found: [], next: new Map() };
  const known = await readKnown(parts, itemId);
  const isProbed = options.isProbed?.(itemId);
  try {
    // A copy may have used a number that was taken here for something else.
    const isUnmade = ({ state }) => state === "void" || state === "coming";
    const unmade = isProbed ? known.outputs.filter(isUnmade) : [];
    const isUnclear = (await findUnmade(parts, unmade)).length > 0;
    if (isProbed && !isUnclear && !(await isAnyMade(parts, known))) return nothing;
    const { total } = known.item ?? (await parts.api.item(itemId));
    const gathered = await gatherAll(parts, known, options);
    await takeStates(parts, gathered.found, total);
    return { ...gathered, isUnclear };
  } catch (error) {
    if (error instanceof FindingError) return { ...nothing, wrong: error };
    if (error instanceof ProblemError && PASSED_OVER.has(error.code)) return nothing;
    throw error;
  }
}

/** Return what the wallet knows of an item, and the `next` number of each row. */
const readKnown = (/** @type {Parts} */ { store }, itemId) =>
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
      rows: rowsOf(slices, itemId),
    }),
  );

/** Return the rows of secrets of an item, each with its `next` number. */
export const rowsOf = (slices, itemId) =>
  seedsOf(slices).flatMap(({ key: seed }) => {
    const next = nextNumbers(slices, seed, itemId);
    return BRANCHES.map((branch) => ({ seed, itemId, branch, next: next[branch] }));
  });

async function isAnyMade(parts, { rows }) {
  for (const row of rows.filter(({ branch }) => branch !== "series")) {
    const places = placesOf(row, row.next, parts.checkedMax);
    if ((await findPlaces(parts, places, new Set())).length) return true;
    // Behind them it may have made more.
    if ((await lastOffered(parts, places)) !== null) return true;
  }
  return false;
}

async function gatherAll(parts, { itemId, outputs, rows }, options) {
  const { branches = BRANCHES, refusedKey = "" } = options;
  // What cancels a request makes what that waits for, which somebody may have paid.
  const isAwaited = (makers) =>
    Object.keys(makers).some((key) => key !== refusedKey && makers[key] === "open");
  const isRefused = ({ makers = {} }) => refusedKey in makers && !isAwaited(makers);
  const isUnmade = (output) =>
    output.state === "void" || (output.state === "coming" && isRefused(output));
  const unmade = outputs.filter(isUnmade);
  const passedOver = new Set(
    keysOf(outputs.filter((output) => isOurs(output) || isUnmade(output))),
  );
  // Where only an operation's own secrets are asked for, the others are in their turn.
  const isAsked = (output) => branches.length || isRefused(output);
  const found = await findUnmade(parts, unmade.filter(isAsked));
  const next = new Map();
  for (const row of rows.filter(({ branch }) => branches.includes(branch))) {
    const { seed, branch } = row;
    const scanned = await scan(parts, row, leastOf(row, outputs), passedOver);
    found.push(...scanned.found);
    next.set(seed, { ...next.get(seed), [branch]: scanned.used + 1 });
  }
  return { itemId, found: withOf(found, outputs), next };
}

/**
 * Return what is found in a row of numbers, and the last one that is used, until there
 * are so many that are not, and none before `least`. Those below are asked for too: what
 * a copy has written down and sent late may be there.
 */
async function scan(parts, row, least, passedOver) {
  const { checkedMax, gap = GAP } = parts;
  const found = [];
  let used = -1;
  let number = Math.max(0, least - NUMBERS_MAX);
  for (;;) {
    const last = Math.max(used, least - 1);
    if (number <= last + gap) {
      if (number - least >= NUMBERS_MAX) throw new FindingError();
      const places = placesOf(row, number, checkedMax);
      found.push(...(await findPlaces(parts, places, passedOver)));
      used = Math.max(used, found.at(-1)?.number ?? used);
      number += checkedMax;
    } else {
      const offered = await lastOffered(parts, placesOf(row, last + 1, gap));
      if (offered === null) return { found, used };
      used = offered;
    }
  }
}

/**
 * Return the last of these numbers that an offer has named, null where none is. An
 * offer's outputs are all `kept`.
 */
async function lastOffered({ api, derive, checkedMax }, places) {
  if (places[0].branch !== "kept") return null;
  for (const batch of batchesOf(places, checkedMax).reverse()) {
    const answers = await api.findOffered(batch[0].itemId, await derive(batch));
    if (!answers) return null;
    const at = answers.lastIndexOf(true);
    if (at >= 0) return batch[at].number;
  }
  return null;
}

/** Return what there is at places, but for outputs that are known. */
async function findPlaces(parts, places, passedOver) {
  const secrets = await parts.derive(places);
  const all = places.map((place, at) => ({ ...place, secret: secrets[at] }));
  return find(
    parts,
    all.filter((place) => !passedOver.has(keyOf(place))),
  );
}

/** A number that was refused here may have been used by another copy. */
async function findUnmade(parts, unmade) {
  const places = [];
  for (const { itemId, secret, givenAt, number, each } of unmade) {
    const branch = givenAt || (number && !each) ? "given" : "kept";
    if (await parts.isStrong(secret)) places.push({ itemId, secret, branch });
  }
  return find(parts, places);
}

async function find({ api, checkedMax }, places) {
  const found = [];
  for (const batch of batchesOf(places, checkedMax)) {
    const answers = await api.find(
      batch[0].itemId,
      batch.map(({ secret }) => secret),
    );
    found.push(
      ...batch.map((place, at) => answers[at] && { ...place, ...answers[at] }),
    );
  }
  return found.filter(Boolean);
}

/**
 * Ask for the states of what was found at one moment: another copy may have moved units
 * in between. A wrong amount would hide an output for ever, and no more can be there
 * than the `total` of the item.
 */
async function takeStates({ api }, found, total) {
  const isUnspent = ({ state }) => state === "unspent";
  const asked = found.filter(isUnspent);
  const states = await api.check(asked.map(formatRawOutput));
  asked.forEach((place, at) => Object.assign(place, { state: states[at] }));
  const sum = unitsOf(asked.filter(isUnspent));
  const isMore = sum > total || found.some(({ amount }) => amount > total);
  if (states.includes("unknown") || isMore) throw new FindingError();
}

export const placesOf = (row, start, count) =>
  Array.from({ length: count }, (_, at) => ({ ...row, number: start + at }));

/**
 * Return the number from which on none may be there. Behind links that are still to be
 * made, others may have been.
 */
function leastOf({ branch, next }, outputs) {
  const isPromised = branch === "series" && outputs.some(({ each }) => each);
  return Math.max(next, isPromised ? nextNumber(outputs) : 0);
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

/** Return the items that are left to look at. */
export const leftToLook = ({ notes }) => notes.get(LOOK)?.left ?? [];

/** Note that these items are to be looked at, with those that are left. */
export function askForLook(draft, itemIds) {
  const left = new Set([...leftToLook(draft), ...itemIds]);
  draft.put("notes", { key: LOOK, left: [...left] });
}

/**
 * Add what was found, and count on from there.
 * @param {import("./records.js").Draft} draft
 * @param {Gathered[]} gathered
 */
export function addFound(draft, gathered) {
  for (const { itemId, next } of gathered) {
    for (const [seed, numbers] of next) raiseNumbers(draft, seed, itemId, numbers);
  }
  for (const place of gathered.flatMap((each) => each.found)) {
    const known = draft.outputs.get(keyOf(place));
    const facts = foundAs(place, known ?? {}, draft.now);
    if (!known) draft.addOutput(facts);
    else if (!isOurs(known)) draft.changeOutput(known.key, facts);
  }
}

/** Return what is known of an output that was found, which a link may have named. */
function foundAs(/** @type {FoundPlace} */ place, known, now) {
  const { itemId, secret, amount, state, branch } = place;
  const { number, of = Infinity } = branch === "series" ? place : known;
  const isKept = branch === "kept";
  const isSpent = state === "spent" || undefined;
  // What was promised as links here is as many there.
  const isPromised = Boolean(known.each) && known.amount === amount;
  const isNumbered = (!isKept || isPromised) && of <= LINK_NUMBER_MAX;
  return {
    itemId,
    secret,
    amount,
    spentElsewhere: isSpent,
    isUnclear: isSpent,
    givenAt: isKept ? undefined : (known.givenAt ?? now),
    // A copy may have made a link, or have taken it back, and not have handed it out yet.
    mayBeGiven: !isKept || undefined,
    number: isNumbered ? number : undefined,
    of: isNumbered ? of : undefined,
    each: isPromised ? known.each : undefined,
    foundAt: now,
  };
}
