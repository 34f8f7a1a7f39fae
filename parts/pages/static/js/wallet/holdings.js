// How a wallet's records are shown: what it holds of each item, what became of its
// links, which operations are under way, and the past. Pure.

import { AMOUNT_MAX } from "../format/amounts.js";
import { byAge, byAmount, comeBack, namerOf } from "./descent.js";
import { isFree } from "./links.js";
import { admittedAtOf, listedLinks, setAsideBy } from "./door_list.js";
import {
  grouped,
  isCollected,
  isListedAsUsed,
  largest,
  undoneAtOf,
  unitsOf,
} from "./records.js";
import { AT_REST, isUnderWay } from "./states.js";

/**
 * @typedef {import("./records.js").OutputRecord} OutputRecord
 *
 * What a list shows of an item. Amounts, in units:
 *
 * - `sum` is here, to be sent or split; `coming` is on its way back; `leaving` becomes
 *   links to hand out.
 * - `given` was handed out as links: `waiting` of it is unclaimed, and `claimed` was
 *   claimed, but by no known door. `mayBeGiven` counts as waiting only because it may
 *   have been handed out since a backup.
 * - `lost` was spent elsewhere and never handed out; `moved` likewise, but maybe by
 *   another copy of this wallet, or only a list says so; `used` likewise, after its code
 *   was shown to a door.
 * - `collected` was admitted at this wallet's door; `unknownSum` is not known to the
 *   service.
 * - `offered` is in open offers, `asked` is what these get. Neither counts in another
 *   sum.
 * - `cameBack` is all that others have returned to the maker; `back` is the part of it
 *   that is still here, also in `sum`.
 * - `admitted` were let in, by hand or at any known door; `most` is the largest amount
 *   that one output ever had.
 *
 * `lastUsed` is the latest output in `used`; `shownAt` is when a code of what is here
 * was last shown; `preparing` counts links while some of a series are still to be made.
 * @typedef {{
 *   itemId: string, item: import("./records.js").Item | null, unit?: string, isMinted: boolean,
 *   sum: number, coming: number, leaving: number, given: number, waiting: number, claimed: number,
 *   lost: number, mayBeGiven: number, moved: number,
 *   used: number, lastUsed?: OutputRecord, shownAt: number,
 *   collected: number, unknownSum: number, offered: number, asked: number, back: number, cameBack: number, admitted: number,
 *   most: number,
 *   preparing: {ready: number, count: number} | null,
 *   isOver: boolean,
 * }} Summary
 *
 * A link of an item, and since when it is in its state.
 *
 * - `isLeftHere`: its admission here was undone, and the new link is not made yet.
 * - `said`: how many admitted tickets without a number have stated its number, and when
 *   the last was admitted. Anybody can state a number, so only admittedOf counts it.
 * - `by`: the one admission that states its number; the link has the state of that
 *   admission, see withSaid.
 * - `output.numbers`: those of several links that were joined; its note is then only
 *   what a person wrote.
 *
 * A link that came `back` to its maker was paid to it, or claimed.
 * @typedef {"here" | "back" | "waiting" | "leaving" | "claimed" | "moved" | "used" | "admitted" | "undone" |
 *   "taken back" | "expected"} LinkState only a door list knows of an `expected` one
 * @typedef {OutputRecord & {numbers?: number[], isBack?: boolean}} Named
 * @typedef {{
 *   output: Named, state: LinkState, at: number, isLeftHere?: boolean,
 *   said?: {count: number, at: number}, by?: OutputRecord,
 * }} Link
 *
 * One item in detail: `parts` are outputs that can be split, merged or sent, the
 * largest first and those with a number last; `links` have a number, were handed out or
 * admitted at the door, or are on a door list.
 * @typedef {Summary & {parts: Named[], links: Link[]}} Holding
 */

/** @type {import("./records.js").Plan} the records that summariesOf reads */
export const SUMMARIES_PLAN = { outputs: "all", items: "all", operations: "all" };

/** Return the records that holdingOf reads. @returns {import("./records.js").Plan} */
export function holdingPlan(itemId) {
  return { outputs: { itemId }, items: [itemId], operations: { itemId } };
}

