// What a person reads: of problems, of the wallet's operations, and of offers. Pure.

import { unitsText } from "./format/amounts.js";
import {
  fill,
  gettext,
  isolated,
  joinTexts,
  listText,
  LOCALE,
  ngettext,
} from "./format/gettext.js";
import { issueText, rangesText } from "./format/tickets.js";
import { nameOf } from "./format/about.js";

const LATER = gettext("Try again in a moment.");
const TRY_AGAIN = `${gettext("Nothing was changed.")} ${LATER}`;
const OUR_FAULT = gettext(
  "This page and the service don't understand each other. Reload the page.",
);

/**
 * What a person is told for each problem that the service answers (docs/problems.md).
 * @type {Readonly<Record<string, string>>}
 */
export const PROBLEM_TEXTS = {
  bad_request: OUR_FAULT,
  body_unreadable: gettext("The connection broke while sending. Try again."),
  wrong_media_type: OUR_FAULT,
  invalid_json: OUR_FAULT,
  invalid_request: gettext("The service can't accept this input."),
  invalid_idempotency_key: OUR_FAULT,
  total_too_large: gettext("Together that is more than one deed can hold."),
  not_an_offer: gettext("An offer must ask for something."),
  weak_secret: OUR_FAULT,
  unbalanced: gettext("The amounts don't add up."),
  duplicate_input: gettext("This has the same link twice."),
  duplicate_secret: gettext("Two links have the same secret. Each needs its own."),
  unknown_item: gettext("This service doesn't know this deed."),
  offer_not_open: gettext("You can no longer accept this offer."),
  unknown_input: gettext(
    "This service doesn't know this link. Ask the sender for it again.",
  ),
  spent_input: gettext("This link was already used. Ask the sender."),
  used_secret: gettext("This secret was used before. Choose another one."),
  mint_token_required: gettext(
    "To create here, you need a token. Enter it on the Create page.",
  ),
  mint_token_wrong: gettext(
    "This token is wrong, or it was replaced. Ask the operator for a new one.",
  ),
  item_not_found: gettext("This service doesn't know this deed."),
  unknown_offer: gettext("This service doesn't know this offer."),
  not_found: gettext("There is nothing at this address."),
  method_not_allowed: OUR_FAULT,
  body_too_large: gettext("This is too large. A smaller picture may help."),
  headers_too_large: OUR_FAULT,
  idempotency_key_reused: gettext(
    "This was already sent with different content. Nothing was changed.",
  ),
  too_many_failures: gettext(
    "Too many wrong links came from your network. Wait a minute, then try again.",
  ),
  too_many_requests: gettext("Too many requests. Wait a minute, then try again."),
  overloaded: `${gettext("The service is busy.")} ${TRY_AGAIN}`,
  ledger_unavailable: `${gettext("The service is not ready.")} ${TRY_AGAIN}`,
  ledger_in_doubt: gettext(
    "The service doesn't know yet whether it worked. We keep asking.",
  ),
  ledger_rolled_back: gettext("The service is being repaired. Nothing was changed."),
  scheme_unavailable: `${gettext("The service is being set up.")} ${TRY_AGAIN}`,
  internal: gettext("The service made a mistake. You lost nothing."),
};

/**
 * Errors of our own modules have messages for people; those of the browser have not.
 */
const OURS =
  /^(Amount|Field|Finding|NotAWalletFile|RawOutput|Store|Wallet|WrongPassphrase)Error$/;

/** A service or a file may name a code like "constructor", which every object has. */
const textOf = (texts, code) => (Object.hasOwn(texts, code) ? texts[code] : undefined);

/**
 * Return the sentence for anything that went wrong, here, at the service or in the
 * browser.
 */
export function textFor(error) {
  const { code, name, message, status } = /** @type {any} */ (error ?? {});
  if (name === "NoAnswerError" && (status || globalThis.navigator?.onLine))
    return `${gettext("The service can't be reached right now.")} ${LATER}`;
  // Said of a request that is not sent again.
  if (name === "NoAnswerError")
    return gettext("You're offline. Check your connection and try again.");
  if (name === "ProblemError")
    return textOf(PROBLEM_TEXTS, code) ?? gettext("The service refused this.");
  return (
    (OURS.test(name) && message) ||
    gettext("Something went wrong in this page. Reload it.")
  );
}

const NAME_LENGTH_MAX = 60;

