// What a person reads of an operation of the wallet. Pure.

import { unitsText } from "../format/amounts.js";
import { textFor } from "./problems.js";

const NAME_LENGTH_MAX = 60;

/** Done, and while it is under way. */
const VERBS = {
  mint: ["Minted", "Minting"],
  claim: ["Claimed", "Claiming"],
  send: ["Made a link of", "Making a link of"],
  split: ["Split", "Splitting"],
  merge: ["Merged", "Merging"],
  takeBack: ["Took back", "Taking back"],
};

/** What an earlier visit began, once it is done. */
const DONE = {
  mint: "minted",
  claim: "taken",
  send: "made into a link",
  split: "split",
  merge: "merged",
  takeBack: "taken back",
};

/**
 * Return for example "Minted 5 units of “A ticket”".
 * @param {import("../wallet/records.js").OperationRecord} operation
 * @param {string} name what the deed is called
 */
export function operationText({ kind, amount, state, itemId }, name) {
  const [done, underWay] = VERBS[kind];
  const of = itemId ? ` of ${quoted(name)}` : "";
  return `${state === "done" ? done : underWay} ${unitsText(amount)}${of}`;
}

/**
 * Return why a refused operation was refused.
 * @param {{code?: string}} operation
 */
export function refusalText({ code }) {
  return textFor({ name: "ProblemError", code });
}

/** Return the name in quotation marks, cut off where it is long. */
export function quoted(name) {
  const letters = [...name.replace(/\s+/g, " ").trim()];
  const short = letters.length > NAME_LENGTH_MAX;
  return `“${short ? `${letters.slice(0, NAME_LENGTH_MAX - 1).join("")}…` : letters.join("")}”`;
}

/**
 * Return when something was, as the language of the browser writes it; nothing for no time.
 * @param {number} milliseconds whatever a file that was imported says
 */
export function timeText(milliseconds) {
  const date = new Date(milliseconds);
  if (Number.isNaN(date.getTime())) return "";
  return date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/**
 * Return what to say of operations that earlier visits began.
 * @param {import("../wallet/wallet.js").Outcome[]} outcomes
 * @param {boolean} wasWaiting whether it was said already that there is something to wait for
 */
export function outcomesText(outcomes, wasWaiting) {
  const ended = outcomes.map(({ operation }) => endText(operation)).filter(Boolean);
  if (ended.length) return `What was begun earlier is finished: ${ended.join("; ")}. See My deeds.`;
  const waiting = outcomes.find(({ problem }) => problem);
  return waiting && !wasWaiting ? `${textFor(waiting.problem)} It is sent again.` : "";
}

/** @param {import("../wallet/records.js").OperationRecord} operation */
function endText({ kind, state, amount, code }) {
  if (state === "done") return `${unitsText(amount)} ${DONE[kind]}`;
  if (state !== "refused") return "";
  const reason = refusalText({ code });
  // In the middle of a sentence, so without its own end.
  return `${unitsText(amount)} refused (${reason.replace(/\.$/, "")})`;
}