/**
 * Return a summary of each item, the latest first. Items of which nothing is left come
 * last; the others stay in their place whatever is done with them.
 * @param {import("./records.js").Slices} slices
 * @returns {Summary[]}
 */
export function summariesOf(slices) {
  const byItem = grouped(byAge(slices.outputs.list()), ({ itemId }) => itemId);
  const kinds = kindsOf(slices.operations.list());
  const summary = ([itemId, all]) => {
    const item = slices.items.get(itemId) ?? null;
    return summaryOf(itemId, item, all, comeBack(item, all, kinds));
  };
  return Array.from(byItem, summary)
    .filter((each) => !each.isOver || GONE.some((name) => each[name]))
    .reverse()
    .sort((one, other) => Number(one.isOver) - Number(other.isOver));
}

/**
 * Return the holding of one item, even if nothing of it is here.
 * @param {import("./records.js").Slices} slices
 * @returns {Holding}
 */
export function holdingOf(slices, itemId) {
  const all = slices.outputs.list({ itemId });
  const item = slices.items.get(itemId) ?? null;
  const came = comeBack(item, all, kindsOf(slices.operations.list({ itemId })));
  const summary = summaryOf(itemId, item, all, came);
  const setAside = setAsideBy(all);
  const own = all.flatMap((output) => linkOf(output, setAside) ?? []);
  const names = new Set(own.map(nameOf));
  // A list may still expect a ticket that was admitted here.
  const isOther = (link) => link.state !== "expected" || !names.has(nameOf(link));
  const named = namerOf(all, came.keys);
  const links = [...own, ...listedLinks(item).filter(isOther)]
    .map((link) => rowOf({ ...link, output: named(link.output) }))
    .sort(byNumber);
  return {
    ...summary,
    parts: all.filter(isFree).map(named).sort(byAmount),
    links,
  };
}

/**
 * Return where the units of an item are: admitted, counted as handed out, handed out,
 * claimed, left, come back, and away. They add up to the total.
 * @param {Summary} summary
 */
export function overviewOf(summary) {
  const { item, given, waiting, mayBeGiven, leaving, back, cameBack } = summary;
  const here = summary.sum + summary.coming + summary.offered;
  let outside = Math.max(0, (item?.total ?? 0) - here - leaving);
  const take = (amount) => {
    const taken = Math.min(Math.max(0, amount), outside);
    outside -= taken;
    return taken;
  };
  // Lists may name more tickets than exist, and tickets that this wallet has not
  // checked yet.
  const admitted = take(Math.min(summary.admitted, given));
  const unasked = Math.max(0, admitted - (given - waiting));
  const counted = take(mayBeGiven);
  const out = take(waiting - mayBeGiven - unasked);
  // Doors claim what they admit, and what came back was claimed before.
  const claimed = take(given - waiting - admitted + unasked - cameBack);
  return {
    given: out + leaving,
    claimed,
    counted,
    away: outside,
    here: here - back,
    back,
    admitted,
  };
}

/**
 * Read the holding of one item.
 * @param {Pick<import("./store.js").Store, "read">} store
 */
export const readHolding = (store, itemId) =>
  store.read(holdingPlan(itemId), (slices) => holdingOf(slices, itemId));

// An item with any of these is not over.
const HERE = [
  "sum",
  "coming",
  "waiting",
  "collected",
  "unknownSum",
  "offered",
  "asked",
];
// An item that is over is still shown with any of these.
const GONE = ["given", "used", "lost", "moved"];
const SUMS = [...HERE, ...GONE, "claimed", "leaving", "mayBeGiven"];

const kindsOf = (operations) => new Map(operations.map(({ key, kind }) => [key, kind]));

