// What a person reads: of problems, of the wallet's operations, and of offers. Pure.

import { unitsText } from "./format/amounts.js";
import { formatAmount } from "./format/gettext.js";
import { nameOf } from "./ui/card.js";

const LATER = "Try again in a moment.";
const TRY_AGAIN = `Nothing was changed. ${LATER}`;
const OUR_FAULT =
  "This page and the service do not understand each other. Reload the page.";

/**
 * What a person is told for each problem that the service answers (docs/problems.md).
 * @type {Readonly<Record<string, string>>}
 */
export const PROBLEM_TEXTS = Object.freeze({
  bad_request: OUR_FAULT,
  body_unreadable: "The connection broke while sending. Try again.",
  wrong_media_type: OUR_FAULT,
  invalid_json: OUR_FAULT,
  invalid_request: "The service cannot take this as it is written.",
  invalid_idempotency_key: OUR_FAULT,
  total_too_large: "Together that is more than one deed can hold.",
  not_an_offer: "An offer has to ask for something.",
  weak_secret: OUR_FAULT,
  unbalanced: "The amounts do not add up.",
  duplicate_input: "The same link is in here twice.",
  duplicate_secret: "Two links have the same secret. Each needs its own.",
  unknown_item: "This service does not know this deed.",
  offer_not_open: "This offer can no longer be taken.",
  unknown_input: "This service does not know this link. Ask the sender for it again.",
  spent_input: "This link was used already. Ask the sender.",
  used_secret: "This secret was used before. Choose another one.",
  item_not_found: "This service does not know this deed.",
  unknown_offer: "This service does not know this offer.",
  not_found: "There is nothing at this address.",
  method_not_allowed: OUR_FAULT,
  body_too_large: "That is too much at once. A smaller picture may help.",
  headers_too_large: OUR_FAULT,
  idempotency_key_reused:
    "This was sent before with other contents. Nothing was changed now.",
  too_many_failures:
    "Too many wrong links came from your network. Wait a minute, then try again.",
  too_many_requests: "Too many requests. Wait a minute, then try again.",
  overloaded: `The service is busy. ${TRY_AGAIN}`,
  ledger_unavailable: `The service is not ready. ${TRY_AGAIN}`,
  ledger_in_doubt: "The service is not sure yet whether it was done. We keep asking.",
  ledger_rolled_back: "The service is being repaired. Nothing was changed.",
  scheme_unavailable: `The service is being set up. ${TRY_AGAIN}`,
  internal: "The service made a mistake. Nothing that you hold is lost.",
});

/**
 * Errors of our own modules have messages for people; those of the browser have not.
 */
const OURS =
  /^(Amount|Finding|NotAWalletFile|RawOutput|Store|Wallet|WrongPassphrase)Error$/;

/**
 * Return the sentence for anything that went wrong, here, at the service or in the
 * browser.
 */
export function textFor(error) {
  const { code, name, message, status } = /** @type {any} */ (error ?? {});
  if (name === "NoAnswerError" && status)
    return `The service cannot be reached now. ${LATER}`;
  // Said of a request that is not sent again.
  if (name === "NoAnswerError") return "No connection. Check it and try again.";
  if (name === "ProblemError")
    return PROBLEM_TEXTS[code] ?? "The service refused this.";
  return (
    (OURS.test(name) && message) || "Something went wrong in this page. Reload it."
  );
}

const NAME_LENGTH_MAX = 60;

/** Done, while it is under way, and of what an earlier visit began. */
const VERBS = {
  mint: ["Created", "Creating", "created"],
  claim: ["Claimed", "Claiming", "claimed"],
  collect: ["Collected at the door:", "Collecting at the door:", "collected"],
  send: ["Made a link of", "Making a link of", "made into a link"],
  split: ["Split", "Splitting", "split"],
  merge: ["Merged", "Merging", "merged"],
  takeBack: ["Took back", "Taking back", "taken back"],
  ask: ["Received", "Asking for", "received"],
  trade: ["Traded", "Offering", "traded"],
  complete: ["Paid", "Paying", "paid"],
  withdraw: ["Withdrew", "Withdrawing", "withdrawn"],
};

/**
 * @typedef {import("./wallet/api.js").Part} Part
 * @typedef {(itemId?: string) => import("./wallet/records.js").Item | null | undefined} ItemOf finds
 *   what this browser knows of a deed
 *
 * Return for example "Created 5 units of “A ticket”"; a mint knows its own name before
 * its answer.
 * @param {Partial<import("./wallet/records.js").OperationRecord> & {count?: number}} operation
 *   `count` of them are told as one
 * @param {string} [units] what to say of its units, if not how many of which deed
 */
export function operationText(operation, /** @type {ItemOf} */ itemOf, units) {
  const { kind = "", amount = 0, state, itemId, atDoor, body, count = 1 } = operation;
  const [done, underWay] = VERBS[atDoor ? "collect" : kind];
  const verb = state === "done" ? done : underWay;
  const all =
    kind === "send" && count > 1 ? verb.replace("a link", `${count} links`) : verb;
  const called = itemId ? nameOf(itemOf(itemId)) : body?.metadata?.name;
  const of = called ? ` of ${quoted(called)}` : "";
  return `${all} ${units ?? unitsText(amount, itemOf(itemId)?.unit ?? operation.unit) + of}`;
}

