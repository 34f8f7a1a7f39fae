// What a wallet shows of its records: what is held of each item, what became of its
// links, what is under way, and the past. Pure.

import { AMOUNT_MAX } from "../format/amounts.js";
import { ticketText, wordsOf } from "../format/tickets.js";
import { cutNote, isFree } from "./links.js";
import { admittedAtOf, isSetAside, listedLinks } from "./door_list.js";
import { isCollected, unitsOf } from "./records.js";
import { AT_REST, isUnderWay } from "./states.js";

/**
 * @typedef {import("./records.js").OutputRecord} OutputRecord
 *
 * What is shown of an item in a list. Units: `sum` is here, to be sent or split;
 * `coming` is on its way back, and `leaving` becomes links to hand out; `given` was
 * handed out as links, of which `waiting` and `claimed` are those that nobody or
 * somebody has claimed, and `mayBeGiven` those that wait only because they may have
 * been handed out since a backup; `lost` was spent elsewhere and never handed out, and
 * `moved` maybe by another copy of this wallet; `used` is like `lost` after its code
 * was shown to a door, `lastUsed` the latest of that, and `shownAt` when a code of what
 * is here was last shown; `collected` came in at the door; `unknownSum` the service
 * says it has never had; `offered` is in open offers, and `asked` what they get,
 * neither of which counts in another sum. `twice` is what its maker has handed out that
 * came back, and may be handed out again. `preparing` counts links while some of a
 * series are still to be made.
 * @typedef {{
 *   itemId: string, item: import("./records.js").Item | null, unit?: string, isMinted: boolean,
 *   sum: number, coming: number, leaving: number, given: number, waiting: number, claimed: number,
 *   lost: number, mayBeGiven: number, moved: number,
 *   used: number, lastUsed?: OutputRecord, shownAt: number,
 *   collected: number, unknownSum: number, offered: number, asked: number, twice: number,
 *   preparing: {ready: number, count: number} | null,
 *   isOver: boolean,
 * }} Summary
 *
 * A link of an item, and since when it is in its state; `isLeftHere` of an admission that
 * was undone, where no new link was made yet of what it brought in here; `said` of one
 * that may be what tickets without a number have said to be that were let in: how many,
 * and when the last was. It is a claim that anybody can make, so it counts nowhere.
 * What several links were joined to has their `numbers`, and as its note only what a
 * person wrote. What came `back` to its maker was paid to it, or claimed.
 * @typedef {"here" | "back" | "waiting" | "leaving" | "claimed" | "moved" | "used" | "admitted" | "undone" |
 *   "taken back" | "expected"} LinkState `expected` is what only a door list knows of
 * @typedef {OutputRecord & {numbers?: number[], isBack?: boolean}} Named
 * @typedef {{
 *   output: Named, state: LinkState, at: number, isLeftHere?: boolean,
 *   said?: {count: number, at: number},
 * }} Link
 *
 * What is shown of one item: `parts` are outputs that can be split, merged or sent, the
 * largest first and before those with a number; `links` those that have a number or
 * were handed out, came in at the door, or are on a door list; `admitted` are the units
 * of those that were let in, at any door.
 * @typedef {Summary & {parts: Named[], links: Link[], admitted: number}} Holding
 */

/** @type {import("./records.js").Plan} what summariesOf looks at */
export const SUMMARIES_WANTED = { outputs: "all", items: "all" };

/** Return what holdingOf looks at. @returns {import("./records.js").Plan} */
export function holdingWanted(itemId) {
  return { outputs: { itemId }, items: [itemId], operations: { itemId } };
}

/**
 * Return what is shown of each item, the latest first: where nothing is left comes
 * last, and the rest stays in its place whatever is done with it.
 * @param {import("./records.js").Slices} slices
 * @returns {Summary[]}
 */