function summaryOf(itemId, item, all, came) {
  /** @type {any} */
  const sums = Object.fromEntries(SUMS.map((name) => [name, 0]));
  const add = (name, amount) => {
    // An imported file may say that an item has more, but must break nothing.
    sums[name] = Math.min(sums[name] + amount, AMOUNT_MAX);
  };
  const letIn = outputsIn(listedLinks(item), "admitted");
  for (const output of all) {
    const group = groupOf(output, letIn);
    if (group) add(group, output.amount);
    if (group === "waiting" || group === "claimed") add("given", output.amount);
    if (group === "waiting" && output.mayBeGiven) add("mayBeGiven", output.amount);
  }
  add("moved", movedSum(all));
  const admitted = all.filter(admittedAtOf);
  const marked = admitted.filter(({ isByHand }) => isByHand);
  const byHand = marked.length ? marked.map(namerOf(all, came.keys)) : [];
  const summary = {
    ...sums,
    itemId,
    item,
    unit: item?.unit,
    isMinted: Boolean(item?.isMinted),
    lastUsed: all.filter(isUsed).sort(byChange).at(-1),
    shownAt: largest(all.filter(isFree).map(({ shownAt = 0 }) => shownAt)),
    preparing: preparingOf(all),
    back: unitsOf(all.filter((each) => isFree(each) && came.keys.has(each.key))),
    cameBack: came.units,
    admitted: admittedOf([...admitted, ...letIn], sums.claimed, byHand),
    most: largest(all.map(({ amount }) => amount)),
  };
  // Nor is it over while anything of it is under way.
  const isOver = !all.some(isUnderWay) && !HERE.some((name) => summary[name]);
  return { ...summary, isOver };
}

/**
 * Return how many units were let in. A guest who was let in by hand and later shows a
 * code of their own is counted twice. So subtract the guests let in by hand whose
 * number such a code states. If such codes brought in more units than others have
 * `claimed`, subtract at least the difference.
 */
function admittedOf(letIn, claimed, byHand) {
  const nameless = letIn.filter(isNameless);
  const isSaid = (/** @type {Named} */ output) =>
    nameless.some(({ said }) => said && said === saidBy(output));
  const more = Math.min(unitsOf(byHand), unitsOf(nameless) - claimed);
  return unitsOf(letIn) - Math.max(0, unitsOf(byHand.filter(isSaid)), more);
}

/** Return the outputs of the links in a state. */
export const outputsIn = (/** @type {Link[]} */ links, state) =>
  links.filter((link) => link.state === state).map(({ output }) => output);

/**
 * Return whether an admitted output has no number, because its guest had claimed the
 * link.
 */
export const isNameless = (/** @type {Named} */ { number, numbers, givenAt }) =>
  !number && !numbers && !givenAt;

/**
 * Return whether an open offer waits for an output, even while it is being cancelled.
 */
const isAsked = ({ state, makers = {} }) =>
  state === "coming" && Object.values(makers).includes("open");

/**
 * Return whether an admission was undone elsewhere, and no link of its number is
 * admitted. The guest then has the next link.
 */
const isOutAgain = (output, letIn) =>
  undoneAtOf(output) && !letIn.some(({ number }) => number && number === output.number);

/** Return the name of the sum in which an output counts, or null. */
function groupOf(output, letIn) {
  const { state, givenAt, spentElsewhere, isUnclear } = output;
  if (isAsked(output)) return "asked";
  if (output.neverHeld) return null;
  if (output.unknown && AT_REST.includes(state)) return "unknownSum";
  if (state === "held" && isCollected(output)) return "collected";
  if (state === "held") return isListedAsUsed(output) ? "moved" : "sum";
  if (state === "given") return "waiting";
  if (state === "offered") return "offered";
  if (state === "coming" && output.collectedAt) return null;
  if (state === "coming") return givenAt ? "leaving" : "coming";
  if (state !== "spent" || isUnclear) return null;
  if (isUsed(output)) return "used";
  if (spentElsewhere && !givenAt) return "lost";
  if (spentElsewhere && isOutAgain(output, letIn)) return "waiting";
  if (spentElsewhere) return admittedAtOf(output) ? "given" : "claimed";
  // A link of this wallet that came back to it at the door.
  return (givenAt || output.number) && isCollected(output) ? "given" : null;
}

/**
 * Return how many missing units another copy of this wallet may have moved, except
 * those that were found again.
 */
function movedSum(all) {
  const unclear = all.filter((output) => output.isUnclear && !output.neverHeld);
  const found = all.filter(({ foundAt }) => foundAt);
  return Math.max(0, unitsOf(unclear) - unitsOf(found));
}

/** Return whether a door has most likely claimed an output whose code was shown. */
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
  const count = largest(promised.map(({ of = 0 }) => of));
  return { ready: count - left, count };
}

