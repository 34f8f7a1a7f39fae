// What a wallet shows of its records: what is held of each item, what became of its
// links, what is under way, and the past. Pure.

import { AMOUNT_MAX } from "../format/amounts.js";
import { byAge, byAmount, comeBack, namerOf } from "./descent.js";
import { isFree } from "./links.js";
import { admittedAtOf, listedLinks, setAsideBy } from "./door_list.js";
import { grouped, isCollected, undoneAtOf, unitsOf } from "./records.js";
import { AT_REST, isUnderWay } from "./states.js";

/**
 * @typedef {import("./records.js").OutputRecord} OutputRecord
 *
 * What is shown of an item in a list. Units: `sum` is here, to be sent or split;
 * `coming` is on its way back, and `leaving` becomes links to hand out; `given` was
 * handed out as links, of which nobody has claimed `waiting`, and somebody `claimed`,
 * but no door that is known of; `mayBeGiven` wait only because they may have been handed
 * out since a backup; `lost` was spent elsewhere and never handed out, and
 * `moved` maybe by another copy of this wallet; `used` is like `lost` after its code
 * was shown to a door, `lastUsed` the latest of that, and `shownAt` when a code of what
 * is here was last shown; `collected` came in at the door; `unknownSum` the service
 * says it has never had; `offered` is in open offers, and `asked` what they get,
 * neither of which counts in another sum. To its maker `cameBack` from others, in all,
 * of which `back` is still here, in `sum` too; `admitted` were let in, by hand or at any
 * door that is known of; `most` were ever in one part. `preparing` counts links while some of a
 * series are still to be made.
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
 * A link of an item, and since when it is in its state; `isLeftHere` of an admission that
 * was undone, where no new link was made yet of what it brought in here; `said` of one
 * that may be what tickets without a number have said to be that were let in: how many,
 * and when the last was. It is a claim that anybody can make, so it counts nowhere.
 * Where one admission alone says so, it is `by` that, and its state is that one's, see
 * withSaid. What several links were joined to has their `numbers`, and as its note only
 * what a person wrote. What came `back` to its maker was paid to it, or claimed.
 * @typedef {"here" | "back" | "waiting" | "leaving" | "claimed" | "moved" | "used" | "admitted" | "undone" |
 *   "taken back" | "expected"} LinkState `expected` is what only a door list knows of
 * @typedef {OutputRecord & {numbers?: number[], isBack?: boolean}} Named
 * @typedef {{
 *   output: Named, state: LinkState, at: number, isLeftHere?: boolean,
 *   said?: {count: number, at: number}, by?: OutputRecord,
 * }} Link
 *
 * What is shown of one item: `parts` are outputs that can be split, merged or sent, the
 * largest first and before those with a number; `links` those that have a number or
 * were handed out, came in at the door, or are on a door list.
 * @typedef {Summary & {parts: Named[], links: Link[]}} Holding
 */

/** @type {import("./records.js").Plan} what summariesOf looks at */
export const SUMMARIES_WANTED = { outputs: "all", items: "all", operations: "all" };

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
 * Return what is shown of one item; nothing of it may be here.
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
  // What came in here was expected once.
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
 * Return where the units are that were made: the sum of those admitted, counted as
 * handed out, handed out, claimed, left, come back and away, whatever has taken them.
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
  // Lists may name more than there are, and what has not been asked for here yet.
  const admitted = take(Math.min(summary.admitted, given));
  const unasked = Math.max(0, admitted - (given - waiting));
  const counted = take(mayBeGiven);
  const out = take(waiting - mayBeGiven - unasked);
  // A door claims what it admits, and what came back had been claimed.
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
const GONE = ["given", "used", "lost", "moved"];
const SUMS = [...HERE, ...GONE, "claimed", "leaving", "mayBeGiven"];

const kindsOf = (operations) => new Map(operations.map(({ key, kind }) => [key, kind]));