export function summariesOf(slices) {
  const byItem = new Map();
  for (const output of slices.outputs
    .list()
    .sort((one, other) => one.createdAt - other.createdAt)) {
    if (!byItem.has(output.itemId)) byItem.set(output.itemId, []);
    byItem.get(output.itemId).push(output);
  }
  return Array.from(byItem, ([itemId, all]) => summaryOf(itemId, all, slices))
    .filter((summary) => !summary.isOver || GONE.some((name) => summary[name]))
    .reverse()
    .sort((one, other) => Number(one.isOver) - Number(other.isOver));
}

/**
 * Return what is shown of one item; nothing of it may be here.
 * @param {import("./records.js").Slices} slices
 * @returns {Holding}
 */
export function holdingOf(slices, itemId) {
  const all = slices.outputs.list({ itemId });
  const summary = summaryOf(itemId, all, slices);
  const setAside = new Set(all.filter(isSetAside).map(({ operation }) => operation));
  const own = all.flatMap((output) => linkOf(output, setAside) ?? []);
  const names = new Set(own.map(nameOf));
  // What came in here was expected once.
  const isOther = (link) => link.state !== "expected" || !names.has(nameOf(link));
  const listed = listedLinks(summary.item).filter(isOther);
  const operations = slices.operations.list({ itemId });
  const kinds = new Map(operations.map(({ key, kind }) => [key, kind]));
  const named = namerOf(all, summary.isMinted ? kinds : null);
  const links = [...own, ...listed]
    .map((link) => rowOf({ ...link, output: named(link.output) }))
    .sort(byNumber);
  const admitted = links.filter(({ state }) => state === "admitted");
  return {
    ...summary,
    parts: all.filter(isFree).map(named).sort(byAmount),
    links: withSaid(links),
    admitted: unitsOf(admitted.map(({ output }) => output)),
  };
}

/** Read what is shown of one item. @param {Pick<import("./store.js").Store, "read">} store */
export const readHolding = (store, itemId) =>
  store.read(holdingWanted(itemId), (slices) => holdingOf(slices, itemId));

// With one of these an item is not over.
const HERE = [
  "sum",
  "coming",
  "waiting",
  "collected",
  "unknownSum",
  "offered",
  "asked",
];
// With one of these it is shown all the same.
const GONE = ["claimed", "used", "lost", "moved"];
const SUMS = [...HERE, ...GONE, "given", "leaving", "mayBeGiven"];

function summaryOf(itemId, all, { items }) {
  const item = items.get(itemId) ?? null;
  /** @type {any} */
  const sums = Object.fromEntries(SUMS.map((name) => [name, 0]));
  const add = (name, amount) => {
    // No item has more: a file that was imported may say so, but must break nothing.
    sums[name] = Math.min(sums[name] + amount, AMOUNT_MAX);
  };
  for (const output of all) {
    const group = groupOf(output);
    if (group) add(group, output.amount);
    if (group === "waiting" || group === "claimed") add("given", output.amount);
    if (group === "waiting" && output.mayBeGiven) add("mayBeGiven", output.amount);
  }
  add("moved", movedSum(all));
  const summary = {
    ...sums,
    itemId,
    item,
    unit: item?.unit,
    isMinted: Boolean(item?.isMinted),
    lastUsed: all.filter(isUsed).sort(byChange).at(-1),
    shownAt: Math.max(0, ...all.filter(isFree).map(({ shownAt = 0 }) => shownAt)),
    preparing: preparingOf(all),
  };
  // Nor while anything of it is under way.
  const isOver = !all.some(isUnderWay) && !HERE.some((name) => summary[name]);
  return { ...summary, twice: twiceOf(summary), isOver };
}

/** Return how many units that were handed out are here again, or handed out again. */
function twiceOf({ item, isMinted, given, ...rest }) {
  const here = rest.sum + rest.coming + rest.offered + rest.leaving;
  return isMinted ? Math.max(0, given + here - item.total) : 0;
}

/** Return whether an open offer waits for an output, maybe while it is cancelled. */
const isAsked = ({ state, makers = {} }) =>
  state === "coming" && Object.values(makers).includes("open");