/**
 * Return the link of an output with its state. Return null if it is not a link, or if
 * this wallet has spent it without handing it out.
 */
function linkOf(output, setAside) {
  const { number, givenAt, each, state, before, createdAt, changedAt } = output;
  // If a link may have been handed out since a backup, the time is unknown.
  const waitsSince = output.mayBeGiven ? 0 : (givenAt ?? changedAt);
  const link = (linkState, at) => ({ output, state: linkState, at });
  const admittedAt = admittedAtOf(output);
  if (admittedAt) return link("admitted", admittedAt);
  const undoneAt = undoneAtOf(output);
  if (undoneAt) {
    const isLeftHere = Boolean(output.collectedAt) && setAside.has(output.operation);
    return { ...link("undone", undoneAt), isLeftHere };
  }
  // A list knows what this wallet could only guess.
  if (output.takenBackAt) return link("taken back", output.takenBackAt);
  if (each || output.neverHeld || !(number || givenAt)) return null;
  const now = state === "leaving" ? before : state;
  if (now === "held" && isCollected(output)) return null;
  if (state === "leaving") return link("leaving", changedAt);
  // A list whose time cannot be right says that it was let in.
  if (state === "held" && isListedAsUsed(output)) return link("moved", changedAt);
  if (state === "held") return link("here", createdAt);
  if (state === "given") return link("waiting", waitsSince);
  if (state !== "spent") return null;
  if (isUsed(output)) return link("used", changedAt);
  if (!givenAt) return null;
  if (!output.spentElsewhere) return link("taken back", changedAt);
  return link(output.isUnclear ? "moved" : "claimed", changedAt);
}

/**
 * Return the number that a link states, the first one of joined links. Door lists have
 * the numbers of joined links in the note.
 */
export function saidBy(/** @type {Named} */ { number, numbers, note = "" }) {
  return (
    number ?? numbers?.[0] ?? Number(/^(\d+)[–,][\d–, ]*(?: ·|$)/.exec(note)?.[1] ?? 0)
  );
}

/** States of a link whose guest may have claimed it at home, or may yet. */
const MAYBE_CLAIMED = ["claimed", "moved", "expected", "here", "waiting", "admitted"];
/** States in which the guest has most likely claimed it. */
const CLAIMED = MAYBE_CLAIMED.slice(0, 3);

/**
 * Return links, and add `said` to each that may have been claimed at home. If one
 * admission alone states the number of a claimed link, the two become one row. The code
 * does not prove whose admission it is, but each guest should have one row.
 */
export function withSaid(/** @type {Link[]} */ links) {
  // Entries with a time in the future were imported without a time.
  const isSaid = (/** @type {Link} */ { output: { number, said }, state, at }) =>
    (state === "admitted" || state === "undone") && !number && said && at;
  /** @type {Map<number, Link[]>} */
  const bySaid = grouped(links.filter(isSaid), ({ output }) => output.said);
  const joined = new Set();
  const rows = links.map((link) => {
    const number = saidBy(link.output);
    const all = bySaid.get(number);
    if (!all || !MAYBE_CLAIMED.includes(link.state)) return link;
    const admitted = all.filter(({ state }) => state === "admitted");
    const count = admitted.length;
    const at = largest(admitted.map((each) => each.at));
    const said = count ? { count, at } : undefined;
    const isClaimed = link.output.isByHand || CLAIMED.includes(link.state);
    if (count > 1 || !isClaimed) return { ...link, said };
    bySaid.delete(number);
    for (const each of all) joined.add(each);
    const { output: by, ...facts } = admitted[0] ?? all[0];
    return { ...facts, output: link.output, said, by };
  });
  return rows.filter((row) => !joined.has(row));
}

/** Return a link, as "back" if it is here and came back. @returns {Link} */
export const rowOf = (/** @type {Link} */ link) =>
  link.state === "here" && link.output.isBack ? { ...link, state: "back" } : link;

/** Return what distinguishes a link from others. Joined links have only a note. */
const nameOf = (/** @type {Link} */ { output: { number, issue = 1, note, key } }) =>
  number ? `${number} ${issue}` : (note ?? key);

/**
 * Compare rows by number, issue and age.
 * @param {Pick<Link, "output">} one
 * @param {Pick<Link, "output">} other
 */
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
