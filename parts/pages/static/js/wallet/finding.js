// Finds outputs that are ours although this wallet has not made them: an older copy of
// it, or the wallet of a joined seed, has moved units since. It asks for each secret
// that the copy may have used, until there are no more (contract 8).

import { gettext } from "../format/gettext.js";
import { formatRawOutput } from "../format/raw_output.js";
import { batchesOf, ProblemError } from "./api.js";
import { LINK_NUMBER_MAX, nextNumber } from "./links.js";
import { keyOf, keysOf, largest, unitsOf } from "./records.js";
import { BRANCHES, nextNumbers, numbersKeys, raiseNumbers, seedsOf } from "./seeds.js";
import { isOurs } from "./states.js";

/**
 * A row ends after this many numbers that neither the ledger nor an offer knows. It is
 * large because a shop asks for many payments that nobody makes.
 */
const GAP = 512;
/** More than anybody makes of an item between two backups. */
const NUMBERS_MAX = 100_000;

/**
 * With these codes an item is skipped: the service does not know it, or lacks its
 * pepper.
 */
const PASSED_OVER = new Set(["unknown_item", "item_not_found", "scheme_unavailable"]);

/** The service's answer cannot be true. */
export class FindingError extends Error {
  name = "FindingError";
  message = gettext("The service's answer doesn't add up. Nothing was changed.");
}

/** Key of the note that lists the items left to look at. */
export const LOOK = "look";

/**
 * @typedef {import("./wallet.js").Parts} Parts
 * @typedef {import("./records.js").OutputRecord} OutputRecord
 * @typedef {import("./seeds.js").Place & import("./api.js").Found & {secret: string, of?: number}} FoundPlace
 * @typedef {{
 *   itemId: string, found: FoundPlace[], next: Map<string, object>, isUnclear?: boolean,
 *   error?: FindingError, isLook?: boolean,
 * }} Finding the outputs found of an item, and the next numbers by seed; `isUnclear` if
 *   a copy has used a number that was taken here, `error` if the answer cannot be true,
 *   `isLook` if the search is part of a look at all items
 */

/**
 * Search for outputs of an item that this wallet does not know; record nothing. If the
 * item `isProbed`, first query only the next numbers of the branches `kept` and
 * `given`, and outputs that were not made here. Search all only if a copy has used one
 * of them.
 * @param {Parts} parts
 * @param {string} itemId
 * @param {{branches?: string[], isProbed?: (itemId: string) => boolean, refusedKey?: string}} [options]
 *   `refusedKey` is the key of a refused operation, whose numbers a copy may have used
 * @returns {Promise<Finding>}
 * @throws {ProblemError | NoAnswerError}
 */
export async function gather(parts, itemId, options = {}) {
  const nothing = { itemId, found: [], next: new Map() };
  const known = await readKnown(parts, itemId);
  const isProbed = options.isProbed?.(itemId);
  try {
    // A copy may have used the secrets of outputs that were not made here.
    const isUnmade = ({ state }) => state === "void" || state === "coming";
    const unmade = isProbed ? known.outputs.filter(isUnmade) : [];
    const isUnclear = (await findUnmade(parts, unmade)).length > 0;
    if (isProbed && !isUnclear && !(await isAnyMade(parts, known))) return nothing;
    const { total } = known.item ?? (await parts.api.item(itemId));
    const finding = await gatherAll(parts, known, options);
    await takeStates(parts, finding.found, total);
    return { ...finding, isUnclear };
  } catch (error) {
    if (error instanceof FindingError) return { ...nothing, error };
    if (error instanceof ProblemError && PASSED_OVER.has(error.code)) return nothing;
    throw error;
  }
}

/** Return what the wallet knows of an item, and the rows of its secrets. */
const readKnown = (/** @type {Parts} */ { store }, itemId) =>
  store.read(
    {
      seeds: "all",
      outputs: { itemId },
      items: [itemId],
      next: (slices) => ({ numbers: numbersKeys(slices, [itemId]) }),
    },
    (slices) => ({
      itemId,
      item: slices.items.get(itemId),
      outputs: slices.outputs.list({ itemId }),
      rows: secretRows(slices, itemId),
    }),
  );

/**
 * Return the rows of secrets of an item, by seed and branch, each with its `next`
 * number.
 */
export const secretRows = (slices, itemId) =>
  seedsOf(slices).flatMap(({ key: seed }) => {
    const next = nextNumbers(slices, seed, itemId);
    return BRANCHES.map((branch) => ({ seed, itemId, branch, next: next[branch] }));
  });

async function isAnyMade(parts, { rows }) {
  for (const row of rows.filter(({ branch }) => branch !== "series")) {
    const places = placesOf(row, row.next, parts.checkedMax);
    if ((await findPlaces(parts, places, new Set())).length) return true;
    // If an offer has named one of these, a copy may have made more after them.
    if ((await lastOffered(parts, places)) !== null) return true;
  }
  return false;
}