/** Return which of a summary's sums an output counts in. */
function groupOf(output) {
  const { state, givenAt, spentElsewhere, isUnclear } = output;
  if (isAsked(output)) return "asked";
  if (output.neverHeld) return null;
  if (output.unknown && AT_REST.includes(state)) return "unknownSum";
  if (state === "held") return isCollected(output) ? "collected" : "sum";
  if (state === "given") return "waiting";
  if (state === "offered") return "offered";
  if (state === "coming" && output.collectedAt) return null;
  if (state === "coming") return givenAt ? "leaving" : "coming";
  if (state !== "spent" || isUnclear) return null;
  if (isUsed(output)) return "used";
  if (spentElsewhere) return givenAt ? "claimed" : "lost";
  // A link of this wallet that came back to it at the door.
  return (givenAt || output.number) && isCollected(output) ? "given" : null;
}

/**
 * Return how many units are gone that another copy of this wallet may have moved: what
 * was found of them again is not.
 */
function movedSum(all) {
  const unclear = all.filter((output) => output.isUnclear && !output.neverHeld);
  const found = all.filter(({ foundAt }) => foundAt);
  return Math.max(0, unitsOf(unclear) - unitsOf(found));
}

/** Return whether a door, most likely, has claimed what was shown to it. */
export const isUsed = ({ spentElsewhere, isUnclear, shownAt, givenAt }) =>
  spentElsewhere && !isUnclear && shownAt && !givenAt;

const byChange = (one, other) => one.changedAt - other.changedAt;

function preparingOf(all) {
  const isPromised = ({ state, unknown }) =>
    ["held", "leaving"].includes(state) && !unknown;
  const promised = all.filter((output) => output.each && isPromised(output));
  if (!promised.length) return null;
  const left = promised.reduce(
    (count, { amount, each = 1 }) => count + amount / each,
    0,
  );
  const count = Math.max(...promised.map(({ of = 0 }) => of));
  return { ready: count - left, count };
}

/**
 * Return what became of a link, or null for what is none. What was sent by this wallet
 * is gone.
 */
function linkOf(output, setAside) {
  const { number, givenAt, each, state, before, createdAt, changedAt, undoneAt } =
    output;
  // Of what may have been handed out since a backup nobody knows when.
  const waitsSince = output.mayBeGiven ? 0 : (givenAt ?? changedAt);
  const link = (linkState, at) => ({ output, state: linkState, at });
  const admittedAt = admittedAtOf(output);
  if (admittedAt) return link("admitted", admittedAt);
  if (state === "spent" && undoneAt) {
    const isLeftHere = Boolean(output.collectedAt) && setAside.has(output.operation);
    return { ...link("undone", undoneAt), isLeftHere };
  }
  // A list knows what can only be guessed here.
  if (output.spentElsewhere && output.takenBackAt)
    return link("taken back", output.takenBackAt);
  if (each || output.neverHeld || !(number || givenAt)) return null;
  const now = state === "leaving" ? before : state;
  if (now === "held" && isCollected(output)) return null;
  if (state === "leaving") return link("leaving", changedAt);
  if (state === "held") return link("here", createdAt);
  if (state === "given") return link("waiting", waitsSince);
  if (state !== "spent") return null;
  if (isUsed(output)) return link("used", changedAt);
  if (!givenAt) return null;
  if (!output.spentElsewhere) return link("taken back", changedAt);
  return link(output.isUnclear ? "moved" : "claimed", changedAt);
}

/** The states of a link that may have been claimed at home, or will be. */
const MAYBE_CLAIMED = ["here", "waiting", "claimed", "moved"];

/** Return links, each that may have been claimed at home with what was said to be it. */
function withSaid(/** @type {Link[]} */ links) {
  const found = new Map();
  for (const { output, state, at } of links) {
    const { number, said } = output;
    // What a list calls still to come has no time.
    if (state !== "admitted" || number || !said || !at) continue;
    const known = found.get(said) ?? { count: 0, at };
    found.set(said, { count: known.count + 1, at: Math.max(known.at, at) });
  }
  return links.map((link) => {
    const said = found.get(link.output.number);
    return said && MAYBE_CLAIMED.includes(link.state) ? { ...link, said } : link;
  });
}