function summaryOf(itemId, item, all, came) {
  /** @type {any} */
  const sums = Object.fromEntries(SUMS.map((name) => [name, 0]));
  const add = (name, amount) => {
    // No item has more: a file that was imported may say so, but must break nothing.
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
    shownAt: Math.max(0, ...all.filter(isFree).map(({ shownAt = 0 }) => shownAt)),
    preparing: preparingOf(all),
    back: unitsOf(all.filter((each) => isFree(each) && came.keys.has(each.key))),
    cameBack: came.units,
    admitted: admittedOf([...admitted, ...letIn], sums.claimed, byHand),
    most: all.reduce((most, { amount }) => Math.max(most, amount), 0),
  };
  // Nor while anything of it is under way.
  const isOver = !all.some(isUnderWay) && !HERE.some((name) => summary[name]);
  return { ...summary, isOver };
}

/**
 * Return how many units were let in. Whoever was let in by hand and shows a code of their
 * own later is there twice: those whose code says so, and at least as many as there are
 * more such codes than were `claimed` by others.
 */
function admittedOf(letIn, claimed, byHand) {
  const nameless = letIn.filter(isNameless);
  const isSaid = (/** @type {Named} */ output) =>
    nameless.some(({ said }) => said && said === saidBy(output));
  const more = Math.min(unitsOf(byHand), unitsOf(nameless) - claimed);
  return unitsOf(letIn) - Math.max(0, unitsOf(byHand.filter(isSaid)), more);
}

/** Return the outputs of the links that are in a state. */
export const outputsIn = (/** @type {Link[]} */ links, state) =>
  links.filter((link) => link.state === state).map(({ output }) => output);

/** Return whether what came in at a door is of a guest who had claimed it at home. */
export const isNameless = (/** @type {Named} */ { number, numbers, givenAt }) =>
  !number && !numbers && !givenAt;

/** Return whether an open offer waits for an output, maybe while it is cancelled. */
const isAsked = ({ state, makers = {} }) =>
  state === "coming" && Object.values(makers).includes("open");

/**
 * Return whether an admission was undone elsewhere: its guest has the next link of its
 * number, which nobody has let in.
 */
const isOutAgain = (output, letIn) =>
  undoneAtOf(output) && !letIn.some(({ number }) => number && number === output.number);

/** Return which of a summary's sums an output counts in. */
function groupOf(output, letIn) {
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
  if (spentElsewhere && !givenAt) return "lost";
  if (spentElsewhere && isOutAgain(output, letIn)) return "waiting";
  if (spentElsewhere) return admittedAtOf(output) ? "given" : "claimed";
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
  const { number, givenAt, each, state, before, createdAt, changedAt } = output;
  // Of what may have been handed out since a backup nobody knows when.
  const waitsSince = output.mayBeGiven ? 0 : (givenAt ?? changedAt);
  const link = (linkState, at) => ({ output, state: linkState, at });
  const admittedAt = admittedAtOf(output);
  if (admittedAt) return link("admitted", admittedAt);
  const undoneAt = undoneAtOf(output);
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

/**
 * Return the number that a link says: of what several were joined to the first, which the
 * list of a door knows from its note.
 */
export function saidBy(/** @type {Named} */ { number, numbers, note = "" }) {
  return (
    number ?? numbers?.[0] ?? Number(/^(\d+)[–,][\d–, ]*(?: ·|$)/.exec(note)?.[1] ?? 0)
  );
}

/** The states of a link whose guest may have claimed it at home, or will. */
const MAYBE_CLAIMED = ["claimed", "moved", "expected", "here", "waiting", "admitted"];
/** Of these the guest has most likely claimed it. */
const CLAIMED = MAYBE_CLAIMED.slice(0, 3);

/**
 * Return links, each that may have been claimed at home with what was said to be it. Of
 * one that was, and that one admission says to be, both are one: whose an admission is
 * only its code has said, but each guest has one row.
 */
export function withSaid(/** @type {Link[]} */ links) {
  // What a list calls still to come has no time.
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
    const at = Math.max(...admitted.map((each) => each.at));
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

/** Return a link of what is here, or came back. @returns {Link} */
export const rowOf = (/** @type {Link} */ link) =>
  link.state === "here" && link.output.isBack ? { ...link, state: "back" } : link;

/** Return what tells a link from others: several that were joined have only a note. */
const nameOf = (/** @type {Link} */ { output: { number, issue = 1, note, key } }) =>
  number ? `${number} ${issue}` : (note ?? key);

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
