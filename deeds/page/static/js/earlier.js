// Says what became of operations that earlier visits have begun in this browser.

import { unitsText } from "./card.js";
import { say } from "./notices.js";
import { refusalText } from "./operation_texts.js";
import { textFor } from "./problem_texts.js";

const DONE = {
  mint: "minted",
  claim: "taken",
  send: "made into a link",
  split: "split",
  merge: "merged",
  takeBack: "taken back",
};

/**
 * Return what says it, for open_wallet.js to call after each try.
 * @returns {(outcomes: import("./wallet.js").Outcome[]) => void}
 */
export function makeTeller() {
  let isWaiting = false;
  return (outcomes) => {
    const text = outcomesText(outcomes, isWaiting);
    if (text) say(text);
    isWaiting = outcomes.some(({ operation }) => operation.state === "begun");
  };
}

/**
 * Return what to say of them.
 * @param {import("./wallet.js").Outcome[]} outcomes
 * @param {boolean} wasWaiting whether it was said already that there is something to wait for
 */
export function outcomesText(outcomes, wasWaiting) {
  const ended = outcomes.map(({ operation }) => endText(operation)).filter(Boolean);
  if (ended.length) return `What was begun earlier is finished: ${ended.join("; ")}. See My deeds.`;
  const waiting = outcomes.find(({ problem }) => problem);
  return waiting && !wasWaiting ? `${textFor(waiting.problem)} It is sent again.` : "";
}

function endText({ kind, state, amount, code }) {
  if (state === "done") return `${unitsText(amount)} ${DONE[kind]}`;
  if (state !== "refused") return "";
  const reason = refusalText({ code });
  // In the middle of a sentence, so without its own end.
  return `${unitsText(amount)} refused (${reason.replace(/\.$/, "")})`;
}
