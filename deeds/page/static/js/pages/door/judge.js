// What the door says of a code that it is shown, and of an answer that comes later.
// Nothing is valid before the service has said so.

import { aboutOf, isExpired, metadataOf, untilText } from "../../format/about.js";
import { unitsText } from "../../format/amounts.js";
import { readLinks } from "../../format/claim_link.js";
import { formatAmount, gettext, ngettext } from "../../format/gettext.js";
import { ticketText } from "../../format/tickets.js";
import {
  clockText,
  heldText,
  quoted,
  refusalText,
  textFor,
  waitText,
} from "../../texts.js";
import { pause } from "../../ui/dom.js";
import { nameKey } from "../../ui/origin.js";
import { NoAnswerError } from "../../wallet/api.js";
import { admittedAtOf } from "../../wallet/door_list.js";
import { isCollected, keyOf, unitsOf } from "../../wallet/records.js";

/** What a door says of a scan that was cancelled, and may have been sent before. */
export const CANCELLED = gettext(
  "May have been admitted already. We ask again when the network is back.",
);

/** How long a person stands there before they are told that there is no answer yet. */
const PATIENCE_MS = 800;

/** So long it is told how many seconds ago a ticket was let in, and then the time. */
const MINUTE_MS = 60_000;

const WAITING = gettext("Waiting. Let in only if you trust it, or cancel.");
const ASK_FOR_CODE = gettext(
  "Claimed at home? Ask for the code in My deeds. Else it may have been taken back.",
);

/**
 * @typedef {{
 *   kind: string, title: string, detail: string, amount?: number, operation?: string, key?: string,
 * }} Verdict `key` is that of a ticket of this door, `operation` that of its claim
 * @typedef {import("../../wallet/door_list.js").Row} Row
 */

/** @type {((title: string, detail?: string) => Verdict)[]} */
const [valid, refused, waiting, again] = ["valid", "refused", "waiting", "again"].map(
  (kind) =>
    (title, detail = "") => ({ kind, title, detail }),
);

const tooLate = waiting(
  gettext("Cancelled too late"),
  gettext("Claimed here. Let the guest in."),
);

/**
 * Return what judges the texts that a door is shown, and the answers that come later.
 * @param {{
 *   item: import("../../wallet/records.js").Item, host: string,
 *   wallet: Pick<import("../../wallet/wallet.js").Wallet, "item" | "listed">,
 *   claim: ReturnType<typeof import("./queue.js").makeQueue>["claim"],
 *   readRecords: (key: string) => Promise<{record: any, operation: any}>,
 *   onLate: (operation: import("../../wallet/records.js").OperationRecord) => any,
 *   now?: () => number,
 * }} parts the `item` whose tickets are let in: its id decides, and nothing else; `onLate` gets
 *   an answer that took too long to stand there without a word
 */
export function makeJudge(parts) {
  const { item, host, wallet, claim, readRecords, onLate, now = Date.now } = parts;
  const about = aboutOf(item);
  /** How often each ticket that came in was shown. */
  const scans = new Map();

  /** Return the first word on a ticket, which may be the last. */
  async function judgeTicket(output) {
    if (isExpired(about, now())) return refused(untilText(about, now()));
    const row = await wallet.listed(output);
    const late = waiting(gettext("No answer yet"), WAITING);
    const claiming = claim(output, row);
    const verdict = claiming.then(
      (outcome) => verdictOf(outcome, row),
      (error) => problemVerdict(output, error, row),
    );
    const first = await Promise.race([verdict, pause(PATIENCE_MS, late)]);
    if (first === late) claiming.then(tellLate, () => {});
    return { ...first, key: keyOf(output) };
  }

  const tellLate = ({ operation }) => operation.state !== "begun" && onLate(operation);

  /** Return what to say of a claim that was answered, or is still waiting. */
  async function verdictOf({ operation, problem = new NoAnswerError() }, row) {
    const [key] = operation.inputs;
    if (operation.state === "begun") return waiting(waitText(problem, ""), WAITING);
    const found = await readRecords(key);
    if (operation.code === "spent_input") return spentVerdict(key, found, row);
    return endVerdict(operation, found.record);
  }

  async function problemVerdict(output, error, row) {
    const key = keyOf(output);
    const nothing = /** @type {any} */ ({});
    const found = await readRecords(key).catch(() => nothing);
    const { record, operation } = found;
    if (record?.state === "spent") return spentVerdict(key, found, row);
    if (error.code !== "busy" || !operation?.atDoor) return waiting(textFor(error));
    return waiting(scannedText(operation), operation.isCancelled ? CANCELLED : WAITING);
  }

  function spentVerdict(key, found, row) {
    const count = (scans.get(key) ?? 1) + 1;
    scans.set(key, count);
    return usedVerdict({ ...found, row, count }, now());
  }

  async function judge(text) {
    const { links, problem } = await readLinks(text);
    const [link] = links;
    if (!link) return refused(gettext("Not a ticket"), problem);
    const { size } = new Set(links.map(({ output }) => keyOf(output)));
    if (size > 1)
      return refused(
        gettext("{count} tickets: show them one by one.", { count: size }),
      );
    // Of what is not ours nothing is sent but the id of a deed, which is no secret.
    if (link.host && link.host !== host)
      return refused(gettext("A link of another service"), link.host);
    const { itemId } = link.output;
    if (itemId === item.id) return judgeTicket(link.output);
    return otherVerdict(await wallet.item(itemId).catch(() => null), item);
  }

  /** Return what to say of an answer to a scan that has waited. */
  async function judgeLate(operation) {
    const verdict = await verdictOf({ operation }, undefined);
    const detail = `${verdict.detail} ${scannedText(operation)}`.trim();
    return { ...verdict, detail, key: operation.inputs[0] };
  }

  return { judge, judgeLate };
}

