// What the door says of a code that it is shown, and of an answer that comes later.
// Nothing is valid before the service has said so.

import { unitsText } from "../../format/amounts.js";
import { readLinks } from "../../format/claim_link.js";
import {
  heldText,
  quoted,
  refusalText,
  textFor,
  timeText,
  waitText,
} from "../../texts.js";
import { metadataOf } from "../../format/about.js";
import { pause } from "../../ui/dom.js";
import { nameKey } from "../../ui/origin.js";
import { NoAnswerError } from "../../wallet/api.js";
import { keyOf, unitsOf } from "../../wallet/records.js";

/** What a door says of a scan that was cancelled, and may have been sent before. */
export const CANCELLED =
  "May have been admitted already. We ask again when the network is back.";

/** How long a person stands there before they are told that there is no answer yet. */
const PATIENCE_MS = 800;

/** So long after a ticket was let in, it is more likely the same guest than a copy. */
const JUST_NOW_S = 10;

const TAKEN = "Already claimed elsewhere";
const WAITING = "Waiting. Let in only if you trust it, or cancel.";

/**
 * @typedef {{
 *   kind: string, title: string, detail: string, amount?: number, operation?: string, key?: string,
 * }} Verdict `key` is that of a ticket of this door, `operation` that of its claim
 */

/** @type {((title: string, detail?: string) => Verdict)[]} */
const [valid, refused, waiting] = ["valid", "refused", "waiting"].map(
  (kind) =>
    (title, detail = "") => ({ kind, title, detail }),
);

const tooLate = waiting("Cancelled too late", "Claimed here. Let the guest in.");

/**
 * Return what judges the texts that a door is shown, and the answers that come later.
 * @param {{
 *   item: import("../../wallet/records.js").Item, host: string,
 *   wallet: Pick<import("../../wallet/wallet.js").Wallet, "item">,
 *   claim: ReturnType<typeof import("./queue.js").makeQueue>["claim"],
 *   readRecords: (key: string) => Promise<{record: any, operation: any}>,
 *   onLate: (operation: import("../../wallet/records.js").OperationRecord) => any,
 * }} parts the `item` whose tickets are let in: its id decides, and nothing else; `onLate` gets
 *   an answer that took too long to stand there without a word
 */
export function makeJudge({ item, host, wallet, claim, readRecords, onLate }) {
  const letIn = new Map();

  /** Return the first word on a ticket, which may be the last. */
  async function judgeTicket(output) {
    const late = waiting("No answer yet", WAITING);
    const claiming = claim(output);
    const verdict = claiming.then(verdictOf, (error) => problemVerdict(output, error));
    const first = await Promise.race([verdict, pause(PATIENCE_MS, late)]);
    if (first === late) claiming.then(tellLate, () => {});
    return { ...first, key: keyOf(output) };
  }

  const tellLate = ({ operation }) => operation.state !== "begun" && onLate(operation);

  /** Return what to say of a claim that was answered, or is still waiting. */
  async function verdictOf({ operation, problem = new NoAnswerError() }) {
    const {
      state,
      code,
      inputs: [key],
      isCancelled,
    } = operation;
    if (state === "begun") return waiting(waitText(problem, ""), WAITING);
    if (code === "spent_input") return usedVerdict(await readRecords(key));
    if (state === "done" && !isCancelled) letIn.set(key, performance.now());
    return endVerdict(operation, item.unit);
  }

  async function problemVerdict(output, error) {
    const key = keyOf(output);
    const nothing = /** @type {any} */ ({});
    const { record, operation } = await readRecords(key).catch(() => nothing);
    const seconds = Math.ceil((performance.now() - letIn.get(key)) / 1000);
    if (seconds <= JUST_NOW_S) return waiting(`Let in ${seconds} s ago, at this door`);
    if (record?.state === "spent") return usedVerdict({ record, operation });
    if (error.code !== "busy" || !operation?.atDoor) return waiting(textFor(error));
    return waiting(scannedText(operation), operation.isCancelled ? CANCELLED : WAITING);
  }

  async function judge(text) {
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
  }

  /** Return what to say of an answer to a scan that has waited. */
  async function judgeLate(operation) {
    const verdict = await verdictOf({ operation });
    const detail = `${verdict.detail} ${scannedText(operation)}`.trim();
    return { ...verdict, detail, key: operation.inputs[0] };
  }

  return { judge, judgeLate };
}

const scannedText = ({ begunAt }) => `Scanned at ${clockText(begunAt)}`;

/** Return what a scan that waits is told from others by. */
export const scanText = ({ begunAt, ticket }, unit) =>
  `${clockText(begunAt)} · ${heldText(ticket, unit)}`;

/** Return a time of day. */
const clockText = (milliseconds) => new Date(milliseconds).toLocaleTimeString();

export function endVerdict({ state, code = "", amount, key, isCancelled }, unit) {
  if (state === "done") {
    const detail = amount > 1 ? unitsText(amount, unit) : "";
    const verdict = isCancelled ? tooLate : valid("Valid", detail);
    return { ...verdict, amount, operation: key };
  }
  // Another copy of this wallet was faster with a number, not with the ticket.
  if (code === "used_secret") return waiting("Scan it again");
  return refused(
    "Not valid",
    code === "unknown_input"
      ? "The service has no such ticket."
      : refusalText({ code }),
  );
}

/**
 * Return what to say of a spent ticket from the wallet's record of it and of its last
 * operation.
 */
export function usedVerdict({ record, operation }, now = Date.now()) {
  if (operation?.state !== "done" || record?.spentElsewhere) return refused(TAKEN);
  if (operation.isCancelled) return tooLate;
  const [then, today] = [operation.endedAt, now].map((each) => new Date(each));
  const isToday = then.toDateString() === today.toDateString();
  const when = isToday ? `at ${clockText(then)}` : `on ${timeText(operation.endedAt)}`;
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
  const units = unitsOf(tickets);
  const more = units > tickets.length ? ` (${unitsText(units, unit)})` : "";
  return `${tickets.length}${more}`;
}