async function gatherAll(parts, { itemId, outputs, rows }, options) {
  const { branches = BRANCHES, refusedKey = "" } = options;
  // Cancelling a request makes the output that the request waits for. If the
  // cancellation was refused, somebody may have paid the request.
  const isAwaited = (makers) =>
    Object.keys(makers).some((key) => key !== refusedKey && makers[key] === "open");
  const isRefused = ({ makers = {} }) => refusedKey in makers && !isAwaited(makers);
  const isUnmade = (output) =>
    output.state === "void" || (output.state === "coming" && isRefused(output));
  const unmade = outputs.filter(isUnmade);
  const passedOver = new Set(
    keysOf(outputs.filter((output) => isOurs(output) || isUnmade(output))),
  );
  // If only an operation's own secrets are asked for, the others are left for later.
  const isAsked = (output) => branches.length || isRefused(output);
  let found = await findUnmade(parts, unmade.filter(isAsked));
  const next = new Map();
  for (const row of rows.filter(({ branch }) => branches.includes(branch))) {
    const { seed, branch } = row;
    const scanned = await scan(parts, row, leastOf(row, outputs), passedOver);
    found = [...found, ...scanned.found];
    next.set(seed, { ...next.get(seed), [branch]: scanned.used + 1 });
  }
  return { itemId, found: withOf(found, outputs), next };
}

/**
 * Return the outputs found in a row, and the last number that is used. Search until
 * `gap` numbers in a row are unused, and at least up to `least`. Up to NUMBERS_MAX
 * numbers below `least` are searched too: a copy may have recorded an operation long
 * ago and sent it late.
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
 * Return the last of these numbers that an offer has named, or null. Outputs of offers
 * are all of the branch `kept`.
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

/** Return what the service has at places, except outputs in `passedOver`. */
async function findPlaces(parts, places, passedOver) {
  const secrets = await parts.derive(places);
  const all = places.map((place, at) => ({ ...place, secret: secrets[at] }));
  return find(
    parts,
    all.filter((place) => !passedOver.has(keyOf(place))),
  );
}

/**
 * Return which of these outputs exist. They were not made here, but another copy may
 * have used their numbers.
 */
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
 * Ask for the states of all found outputs at one moment: another copy may have moved
 * units in between. Throw if the answer cannot be true. A wrong amount would hide an
 * output forever, and no more than `total` can exist.
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
 * Return the first number that need not be used: the next one of the row or, while
 * links are still to be made, the one after the last link.
 */
function leastOf({ branch, next }, outputs) {
  const isPromised = branch === "series" && outputs.some(({ each }) => each);
  return Math.max(next, isPromised ? nextNumber(outputs) : 0);
}

/** Add the size of the series to each found link, as far as it is known. */
function withOf(found, outputs) {
  const known = outputs.flatMap(({ of }) => of ?? []).sort((one, other) => one - other);
  const numbers = found.filter(({ branch }) => branch === "series");
  const last = largest(numbers.map(({ number }) => number));
  return found.map((place) => {
    if (place.branch !== "series") return place;
    return { ...place, of: known.find((of) => of >= place.number) ?? last };
  });
}

export const leftToLook = ({ notes }) => notes.get(LOOK)?.left ?? [];

/** Add these items to those left to look at. */
export function askForLook(draft, itemIds) {
  const left = new Set([...leftToLook(draft), ...itemIds]);
  draft.put("notes", { key: LOOK, left: [...left] });
}

/**
 * Add found outputs, and raise the next numbers above theirs.
 * @param {import("./records.js").Draft} draft
 * @param {Finding[]} findings
 */
export function addFound(draft, findings) {
  for (const { itemId, next } of findings) {
    for (const [seed, numbers] of next) raiseNumbers(draft, seed, itemId, numbers);
  }
  for (const place of findings.flatMap(({ found }) => found)) {
    const known = draft.outputs.get(keyOf(place));
    const facts = foundAs(place, known ?? {}, draft.now);
    if (!known) draft.addOutput(facts);
    else if (!isOurs(known)) draft.changeOutput(known.key, facts);
  }
}

/** Return the facts of a found output, which a link may have named before. */
function foundAs(/** @type {FoundPlace} */ place, known, now) {
  const { itemId, secret, amount, state, branch } = place;
  const { number, of = Infinity } = branch === "series" ? place : known;
  const isKept = branch === "kept";
  const isSpent = state === "spent" || undefined;
  // If the amount is the same, it is still to be split into the links promised here.
  const isPromised = Boolean(known.each) && known.amount === amount;
  const isNumbered = (!isKept || isPromised) && of <= LINK_NUMBER_MAX;
  return {
    itemId,
    secret,
    amount,
    spentElsewhere: isSpent,
    isUnclear: isSpent,
    givenAt: isKept ? undefined : (known.givenAt ?? now),
    // A copy may have made the link, or taken it back, without handing it out yet.
    mayBeGiven: !isKept || undefined,
    number: isNumbered ? number : undefined,
    of: isNumbered ? of : undefined,
    each: isPromised ? known.each : undefined,
    foundAt: now,
  };
}