const scannedText = ({ begunAt }) =>
  gettext("Scanned at {time}", { time: clockText(begunAt) });

/** Return what a scan that waits is told from others by. */
export const scanText = ({ begunAt, ticket }, unit) =>
  `${clockText(begunAt)} · ${heldText(ticket, unit)}`;

/** Return how a claim has ended. @param {any} operation @param {any} [record] the ticket */
export function endVerdict(operation, record) {
  const { state, code = "", amount, key, isCancelled } = operation;
  if (state === "done") {
    const values = { amount: formatAmount(amount) };
    const title = amount > 1 ? gettext("Valid, {amount}", values) : gettext("Valid");
    const verdict = isCancelled ? tooLate : valid(title, ticketText(record));
    return { ...verdict, amount, operation: key };
  }
  // Another copy of this wallet was faster with a number, not with the ticket.
  if (code === "used_secret") return waiting(gettext("Scan it again"));
  return refused(
    gettext("Not valid"),
    code === "unknown_input"
      ? gettext("The service has no such ticket.")
      : refusalText({ code }),
  );
}

/**
 * Return what to say of a spent ticket from the wallet's record of it and of its last
 * operation, what lists say of it, and for the how manieth time it is shown.
 * @param {{record: any, operation: any, row?: Row, count?: number}} found
 */
export function usedVerdict({ record, operation, row, count = 2 }, now = Date.now()) {
  const { spentElsewhere, undoneAt } = record ?? {};
  const isOurs = operation?.state === "done" && !spentElsewhere;
  const admittedAt = admittedAtOf(record ?? {}) || (row?.letter === "a" && row.at);
  if (isOurs && operation.isCancelled) return tooLate;
  if (undoneAt && !isCollected(record) && !admittedAt) {
    const time = clockText(undoneAt);
    const title = gettext("Not let in after all, {time}", { time });
    return refused(title, gettext("Ask for the new code."));
  }
  if (admittedAt && isOurs && operation.atDoor)
    return again(scanTitle(count), letInText(admittedAt, record, now));
  if (admittedAt)
    return again(gettext("Another door"), letInText(admittedAt, record, now));
  if ((isOurs && operation.kind === "takeBack") || row?.letter === "b")
    return refused(gettext("Taken back by the organiser"));
  if (!isOurs) return refused(gettext("Already claimed elsewhere"), ASK_FOR_CODE);
  const time = clockText(operation.endedAt);
  return refused(gettext("Already claimed here, {time}", { time }), ASK_FOR_CODE);
}

function scanTitle(count) {
  if (count === 2) return gettext("2nd scan");
  if (count === 3) return gettext("3rd scan");
  return gettext("{count}th scan", { count });
}

function letInText(at, record, now) {
  const { amount = 1 } = record;
  const guests = ngettext("One guest only.", "{count} guests only.", amount);
  const seconds = Math.max(1, Math.ceil((now - at) / 1000));
  const text =
    now - at < MINUTE_MS
      ? gettext("Let in once, {seconds} s ago.", { seconds })
      : gettext("Let in once, {time}.", { time: clockText(at) });
  return [`${text} ${guests}`, ticketText(record)].filter(Boolean).join(" ");
}

/**
 * Return what to say of a ticket of another deed than our own; it is null where it is
 * not known.
 */
export function otherVerdict(other, own) {
  const { name = "" } = metadataOf(other);
  const isAlike = name && nameKey(name) === nameKey(metadataOf(own).name ?? "");
  if (isAlike) {
    const why = gettext("Another deed of the same name: its mark is another one.");
    return refused(gettext("Forged: not your ticket"), why);
  }
  return refused(
    name
      ? gettext("Ticket for another event: {name}", { name: quoted(name) })
      : gettext("Ticket for another event"),
  );
}

/** Return how many tickets there are, with their units where these are more. */
export function countText(tickets, unit) {
  const units = unitsOf(tickets);
  const count = formatAmount(tickets.length);
  return units > tickets.length ? `${count} (${unitsText(units, unit)})` : count;
}
