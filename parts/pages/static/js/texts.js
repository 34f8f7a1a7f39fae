// Texts about problems, the wallet's operations, and offers. Pure.

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
 * What to show for each problem that the service answers (docs/problems.md).
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

/** Our own modules' errors have messages for people; the browser's do not. */
const OURS =
  /^(Amount|Field|Finding|NotAWalletFile|RawOutput|Store|Wallet|WrongPassphrase)Error$/;

/**
 * A service or a file may send a code such as "constructor", which every object has.
 */
const textOf = (texts, code) => (Object.hasOwn(texts, code) ? texts[code] : undefined);

/**
 * Return the sentence to show for an error of our own, of the service or of the
 * browser.
 */
export function textFor(error) {
  const { code, name, message, status } = /** @type {any} */ (error ?? {});
  if (name === "NoAnswerError" && (status || globalThis.navigator?.onLine))
    return `${gettext("The service can't be reached right now.")} ${LATER}`;
  // Only for requests that are not sent again.
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

/** What an operation is called when it is done, and while it is under way. */
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
 * Return for example "Created 5 units of “A ticket”". A mint has a name before it has
 * an item.
 *
 * @typedef {import("./wallet/api.js").Part} Part
 * @typedef {(itemId?: string) => import("./wallet/records.js").Item | null | undefined} ItemOf
 *   finds what this browser knows of a deed
 * @param {Partial<import("./wallet/records.js").OperationRecord> & {count?: number}} operation
 *   stands for `count` operations
 * @param {string} [units] replaces the amount and name of the units
 */
export function operationText(operation, /** @type {ItemOf} */ itemOf, units) {
  const { kind = "", amount = 0, state, itemId, atDoor, body, count = 1 } = operation;
  const many = kind === "send" && count > 1 ? "sendMany" : kind;
  const [done, underWay] = OPERATIONS[atDoor ? "collect" : many];
  // A mint that waits for its answer has no item yet: its request has the name.
  const isOwnMint = kind === "mint" && state !== "done";
  const named = isOwnMint ? body?.metadata?.name : "";
  const called = itemId ? nameOf(itemOf(itemId)) : named;
  const sum = unitsText(amount, itemOf(itemId)?.unit ?? operation.unit);
  const values = { units: units ?? (called ? ofText(sum, called) : sum) };
  return fill(state === "done" ? done : underWay, values);
}

/**
 * Return why an operation was refused.
 * @param {{code?: string, kind?: string}} operation
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

/** Return a name in one line, cut to NAME_LENGTH_MAX characters. */
export function shortName(name) {
  const letters = [...name.replace(/\s+/g, " ").trim()];
  return letters.length > NAME_LENGTH_MAX
    ? `${letters.slice(0, NAME_LENGTH_MAX - 1).join("")}…`
    : letters.join("");
}

/**
 * Return the short name in quotation marks. Those within it are replaced: a stranger
 * may have written it.
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
 * Return a time as the page's language writes it; empty for an invalid one from a file.
 */
export function timeText(milliseconds) {
  const date = new Date(milliseconds);
  if (Number.isNaN(date.getTime())) return "";
  return date.toLocaleString(LOCALE, { dateStyle: "medium", timeStyle: "short" });
}

/** Return a time: today without the date, this year without the year. */
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
 * Return what codes said at doors about a link's number, for example "a guest let in at
 * 19:41 said 12".
 * @param {import("./wallet/holdings.js").Link} link
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
 * Return the amount and number of a link, for example "Ticket 17 of 200", "50 euros ·
 * No. 5 of 20", "3 tickets · No. 2–4", or "1 ticket".
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

/**
 * Return all that identifies a link to people, for example "Ticket 17 of 200 · table
 * 4".
 */
export const linkText = (output, unit) =>
  joinTexts([heldText(output, unit), issueText(output), output.note]);

/**
 * Return what to say about operations that earlier visits began. Say that some wait
 * only if none was waiting before.
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

/** For a claim that waits: the link still works for others. */
export const MAY_COME_LATE = gettext("We keep trying. Somebody else may be faster.");

/** Return why something is still under way, and what that means. */
export function waitText(problem, then = gettext("We keep trying; nothing is lost.")) {
  // The first sentence states the reason.
  return `${textFor(problem).replace(/\. .*/, ".")} ${then}`.trim();
}

/** Return how an operation has ended; empty if it has not. */
function endText(
  /** @type {import("./wallet/records.js").OperationRecord} */ operation,
) {
  const { state, amount, unit } = operation;
  const what = operationText(operation, () => null, unitsText(amount, unit));
  if (state === "done") return what;
  if (state !== "refused") return "";
  // It stands in the middle of a sentence, so it has no full stop.
  const reason = refusalText(operation).replace(/\.$/, "");
  return gettext("{what} was refused ({reason})", { what, reason });
}

/** Deeds of one side that are named; parts/pages/card.py names as many. */
const NAMED_MAX = 2;

/** By code: how our own offer ended if nobody accepted it, or how a scan ended. */
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
 * Return what an offer means to its reader, without a full stop: "Ask for …" if nothing
 * is given, "Pay …" if nothing comes back, else "You give … and get …". If it is not
 * open, return only "… for …".
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

/**
 * Return the label of the button that cancels an offer, or a request if nothing is
 * given.
 */
export const cancelText = (gives) =>
  gives ? gettext("Cancel offer") : gettext("Cancel request");

/** Return the state of our own offer that nobody has accepted. */
export function offerStateText({ kind, state, code = "", expiresAt = NaN }) {
  if (state === "refused") return textOf(ENDINGS, code) ?? refusalText({ code, kind });
  const until = { time: clockText(expiresAt) };
  return kind === "ask"
    ? gettext("Can be paid until {time}.", until)
    : gettext("Open until {time}.", until);
}

const SIGNS_COUNT = 4;

/**
 * Return what both screens show of a payment or a trade, for example "7K2M 14:05". The
 * signs are the random end of the offer's id. By them the payee sees that the person in
 * front of them has paid.
 */
export const signsText = ({ offerId = "", endedAt = NaN }) =>
  `${offerId.slice(-SIGNS_COUNT).toUpperCase()} ${clockText(endedAt)}`;

/** Return for example "Paid", and below it "7K2M 14:05". */
export function receiptText(operation, isTrade = false) {
  const word = isTrade ? gettext("Traded") : gettext("Paid");
  return `${word}\n${signsText(operation)}`;
}
