// What the door says of a code that it is shown, and the one claim that a ticket gets.
// Nothing is valid before the service has said so.

import { unitsText } from "../../format/amounts.js";
import { readLinks } from "../../format/claim_link.js";
import { quoted, refusalText, textFor, timeText, waitText } from "../../texts.js";
import { metadataOf } from "../../ui/card.js";
import { nameKey } from "../../ui/origin.js";
import { NoAnswerError } from "../../wallet/api.js";
import { keyOf } from "../../wallet/records.js";

/** How long a person stands there before they are told that there is no answer yet. */
const PATIENCE_MS = 800;

/** So long after a ticket was let in, it is more likely the same guest than a copy. */
const JUST_NOW_S = 10;

const TAKEN = "Already claimed elsewhere";

/**
 * @typedef {{
 *   kind: string, title: string, detail: string, amount?: number, operation?: string, key?: string,
 *   isHeld?: boolean,
 * }} Verdict `key` is that of a ticket of this door, `operation` that of its claim; where `isHeld`,
 *   `onLate` will tell more
 */

/** @type {((title: string, detail?: string) => Verdict)[]} */
const [valid, refused, waiting] = ["valid", "refused", "waiting"].map(
  (kind) =>
    (title, detail = "") => ({ kind, title, detail }),
);

/**
 * Return what judges the texts that a door is shown. Its promise resolves once the
 * service has answered, or when that takes too long to stand there without a word:
 * `onLate` is called with what was waited for, and returns whether the person before
 * the door could see it.
 * @param {{
 *   item: import("../../wallet/records.js").Item, host: string, openedAt: number,
 *   wallet: Pick<import("../../wallet/wallet.js").Wallet, "claim" | "item">,
 *   readRecords: (key: string) => Promise<{record: any, operation: any}>,
 *   untilEnded: (outcome: any) => Promise<any>, onLate: (verdict: Verdict) => boolean,
 * }} parts the `item` whose tickets are let in: its id decides, and nothing else
 */
export function makeJudge({
  item,
  host,
  wallet,
  readRecords,
  untilEnded,
  onLate,
  openedAt,
}) {
  /**
   * By key, what was said of each ticket that is waited for, or is to be said once it
   * is shown.
   */
  const late = new Map();
  const letIn = new Map();

  /**
   * Return whether an earlier visit has begun a claim, and nobody has seen how it
   * ended.
   */
  const isUnseen = (key, { atDoor, begunAt, endedAt = openedAt }) =>
    atDoor && begunAt < openedAt && endedAt >= openedAt && !letIn.has(key);

  function said(verdict) {
    if (verdict.kind === "valid") letIn.set(verdict.key, performance.now());
    return verdict;
  }

  /**
   * Return the first word on a ticket, which may be the last. @returns
   * {Promise<Verdict>}
   */
  async function judgeTicket(output) {
    const key = keyOf(output);
    const known = late.get(key);
    if (known && !known.isHeld) late.delete(key);
    if (known) return said(known);
    let answer = Promise.resolve(waiting(""));
    const first = await new Promise((resolve) => {
      const hold = (title) => resolve({ ...waiting(title), isHeld: true });
      answer = claim(output, hold).catch((error) => waiting(textFor(error)));
      answer.then(resolve);
      setTimeout(hold, PATIENCE_MS, "No answer yet. Hold on.");
    });
    const verdict = said({ ...first, key });
    if (!verdict.isHeld) return verdict;
    late.set(key, verdict);
    answer.then((found) => {
      const last = { ...found, key };
      // Of an answer that nobody has seen, the person will show their ticket again.
      if (onLate(last)) late.delete(said(last).key);
      else late.set(key, last);
    });
    return verdict;
  }

  async function claim(output, hold) {
    try {
      // What a link calls a unit, a guest may have written.
      return await end(await wallet.claim(output, { atDoor: true }), hold);
    } catch (error) {
      const key = keyOf(output);
      const records = await readRecords(key);
      const { operation = {} } = records;
      const seconds = Math.ceil((performance.now() - letIn.get(key)) / 1000);
      if (seconds <= JUST_NOW_S)
        return waiting(`Let in ${seconds} s ago, at this door`);
      if (isUnseen(key, operation)) return end(records, hold);
      if (records.record?.state === "spent") return usedVerdict(records);
      const isInOtherTab = error.code === "busy" && operation.atDoor;
      return waiting(isInOtherTab ? "Being checked at another door." : textFor(error));
    }
  }

  async function end(outcome, hold) {
    const { operation, problem = new NoAnswerError() } = outcome;
    if (operation.state === "begun") hold(waitText(problem, "Hold on."));
    return endVerdict(await untilEnded(outcome), item.unit);
  }

  return async (text) => {
    const { links, problem } = await readLinks(text);
    const [link] = links;
    if (!link) return refused("Not a ticket", problem);
    const { size } = new Set(links.map(({ output }) => keyOf(output)));
    if (size > 1) return refused(`${size} tickets: show them one by one.`);
    // Of what is not ours nothing is sent but the id of a deed, which is no secret.
    if (link.host && link.host !== host)
      return refused("A link of another service", link.host);
    const { itemId } = link.output;
    if (itemId === item.id) return judgeTicket(link.output);
    return otherVerdict(await wallet.item(itemId).catch(() => null), item);
  };
}

export function endVerdict({ state, code = "", amount, key }, unit) {
  if (state === "done") {
    const detail = amount > 1 ? unitsText(amount, unit) : "";
    return { ...valid("Valid", detail), amount, operation: key };
  }
  if (code === "spent_input") return refused(TAKEN);
  const isUnknown = code === "unknown_input";
  return refused(
    "Not valid",
    isUnknown ? "The service has no such ticket." : refusalText({ code }),
  );
}

/**
 * Return what to say of a spent ticket from the wallet's record of it and of its last
 * operation.
 */
export function usedVerdict({ record, operation }, now = Date.now()) {
  if (operation?.state !== "done" || record?.spentElsewhere) return refused(TAKEN);
  const [then, today] = [operation.endedAt, now].map((each) => new Date(each));
  const isToday = then.toDateString() === today.toDateString();
  const when = isToday
    ? `at ${then.toLocaleTimeString()}`
    : `on ${timeText(operation.endedAt)}`;
  return refused(`Already ${operation.atDoor ? "used" : "claimed here"} ${when}`);
}

/**
 * Return what to say of a ticket of another deed than our own; it is null where it is
 * not known.
 */
export function otherVerdict(other, own) {
  const { name = "" } = metadataOf(other);
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