/** Of one amount what has no number comes first, and then the first link of a series. */
function byAmount(one, other) {
  return other.amount - one.amount || (one.number ?? 0) - (other.number ?? 0);
}

/** Return a link of what is here, or came back. @returns {Link} */
export const rowOf = (/** @type {Link} */ link) =>
  link.state === "here" && link.output.isBack ? { ...link, state: "back" } : link;

/**
 * Return what gives an output of these the numbers of the links that were joined to it;
 * of what was minted here, by the `kinds` of operations, it tells too what came back,
 * claimed or for nothing else of this item, and what is left of that.
 * @param {OutputRecord[]} all
 * @param {Map<string, string> | null} kinds
 */
function namerOf(all, kinds) {
  const [taken, made] = ["takers", "makers"].map((role) => byOperation(all, role));
  const known = new Map();
  const back = new Set();
  const sourcesOf = (/** @type {OutputRecord} */ { makers }) =>
    taken.get(doneOf(makers)) ?? [];
  // What an output was made of came before it.
  for (const output of [...all].sort((one, other) => one.createdAt - other.createdAt)) {
    const { key, number, makers, createdAt, givenAt } = output;
    const maker = doneOf(makers) ?? "";
    const others = made.get(maker) ?? [];
    const sources = sourcesOf(output);
    const kind = maker && kinds?.get(maker);
    // Nothing of this item is given for what is paid or traded for.
    const isBack = sources.length
      ? kind === "claim" || sources.every((each) => back.has(each.key))
      : maker && kind !== "mint";
    if (kinds && isBack) back.add(key);
    // Change, or a part of what was split.
    const isRest =
      givenAt !== createdAt && others.filter((each) => !each.number).length > 1;
    const numbers = new Set(number ? [number] : []);
    if (!number && !isRest) {
      for (const source of sources)
        known.get(source.key)?.forEach((each) => numbers.add(each));
      // A link of the same operation may keep its number.
      for (const other of others) numbers.delete(other.number);
    }
    known.set(key, numbers);
  }
  return (/** @type {OutputRecord} */ found) => {
    const output = back.has(found.key) ? { ...found, isBack: true } : found;
    const numbers = [...(known.get(output.key) ?? [])].sort(
      (one, other) => one - other,
    );
    if (output.number || !numbers.length) return output;
    const sources = [...sourcesOf(output)].sort(byAmount);
    const told = (text) => cutNote(sources.map(text).filter(Boolean).join(", "));
    const words = wordsOf({ ...output, numbers }, told(ticketText));
    return { ...output, numbers, note: words ?? told(({ note }) => note) };
  };
}

/** Return outputs by the operation that took them, or made them. */
function byOperation(all, role) {
  const found = new Map();
  for (const output of all) {
    const key = doneOf(output[role]);
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(output);
  }
  found.delete(undefined);
  return found;
}

const doneOf = (ends = {}) => Object.keys(ends).find((key) => ends[key] === "done");

const nameOf = (/** @type {Link} */ { output: { number, issue = 1 } }) =>
  number && `${number} ${issue}`;

/** The order of rows. @param {Pick<Link, "output">} one @param {Pick<Link, "output">} other */
export function byNumber(one, other) {
  return (
    firstOf(one) - firstOf(other) ||
    (one.output.issue ?? 1) - (other.output.issue ?? 1) ||
    other.output.createdAt - one.output.createdAt
  );
}

const firstOf = ({ output: { number = Infinity, numbers = [number] } }) => numbers[0];

/** Return all operations, the latest first. */
export function historyOf({ operations }) {
  return operations.list().sort((one, other) => other.begunAt - one.begunAt);
}
