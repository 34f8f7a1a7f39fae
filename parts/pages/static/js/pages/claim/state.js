// What the Claim page says of outputs that a person was sent, from what the wallet
// knows and what the service says. Pure.

import { unitsText } from "../../format/amounts.js";
import { gettext, ngettext } from "../../format/gettext.js";
import { aboutOf, isPast, nameOf } from "../../format/about.js";
import { MAY_COME_LATE, quoted, refusalText, waitText } from "../../texts.js";
import { isSafe } from "../../ui/origin.js";

/**
 * @typedef {"unasked" | "asking" | "free" | "own" | "spent" | "gone" | "unknown" | "busy" | "taken" |
 *   "part" | "back" | "mine" | "used" | "past" | "lost"} ClaimKind an `own` output is
 *   free, too, and a link of this wallet; a `past` one was of this wallet, and who used
 *   it is unknown
 * @typedef {{kind: ClaimKind, word: string, text: string, canTake: boolean, isTold: boolean}} ClaimState
 *   with `isTold`, a list of several links shows the text, too
 */

/**
 * By kind: the word for it, the text beside it, and the page's heading if that is
 * another.
 * @type {Record<ClaimKind, string[]>}
 */
export const TEXTS = {
  unasked: [gettext("Not checked"), gettext("This page is not on https.")],
  asking: [gettext("Loading…"), "", gettext("Claim")],
  free: [
    gettext("Ready"),
    gettext("Until you claim, the sender can take the link back."),
    gettext("Yours to claim"),
  ],
  own: [
    gettext("Your own link"),
    gettext("You made this link. Until somebody claims it, you can take it back."),
  ],
  spent: [
    gettext("Already used"),
    gettext(
      "Already claimed, perhaps by you in another app or on another phone? If not, ask the sender: they may have taken it back.",
    ),
    gettext("This link was already used"),
  ],
  past: [
    gettext("Already used"),
    gettext("It was yours, but it has been used since."),
    gettext("Your link was used"),
  ],
  gone: [
    gettext("Claimed"),
    gettext("You made this link, and somebody has claimed it."),
    gettext("Your link was claimed"),
  ],
  unknown: [
    gettext("Not found"),
    gettext("The link is cut off or forged. Ask the sender for it again."),
  ],
  busy: [gettext("On its way"), gettext("It is on its way to you.")],
  taken: [gettext("Yours"), gettext("The link no longer works."), gettext("Claimed")],
  back: [
    gettext("Yours again"),
    gettext("The link no longer works."),
    gettext("Taken back"),
  ],
  mine: [
    gettext("Already yours"),
    gettext("This browser has it. The link still works for others."),
  ],
  part: [
    gettext("Claimed"),
    gettext("It was yours. What is left of it is in My deeds."),
  ],
  used: [gettext("Passed on"), gettext("It was yours, and you have passed it on.")],
  lost: [
    gettext("Not saved"),
    gettext(
      "This browser's storage was deleted in the meantime. Your link may still be good: copy it and try it in a new tab.",
    ),
  ],
};

const CAREFUL = gettext("Check before you claim");

/**
 * Return what to say of an output.
 * @param {{
 *   record?: import("../../wallet/records.js").OutputRecord, found?: string, problem?: Error,
 *   operation?: import("../../wallet/records.js").OperationRecord, isAsked?: boolean,
 *   made?: any,
 * }} known `operation` is the last one of the wallet's `record`; `made` has record and
 *   operation of its first output; `found` is the state that the service gives;
 *   `problem` is why it does not answer; `isAsked`: whether it is asked at all
 * @returns {ClaimState}
 */
export function claimState({
  record,
  operation,
  made,
  found,
  problem,
  isAsked = true,
}) {
  const kind = isAsked ? kindOf(record, operation, found, made) : "unasked";
  const state = stateAs(kind);
  if ((kind === "busy" || kind === "asking") && problem)
    return stateAs(kind, waitText(problem, MAY_COME_LATE));
  if (state.canTake && operation?.state === "refused")
    return stateAs(kind, refusalText(operation));
  return state;
}

