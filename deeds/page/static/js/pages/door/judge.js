// What the door says of a code that it is shown, and the one claim that a ticket gets. Nothing is
// valid before the service has said so.

import { unitsText } from "../../format/amounts.js";
import { readLinks } from "../../format/claim_link.js";
import { quoted, refusalText, timeText } from "../../texts/operations.js";
import { textFor } from "../../texts/problems.js";
import { metadataOf } from "../../ui/card.js";
import { nameKey } from "../../wallet/origin.js";
import { keyOf } from "../../wallet/records.js";

/** How long a person stands there before they are told that there is no answer yet. */
const PATIENCE_MS = 800;

const soon = () => pause(PATIENCE_MS);

/** The wallet's word that a ticket is spent, by itself or by others. */
const SPENT = new Set(["already_spent", "spent_elsewhere"]);

/**
 * @typedef {{
 *   kind: "valid" | "refused" | "waiting", title: string, detail?: string, amount?: number,
 *   key?: string, isHeld?: boolean,
 * }} Verdict `key` is that of a ticket of this door; where `isHeld`, `onLate` will tell more
 */

/**
 * Return what judges the texts that a door is shown: a function of a text. Its promise resolves once
 * the service has answered, or when that takes too long to stand there without a word.
 * @param {object} parts
 * @param {import("../../wallet/records.js").Item} parts.item whose tickets are let in: its id decides, and nothing else
 * @param {string} parts.host of this page
 * @param {Pick<import("../../wallet/wallet.js").Wallet, "claim" | "item">} parts.wallet
 * @param {(key: string) => Promise<{output: any, operation: any}>} parts.readRecords
 * @param {(outcome: any) => Promise<import("../../wallet/records.js").OperationRecord>} parts.untilEnded
 * @param {(verdict: Verdict) => boolean} parts.onLate called with what was waited for; returns
 *   whether the person before the door could see it
 * @param {() => Promise<unknown>} [parts.patience]
 * @returns {(text: string) => Promise<Verdict>}
 */
export function makeJudge({ item, host, wallet, readRecords, untilEnded, onLate, patience = soon }) {
  /** By key, the tickets that are waited for, and those whose answer nobody has seen yet. */
  const late = new Map();

  async function judgeTicket({ output, unit }) {
    const key = keyOf(output);
    const known = late.get(key);
    if (known?.isOver) late.delete(key);
    if (known) return known.verdict;
    const { first, answer } = ask(output, unit);
    const verdict = { ...(await first), key };
    if (verdict.isHeld) {
      late.set(key, { verdict, isOver: false });
      answer.then((found) => keep({ ...found, key }));
    }
    return verdict;
  }

  /** Keep an answer that nobody has seen: the person will show their ticket again. */
  function keep(verdict) {
    if (onLate(verdict)) late.delete(verdict.key);
    else late.set(verdict.key, { verdict, isOver: true });
  }

  /** Begin a claim; return the first word on it and the last one, which may be the same. */
  function ask(output, unit) {
    let answer = Promise.resolve(waiting(""));
    const first = new Promise((resolve) => {
      const hold = (title) => resolve({ ...waiting(title), isHeld: true });
      answer = claim(output, unit, hold).catch((error) => waiting(textFor(error)));
      answer.then(resolve);
      patience().then(() => hold("No answer yet. Hold on."));
    });
    return { first, answer };
  }

  async function claim(output, unit, hold) {
    try {
      return await end(await wallet.claim(output, { unit, atDoor: true }), unit, hold);
    } catch (error) {
      const records = await readRecords(keyOf(output));
      if (SPENT.has(error.code)) return usedVerdict(records);
      // It was begun before this page was opened: nobody has seen its answer.
      if (error.code === "busy" && records.operation?.atDoor) return end(records, unit, hold);
      return waiting(textFor(error));
    }
  }

  async function end(outcome, unit, hold) {
    if (outcome.operation.state === "begun") hold(waitText(outcome.problem));
    return endVerdict(await untilEnded(outcome), unit);
  }

  return async (text) => {
    const { links, problem } = await readLinks(text);
    const [link] = links;
    if (!link) return refused("Not a ticket", problem);
    // Of what is not ours nothing is sent but the id of a deed, which is no secret.
    if (link.host && link.host !== host) return refused("A link of another service", link.host);
    const { itemId } = link.output;
    if (itemId === item.id) return judgeTicket(link);
    return otherVerdict(await wallet.item(itemId).catch(() => null), item);
  };
}

/** Return what to say of a claim that has ended. @returns {Verdict} */
export function endVerdict({ state, code = "", amount }, unit) {
  if (state === "done") {
    return { kind: "valid", title: "Valid", detail: amount > 1 ? unitsText(amount, unit) : "", amount };
  }
  if (code === "spent_input") return refused("Already claimed by somebody else");
  const isUnknown = code === "unknown_input";
  return refused("Not valid", isUnknown ? "The service has no such ticket." : refusalText({ code }));
}

/** Return what to say of a spent ticket from the wallet's record of it and of its last operation. */
export function usedVerdict({ output, operation }, now = Date.now()) {
  const isOurs = operation?.state === "done" && !output?.spentElsewhere;
  if (!isOurs) return refused("Already claimed by somebody else");
  const when = momentText(operation.endedAt, now);
  return refused(operation.atDoor ? `Already used ${when}` : `Already claimed here ${when}`);
}

/** Return what to say of a ticket of another deed than our own; it is null where it is not known. */
export function otherVerdict(other, own) {
  const { name = "" } = other ? metadataOf(other) : {};
  const isAlike = name && nameKey(name) === nameKey(metadataOf(own).name ?? "");
  if (isAlike) return refused("Another deed of the same name: not one of yours");
  return refused(name ? `Another deed: ${quoted(name)}` : "Another deed");
}

/** Return how many tickets there are, with their units where these are more. */
export function countText(tickets, unit) {
  const units = tickets.reduce((sum, { amount }) => sum + amount, 0);
  const more = units > tickets.length ? ` (${unitsText(units, unit)})` : "";
  return `${tickets.length}${more}`;
}

function momentText(milliseconds, now) {
  const [then, today] = [new Date(milliseconds), new Date(now)];
  if (then.toDateString() !== today.toDateString()) return `on ${timeText(milliseconds)}`;
  return `at ${then.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" })}`;
}

function waitText(problem) {
  const isReached = problem?.name === "ProblemError";
  return isReached ? "The service is busy. Hold on." : "No connection. Hold on.";
}

/** @returns {Verdict} */
function refused(title, detail = "") {
  return { kind: "refused", title, detail };
}

/** @returns {Verdict} */
function waiting(title) {
  return { kind: "waiting", title, detail: "" };
}

export function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
