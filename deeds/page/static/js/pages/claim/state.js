// What the Claim page says of an output that somebody was sent, from what the wallet knows of it
// and what the service says. Pure.

import { refusalText } from "../../texts/operations.js";
import { textFor } from "../../texts/problems.js";

/**
 * @typedef {{
 *   kind: "unasked" | "asking" | "free" | "spent" | "unknown" | "busy" | "taken" | "mine" | "used",
 *   text: string, canTake: boolean,
 * }} ClaimState
 */

const TEXTS = {
  unasked: "Not asked: that would send the secret unprotected.",
  asking: "The service is asked whether it can be taken.",
  free: "It can be taken.",
  spent: "Somebody has taken it. The link is worth nothing now.",
  unknown: "The service knows no such units. Was the link cut off?",
  busy: "It is on its way to you.",
  taken: "It is in this browser now. The link is worth nothing any more.",
  mine: "This browser holds these units already.",
  used: "It was yours, and you have moved it on.",
};

const GIVEN_TEXT = "You made this link yourself. It can be taken back.";

/**
 * Return what to say.
 * @param {object} known
 * @param {import("../../wallet/records.js").OutputRecord} [known.record] of the wallet
 * @param {import("../../wallet/records.js").OperationRecord} [known.operation] the record's last one
 * @param {string} [known.found] what the service says of the output
 * @param {Error} [known.problem] what keeps the service from answering
 * @param {boolean} [known.isAsked] whether the service is asked at all
 * @returns {ClaimState}
 */
export function claimState({ record, operation, found, problem, isAsked = true }) {
  const kind = isAsked ? kindOf(record, operation, found) : "unasked";
  const canTake = kind === "free";
  if (kind === "busy" && problem) return say(kind, `${textFor(problem)} It is sent again.`);
  if (kind === "asking" && problem) return say(kind, textFor(problem));
  if (canTake && record?.state === "given") return { ...say(kind, GIVEN_TEXT), canTake };
  if (canTake && operation?.state === "refused") {
    return { ...say(kind, refusalText(operation)), canTake };
  }
  return { ...say(kind, TEXTS[kind]), canTake };
}

/** Return whether nothing more can become of it here. */
export function isOver({ kind }) {
  return ["spent", "unknown", "taken", "mine", "used"].includes(kind);
}

/** Return whether the wallet has it, or has had it: then the tab need not keep it. */
export function isKept({ kind }) {
  return ["taken", "mine", "used"].includes(kind);
}

function kindOf(record, operation, found) {
  const state = record?.state;
  if (state === "leaving" || state === "coming") return "busy";
  if (state === "spent") return kindOfSpent(record, operation);
  // Before what the wallet believes: the link of a mint can be taken by anybody.
  if (found === "spent") return "spent";
  if (state === "held") return "mine";
  if (found === undefined) return "asking";
  return found === "unknown" ? "unknown" : "free";
}

function kindOfSpent(record, operation) {
  const isByUs = operation?.state === "done" && operation.inputs.includes(record.key);
  if (!isByUs || record.spentElsewhere) return "spent";
  return ["claim", "takeBack"].includes(operation.kind) ? "taken" : "used";
}

function say(kind, text) {
  return { kind, text, canTake: false };
}
