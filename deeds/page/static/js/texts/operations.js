// What a person reads of an operation of the wallet. Pure.

import { formatAmount, unitsText } from "../format/amounts.js";
import { textFor } from "./problems.js";

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
 * Return for example "Created 5 units of “A ticket”"; a mint knows its own name before its answer.
 * @param {Partial<import("../wallet/records.js").OperationRecord> & {count?: number}} operation
 *   `count` of them are told as one
 */
export function operationText(operation, { nameOf, unitOf }) {
  const { kind = "", amount = 0, state, itemId, atDoor, body, count = 1 } = operation;
  const [done, underWay] = VERBS[atDoor ? "collect" : kind];
  const verb = state === "done" ? done : underWay;
  const all = kind === "send" && count > 1 ? verb.replace("a link", `${count} links`) : verb;
  const called = itemId ? nameOf(itemId) : body?.metadata?.name;
  const of = called ? ` of ${quoted(called)}` : "";
  return `${all} ${unitsText(amount, unitOf(itemId) ?? operation.unit)}${of}`;
}

/** Return why an operation was refused. @param {{code?: string, kind?: string}} operation */
export function refusalText({ code, kind = "claim" }) {
  if (code === "spent_input" && kind === "takeBack") return "Already claimed.";
  if (code === "spent_input" && kind !== "claim") return "These units are no longer here.";
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
  return isLong ? `${letters.slice(0, NAME_LENGTH_MAX - 1).join("")}…` : letters.join("");
}

/** Return the short name in quotation marks, which it does not end: a stranger may have written it. */
export function quoted(name) {
  return `“${shortName(name).replace(/[“”„‟"«»]/g, "’")}”`;
}

/** Return when it was, as the browser's language writes it; nothing for no time (of a file). */
export function timeText(milliseconds) {
  const date = new Date(milliseconds);
  if (Number.isNaN(date.getTime())) return "";
  return date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/** Return what to say of what earlier visits began; that some of it waits only if it is news. */
export function outcomesText(outcomes, wasWaiting) {
  const ended = outcomes.map(({ operation }) => endText(operation)).filter(Boolean);
  if (ended.length) return `What was begun earlier is finished: ${ended.join("; ")}. See My deeds.`;
  const waiting = outcomes.find(({ problem }) => problem);
  return waiting && !wasWaiting ? waitText(waiting.problem) : "";
}

/** Return why something is still under way, and what of it. */
export function waitText(problem, then = "We keep trying; nothing is lost.") {
  // The first sentence says why.
  return `${textFor(problem).replace(/\. .*/, ".")} ${then}`.trim();
}

/** @param {import("../wallet/records.js").OperationRecord} operation */
function endText({ kind, state, amount, code }) {
  if (state === "done") return `${unitsText(amount)} ${VERBS[kind][2]}`;
  if (state !== "refused") return "";
  const reason = refusalText({ code, kind });
  // In the middle of a sentence, so without its own end.
  return `${unitsText(amount)} refused (${reason.replace(/\.$/, "")})`;
}