/** @returns {ClaimState} */
function stateAs(/** @type {ClaimKind} */ kind, text = TEXTS[kind][1]) {
  const [word, usual] = TEXTS[kind];
  const canTake = kind === "free" || kind === "own";
  return { kind, word, text, canTake, isTold: isBad({ kind }) || text !== usual };
}

export function isBad({ kind }) {
  return kind === "spent" || kind === "unknown";
}

/** Return whether the wallet has or had it: then the tab need not store it. */
export const isKept = ({ kind }) =>
  ["taken", "part", "back", "mine", "used"].includes(kind);

export const isOver = (state) =>
  isBad(state) || isKept(state) || ["gone", "past"].includes(state.kind);

/** Return whether a row is of the links that were opened last. */
export const isOpened = ({ output }) => !output.isOlder;

/** The state from the tap on, before the wallet has recorded the claim. */
export const ON_ITS_WAY = stateAs("busy");

/** The state once the wallet that recorded the claim is gone. */
export const LOST = { ...stateAs("lost"), isTold: true };

/** @typedef {Pick<import("./view.js").FoundRow, "output" | "state" | "item" | "origin">} Row */

const isFree = ({ state }) => state.kind === "free";
const isOwn = ({ state }) => state.kind === "own";
/**
 * A deed that only has the name of another, or is not loaded, is never claimed with
 * others.
 */
const isSure = (row) => isFree(row) && isSafe(row.origin);
const isDoubtful = (row) => isFree(row) && row.origin && !isSafe(row.origin);

/** Return whether there is something to claim and this browser cannot claim it. */
export const isStuck = (rows, canClaim) =>
  !canClaim && !rows.every(({ state }) => isOver(state));

/**
 * Return the heading of the page. `strangersCount` is the number of links of other
 * services.
 * @param {Row[]} rows
 * @returns {[title: string, lead: string]}
 */
export function headingOf(rows, { strangersCount = 0, canClaim = true } = {}) {
  if (rows.some(({ state }) => state.kind === "lost")) return [LOST.word, LOST.text];
  if (isStuck(rows, canClaim))
    return [
      gettext("You can't claim here"),
      gettext("Your link stays good. Open it in another browser."),
    ];
  const loading = rows.filter(
    (row) => row.state.kind === "asking" || (isFree(row) && !row.origin),
  );
  const problem = loading.find(({ state }) => state.kind === "asking" && state.text);
  if (loading.length) return [gettext("Claim"), problem?.state.text ?? TEXTS.asking[0]];
  if (rows.length > 1) return headingOfMany(rows);
  if (rows.some(isDoubtful))
    return [
      CAREFUL,
      gettext("Ask the organiser, or compare the mark. The sender may be wrong too."),
    ];
  if (rows.length) {
    const { kind, word, text } = rows[0].state;
    if (isLate(rows[0])) return [lateText(rows[0]), LATE];
    const title = isFree(rows[0]) ? gotText(rows[0]) : (TEXTS[kind][2] ?? word);
    return [title, text || word];
  }
  if (strangersCount)
    return [gettext("Another service"), gettext("Nothing was sent to this service.")];
  return [gettext("Claim"), gettext("Paste the link you were sent, or scan its code.")];
}

/** Return whether a free link is of a deed that has expired or is over. */
export const isLate = (/** @type {Row} */ row) =>
  isFree(row) && isPast(aboutOf(row.item));

/** Return what to say of a late link, as the page's heading or in a list. */
export const lateText = (/** @type {Row} */ { item }) =>
  aboutOf(item).validUntil ? gettext("Expired") : gettext("The event is over");

const LATE = gettext("You can still claim it, but it may not be accepted any more.");

/** @param {Row} row */
function gotText({ output: { amount, unit: said }, item }) {
  const unit = item?.unit ?? said;
  const units = unitsText(amount, unit);
  if (/^1 ticket$/i.test(units)) return gettext("You've got a ticket");
  return unit ? gettext("You've got {units}", { units }) : TEXTS.free[2];
}