/**
 * Return why an operation was refused. @param {{code?: string, kind?: string}}
 * operation
 */
export function refusalText({ code, kind = "claim" }) {
  if (code === "spent_input" && kind === "takeBack")
    return "This link was used already.";
  if (code === "spent_input" && kind !== "claim")
    return "These units are no longer here.";
  return textFor({ name: "ProblemError", code });
}

/** Return "1 link" or "3 links": for words whose plural ends in s. */
export function countText(count, word) {
  return `${formatAmount(count)} ${word}${count === 1 ? "" : "s"}`;
}

/** Return the name in one line, cut off where it is long. */
export function shortName(name) {
  const letters = [...name.replace(/\s+/g, " ").trim()];
  const isLong = letters.length > NAME_LENGTH_MAX;
  return isLong
    ? `${letters.slice(0, NAME_LENGTH_MAX - 1).join("")}…`
    : letters.join("");
}

/**
 * Return the short name in quotation marks, which it does not end: a stranger may have
 * written it.
 */
export const quoted = (name) => `“${shortName(name).replace(/[“”„‟"«»]/g, "’")}”`;

/** Return for example "2 × ticket of “Concert”". */
export const partText = (amount, item) =>
  `${unitsText(amount, item?.unit)} of ${quoted(nameOf(item))}`;

/**
 * Return when it was, as the browser's language writes it; nothing for no time (of a
 * file).
 */
export function timeText(milliseconds) {
  const date = new Date(milliseconds);
  if (Number.isNaN(date.getTime())) return "";
  return date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/** Return when it was; of today the time alone. */
export function clockText(milliseconds) {
  const date = new Date(milliseconds);
  if (date.toDateString() !== new Date().toDateString()) return timeText(milliseconds);
  return date.toLocaleTimeString(undefined, { timeStyle: "short" });
}

/** Return for example "Ticket 17 of 200"; without a number, "1 ticket". */
export function heldText({ amount, number = 0, of = 0 }, unit) {
  const [first, ...others] = unit || "number";
  const numbered = `${first.toLocaleUpperCase()}${others.join("")} ${number} of ${of}`;
  const units = unitsText(amount, unit);
  if (!number) return units;
  return amount === 1 ? numbered : `${numbered} · ${units}`;
}

/**
 * Return what to say of what earlier visits began; that some of it waits only if it is
 * news.
 */
export function outcomesText(outcomes, wasWaiting) {
  const ended = outcomes.map(({ operation }) => endText(operation)).filter(Boolean);
  if (ended.length)
    return `What was begun earlier is finished: ${ended.join("; ")}. See My deeds.`;
  const waiting = outcomes.find(({ problem }) => problem);
  return waiting && !wasWaiting ? waitText(waiting.problem) : "";
}

/** Return why something is still under way, and what of it. */
export function waitText(problem, then = "We keep trying; nothing is lost.") {
  // The first sentence says why.
  return `${textFor(problem).replace(/\. .*/, ".")} ${then}`.trim();
}

/** @param {import("./wallet/records.js").OperationRecord} operation */
function endText({ kind, state, amount, code }) {
  if (state === "done") return `${unitsText(amount)} ${VERBS[kind][2]}`;
  if (state !== "refused") return "";
  const reason = refusalText({ code, kind });
  // In the middle of a sentence, so without its own end.
  return `${unitsText(amount)} refused (${reason.replace(/\.$/, "")})`;
}

/** How many deeds of one side are named; deeds/page/card.py names as many. */
const NAMED_MAX = 2;

/** How an offer of ours ended without being taken, or a scan, by its code. */
const ENDINGS = {
  offer_expired: "Expired. Nobody took it.",
  offer_void: "No longer valid: its units were used elsewhere.",
  offer_withdrawn: "Withdrawn.",
  cancelled: "Cancelled at the door.",
};

/** Return for example "2 units of “A ticket” and 1 unit of “A drink”". */
export function sideText(units, /** @type {ItemOf} */ itemOf) {
  const all = [units ?? []].flat();
  const more = all.length - NAMED_MAX;
  const named = all
    .slice(0, NAMED_MAX)
    .map(({ itemId, amount }) => partText(amount, itemOf(itemId)));
  return [...named, ...(more > 0 ? [countText(more, "more deed")] : [])].join(" and ");
}

/**
 * Return what an offer means to the person who reads it, without a full stop: "Ask for
 * …" where nothing is given, "Pay …" where nothing comes back, else "You give … and get
 * …"; of one that is not open, only "… for …".
 * @param {{give?: Part | Part[] | null, want?: Part | Part[] | null, state?: string}} offer
 */
export function offerText({ give = null, want = null, state = "open" }, itemOf) {
  const [given, wanted] = [give, want].map((side) => sideText(side, itemOf));
  if (state !== "open") return [given, wanted].filter(Boolean).join(" for ");
  if (!given) return `Ask for ${wanted}`;
  return wanted ? `You give ${given} and get ${wanted}` : `Pay ${given}`;
}

/** Return what has become of an offer of ours. */
export function offerStateText({ kind, state, code = "", expiresAt = NaN }) {
  const isAsk = kind === "ask";
  if (state === "done") return isAsk ? "Paid." : "Traded.";
  if (state === "refused") return ENDINGS[code] ?? refusalText({ code, kind });
  return `${isAsk ? "Can be paid" : "Open"} until ${timeText(expiresAt)}.`;
}