/** Done, and while it is under way. */
const OPERATIONS = {
  mint: [gettext("Created {units}"), gettext("Creating {units}")],
  claim: [gettext("Claimed {units}"), gettext("Claiming {units}")],
  collect: [
    gettext("Collected at the door: {units}"),
    gettext("Collecting at the door: {units}"),
  ],
  send: [gettext("Made a link of {units}"), gettext("Making a link of {units}")],
  sendMany: [gettext("Made links of {units}"), gettext("Making links of {units}")],
  split: [gettext("Split {units}"), gettext("Splitting {units}")],
  merge: [gettext("Merged {units}"), gettext("Merging {units}")],
  takeBack: [gettext("Took back {units}"), gettext("Taking back {units}")],
  ask: [gettext("Received {units}"), gettext("Asking for {units}")],
  trade: [gettext("Traded {units}"), gettext("Offering {units}")],
  complete: [gettext("Paid {units}"), gettext("Paying {units}")],
  withdraw: [gettext("Cancelled {units}"), gettext("Cancelling {units}")],
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
  const many = kind === "send" && count > 1 ? "sendMany" : kind;
  const [done, underWay] = OPERATIONS[atDoor ? "collect" : many];
  // Only a mint of one's own waits for its item: others are as strangers wrote them.
  const isOwnMint = kind === "mint" && state !== "done";
  const named = isOwnMint ? body?.metadata?.name : "";
  const called = itemId ? nameOf(itemOf(itemId)) : named;
  const sum = unitsText(amount, itemOf(itemId)?.unit ?? operation.unit);
  const values = { units: units ?? (called ? ofText(sum, called) : sum) };
  return fill(state === "done" ? done : underWay, values);
}

/**
 * Return why an operation was refused. @param {{code?: string, kind?: string}}
 * operation
 */
export function refusalText({ code, kind = "claim" }) {
  if (code === "used_secret" && kind === "withdraw")
    return gettext("It was accepted first.");
  if (code === "spent_input" && kind === "takeBack")
    return gettext("This link was already used.");
  if (code === "spent_input" && kind !== "claim")
    return gettext("It is no longer here: it was used elsewhere.");
  return textFor({ name: "ProblemError", code });
}

/** Return the name in one line, cut off where it is long. */
export function shortName(name) {
  const letters = [...name.replace(/\s+/g, " ").trim()];
  return letters.length > NAME_LENGTH_MAX
    ? `${letters.slice(0, NAME_LENGTH_MAX - 1).join("")}…`
    : letters.join("");
}

/**
 * Return the short name in quotation marks, which it does not end: a stranger may have
 * written it.
 */