/** @param {Row[]} rows @returns {[title: string, lead: string]} */
function headingOfMany(rows) {
  const count = (...kinds) =>
    rows.filter(({ state }) => kinds.includes(state.kind)).length;
  const free = rows.filter(isSure).length;
  const taken = count("taken", "back");
  const total = rows.length;
  const some = gettext("You can claim {count} of {total}", { count: free, total });
  const all = gettext("You've got {total} links", { total });
  if (free) return [free < total ? some : all, TEXTS.free[1]];
  if (count("busy"))
    return [gettext("On their way"), gettext("They are on their way to you.")];
  if (rows.some(isDoubtful))
    return [CAREFUL, gettext("The rest may not be what it seems.")];
  if (taken)
    return [
      gettext("{count} of {total} claimed", { count: taken, total }),
      gettext("Their links no longer work."),
    ];
  if (count("own"))
    return [
      gettext("Nothing to claim"),
      gettext("The rest is your own. You can take it back."),
    ];
  return [gettext("Nothing to claim"), gettext("You can't claim any of these links.")];
}

/**
 * Return what one tap on the button claims, and its label. Safe links come first, then
 * the wallet's own, and doubtful ones last.
 * @template {Row} Some
 * @param {Some[]} rows
 * @returns {{rows: Some[], text: string, isQuiet: boolean}}
 */
export function offerOf(rows) {
  const [safe, own, doubtful] = [isSure, isOwn, isDoubtful].map((is) =>
    rows.filter(is),
  );
  const offer = (list, one, many, isQuiet = true) => ({
    rows: list,
    text: list.length > 1 ? many : one,
    isQuiet,
  });
  if (safe.length)
    return offer(
      safe,
      gettext("Claim"),
      gettext("Claim all {count}", { count: safe.length }),
      safe.every(isLate),
    );
  if (own.length) {
    const name = quoted(nameOf(own[0].item));
    const one =
      rows.length > 1 ? gettext("Take back {name}", { name }) : gettext("Take it back");
    return offer(
      own,
      one,
      ngettext("Take back {count}", "Take back all {count}", own.length),
    );
  }
  return offer(
    doubtful,
    gettext("Claim anyway"),
    ngettext("Claim {count} anyway", "Claim all {count} anyway", doubtful.length),
  );
}

/** @returns {ClaimKind} */
function kindOf(record, operation, found, made) {
  const state = record?.state;
  if (state === "leaving" || state === "coming") return "busy";
  if (state === "spent") return kindOfSpent(record, operation, made);
  // Check this before the wallet's own state: anybody may have claimed the link of a
  // mint.
  if (found === "spent")
    return state === "given" || state === "held" ? "past" : "spent";
  if (state === "held") return "mine";
  if (found === undefined) return "asking";
  if (found === "unknown") return "unknown";
  return state === "given" ? "own" : "free";
}

/** @returns {ClaimKind} */
function kindOfSpent(record, operation, made) {
  const isByUs = operation?.state === "done" && operation.inputs.includes(record.key);
  // Another copy of this wallet may have used it.
  if (record.isUnclear) return "past";
  if (record.spentElsewhere && record.givenAt) return "gone";
  if (!isByUs || record.spentElsewhere) return "spent";
  if (operation.kind === "takeBack") return "back";
  return operation.kind === "claim" ? kindOfMade(made) : "used";
}

/** What to say of a claimed output, by the kind of operation that has spent it. */
const GONE = /** @type {Record<string, ClaimKind>} */ ({
  send: "used",
  complete: "past",
  trade: "past",
});

/** @returns {ClaimKind} */
function kindOfMade(/** @type {any} */ { record, operation } = {}) {
  const { state, givenAt, spentElsewhere, amount } = record ?? {};
  if (givenAt) return "used";
  if (state !== "spent") return "taken";
  if (spentElsewhere) return "past";
  // If it was sent in part, or split, only My deeds knows the rest.
  const isWhole = !(operation?.amount < amount);
  return (isWhole && GONE[operation?.kind]) || "part";
}