export const quoted = (name) =>
  gettext("“{name}”", {
    name: isolated(shortName(name).replace(/[“”„‟"«»]/g, "’")),
  });

/** Return for example "2 × ticket of “Concert”". */
export const partText = (amount, item) =>
  ofText(unitsText(amount, item?.unit), nameOf(item));

const ofText = (units, name) =>
  gettext("{units} of {name}", { units, name: quoted(name) });

/**
 * Return when it was, as the page's language writes it; nothing for no time (of a
 * file).
 */
export function timeText(milliseconds) {
  const date = new Date(milliseconds);
  if (Number.isNaN(date.getTime())) return "";
  return date.toLocaleString(LOCALE, { dateStyle: "medium", timeStyle: "short" });
}

/** Return when it was; of today the time alone, of this year without the year. */
export function clockText(
  milliseconds,
  /** @type {"short" | "medium"} */ timeStyle = "short",
) {
  const [date, today] = [new Date(milliseconds), new Date()];
  if (date.getFullYear() !== today.getFullYear()) return timeText(milliseconds);
  const time = date.toLocaleTimeString(LOCALE, { timeStyle });
  if (date.toDateString() === today.toDateString()) return time;
  return `${date.toLocaleDateString(LOCALE, { day: "numeric", month: "short" })}, ${time}`;
}

/**
 * Return what was said at doors of a link's number: for example "a guest let in at 19:41
 * said 12". @param {import("./wallet/holdings.js").Link} link
 */
export function saidText({ output, said }) {
  if (!said) return "";
  const number = output.number ?? rangesText(output.numbers);
  return ngettext(
    "a guest let in at {time} said {number}",
    "{count} guests who were let in said {number}, the last at {time}",
    said.count,
    { number, time: clockText(said.at) },
  );
}

/**
 * Return for example "Ticket 17 of 200", "50 euros · No. 5 of 20", "3 tickets · No. 2–4", or "1
 * ticket".
 */
export function heldText(
  /** @type {import("./format/tickets.js").Ticket & {amount: number}} */
  { amount, number = 0, of = 0, numbers },
  unit,
) {
  const units = unitsText(amount, unit);
  if (numbers)
    return `${units} · ${gettext("No. {number}", { number: rangesText(numbers) })}`;
  if (!number) return units;
  const [first = "", ...others] = unit?.split("/")[0] ?? "";
  const word = `${first.toLocaleUpperCase(LOCALE)}${others.join("")}`;
  const values = { word: isolated(word), number, total: of };
  const numbered = word
    ? gettext("{word} {number} of {total}", values)
    : gettext("Number {number} of {total}", values);
  return amount === 1
    ? numbered
    : `${units} · ${gettext("No. {number} of {total}", values)}`;
}

/** Return all that a person tells a link by, for example "Ticket 17 of 200 · table 4". */
export const linkText = (output, unit) =>
  joinTexts([heldText(output, unit), issueText(output), output.note]);

/**
 * Return what to say of what earlier visits began; that some of it waits only if it is
 * news.
 */
export function outcomesText(outcomes, wasWaiting) {
  const ended = outcomes.map(({ operation }) => endText(operation)).filter(Boolean);
  if (ended.length)
    return gettext("Finished since your last visit: {list}. See My deeds.", {
      list: ended.join("; "),
    });
  const waiting = outcomes.find(({ problem }) => problem);
  if (!waiting || wasWaiting) return "";
  const { operation, problem } = waiting;
  return waitText(problem, operation.kind === "claim" ? MAY_COME_LATE : undefined);
}

/** Said of a claim that waits: the link still works for others. */
export const MAY_COME_LATE = gettext("We keep trying. Somebody else may be faster.");

/** Return why something is still under way, and what of it. */
export function waitText(problem, then = gettext("We keep trying; nothing is lost.")) {
  // The first sentence says why.
  return `${textFor(problem).replace(/\. .*/, ".")} ${then}`.trim();
}

/** @param {import("./wallet/records.js").OperationRecord} operation */
function endText({ kind, state, amount, unit, code }) {
  const values = { units: unitsText(amount, unit) };
  if (state === "done") return fill(OPERATIONS[kind][0], values);
  if (state !== "refused") return "";
  // In the middle of a sentence, so without its own end.
  const reason = refusalText({ code, kind }).replace(/\.$/, "");
  const what = fill(OPERATIONS[kind][1], values);
  return gettext("{what} was refused ({reason})", { what, reason });
}

/** How many deeds of one side are named; parts/pages/card.py names as many. */
const NAMED_MAX = 2;

/** How an offer of ours ended without being taken, or a scan, by its code. */
const ENDINGS = {
  offer_expired: gettext("Expired."),
  offer_void: gettext("No longer valid: what you offered was used elsewhere."),
  offer_withdrawn: gettext("Cancelled."),
  cancelled: gettext("Cancelled."),
};

/** Return for example "2 units of “A ticket” and 1 unit of “A drink”". */
export function sideText(units, /** @type {ItemOf} */ itemOf) {
  const all = [units ?? []].flat();
  const more = all.length - NAMED_MAX;
  const named = all
    .slice(0, NAMED_MAX)
    .map(({ itemId, amount }) => partText(amount, itemOf(itemId)));
  if (more > 0) named.push(ngettext("{count} more deed", "{count} more deeds", more));
  return listText(named);
}

/**
 * Return what an offer means to the person who reads it, without a full stop: "Ask for
 * …" where nothing is given, "Pay …" where nothing comes back, else "You give … and get
 * …"; of one that is not open, only "… for …".
 * @param {{give?: Part | Part[] | null, want?: Part | Part[] | null, state?: string}} offer
 */
export function offerText({ give = null, want = null, state = "open" }, itemOf) {
  const [given, wanted] = [give, want].map((side) => sideText(side, itemOf));
  const values = { given, wanted };
  if (state !== "open" && !(given && wanted)) return given || wanted;
  if (state !== "open") return gettext("{given} for {wanted}", values);
  if (!given) return gettext("Ask for {wanted}", values);
  if (!wanted) return gettext("Pay {given}", values);
  return gettext("You give {given} and get {wanted}", values);
}

/** Return what the button says that cancels an offer, or a request: it gives nothing. */
export const cancelText = (gives) =>
  gives ? gettext("Cancel offer") : gettext("Cancel request");

/** Return what has become of an offer of ours that nobody has taken. */
export function offerStateText({ kind, state, code = "", expiresAt = NaN }) {
  if (state === "refused") return textOf(ENDINGS, code) ?? refusalText({ code, kind });
  const until = { time: clockText(expiresAt) };
  return kind === "ask"
    ? gettext("Can be paid until {time}.", until)
    : gettext("Open until {time}.", until);
}

const SIGNS_COUNT = 4;

/**
 * Return what both screens show of a payment or a trade, for example "7K2M 14:05": by
 * the same signs, the random end of the offer's id, who was paid sees that it was by the
 * person before them.
 */
export const signsText = ({ offerId = "", endedAt = NaN }) =>
  `${offerId.slice(-SIGNS_COUNT).toUpperCase()} ${clockText(endedAt)}`;

/** Return for example "Paid", and below it "7K2M 14:05". */
export function receiptText(operation, isTrade = false) {
  const word = isTrade ? gettext("Traded") : gettext("Paid");
  return `${word}\n${signsText(operation)}`;
}
