// What a door says of a code that it is shown, and of an answer that comes later.
// Nothing is valid before the service has said so.

import {
  aboutOf,
  dayText,
  isExpired,
  metadataOf,
  untilText,
  whenText,
} from "../../format/about.js";
import { readLinks } from "../../format/claim_link.js";
import { gettext, joinTexts, ngettext, ordinal } from "../../format/gettext.js";
import { issueText, noteOf } from "../../format/tickets.js";
import {
  clockText,
  linkText,
  quoted,
  refusalText,
  textFor,
  waitText,
} from "../../texts.js";
import { pause } from "../../ui/dom.js";
import { isOtherDay, nameKey } from "../../ui/origin.js";
import { NoAnswerError } from "../../wallet/api.js";
import { admittedAtOf } from "../../wallet/door_list.js";
import { cutNote } from "../../wallet/links.js";
import { keyOf, undoneAtOf } from "../../wallet/records.js";
import { EXPIRED } from "./queue.js";

/** What a door says of a cancelled scan that may have been sent before. */
export const CANCELLED = gettext(
  "May have been admitted already. We ask again when the network is back.",
);

/** How long a guest waits before the screen says that there is no answer yet. */
const PATIENCE_MS = 800;

/**
 * Up to this age the screen says how many seconds ago a ticket was let in, then the
 * time.
 */
const MINUTE_MS = 60_000;

const ASK_WHERE = gettext("Don't let in. Ask where it was bought.");
const ASK_ORGANISER = gettext("Ask the organiser.");
const BY_NAME = gettext(
  "To let a guest in by name or number, open My deeds in the browser that made the tickets, and tap ⋯ in the row.",
);
const IN_DOUBT = gettext("Expired, if this phone's clock is right");

const NOTHING = /** @type {any} */ ({});

/**
 * @typedef {{
 *   kind: string, title: string, detail: string, ticket?: Ticket, key?: string, amount?: number,
 *   isPending?: boolean,
 * }} Verdict `ticket` identifies the ticket of this `key`, as far as it is known; a
 *   verdict with `isPending` waits for its answer
 * @typedef {import("../../wallet/door_list.js").Row} Row
 * @typedef {import("../../wallet/holdings.js").Link} Link
 * @typedef {import("../../format/tickets.js").Ticket} Ticket
 */

/** @type {((title: string, detail?: string) => Verdict)[]} */
const [valid, refused, waiting, again] = ["valid", "refused", "waiting", "again"].map(
  (kind) =>
    (title, detail = "") => ({ kind, title, detail }),
);

const pending = (title) => ({ ...waiting(title), isPending: true });

const tooLate = waiting(
  gettext("Cancelled too late"),
  gettext("Claimed here. Let the guest in."),
);

/**
 * Return the known facts of a ticket, and what its code says, which is not verified.
 */
async function knownOf(/** @type {Row | undefined} */ row, said, linkWith) {
  if (!said || row?.number) return row;
  const link = await linkWith(said);
  const time = link?.state === "admitted" && clockText(link.at);
  const since = time && gettext("in since {time}", { time });
  const { output = { number: said } } = link ?? {};
  const number = joinTexts([output.number, noteOf(output, output.note), since]);
  const note = row?.note ?? cutNote(gettext("Code says {number}", { number }));
  return { ...row, said, note };
}

/** Add to the verdict on a ticket that was taken back who has its number now. */
async function withNote(verdict, linkWith) {
  const { ticket, isReplaced } = verdict;
  const link = isReplaced && ticket.number && (await linkWith(ticket.number));
  const latest = link && link.output.note;
  if (!latest || latest === ticket.note) return verdict;
  return { ...verdict, detail: gettext("It is for {note} now.", { note: latest }) };
}

/**
 * Return functions that judge the texts that a door is shown, and answers that come
 * later.
 * @param {{
 *   item: import("../../wallet/records.js").Item, host: string,
 *   wallet: Pick<import("../../wallet/wallet.js").Wallet, "item" | "listed" | "scannedAgain">,
 *   claim: ReturnType<typeof import("./queue.js").makeQueue>["claim"],
 *   readRecords: (key: string) => Promise<{record: any, operation: any}>,
 *   onLate: (operation: import("../../wallet/records.js").OperationRecord) => any,
 *   serviceTime: () => number | null, linkWith: (number: number) => Promise<Link | undefined>,
 * }} parts only tickets of `item`, by its id, are let in; `onLate` gets an answer that
 *   came after the screen said that there is none yet; the `serviceTime` decides what
 *   has expired
 */
export function makeJudge(parts) {
  const { item, host, wallet, claim, readRecords, onLate, serviceTime, linkWith } =
    parts;
  const about = aboutOf(item);

  const readTicket = (key) => readRecords(key).catch(() => NOTHING);
  const expired = () => refused(untilText(about, Infinity), ASK_ORGANISER);

  /** Return the first verdict on a ticket, often the only one. */
  async function judgeTicket(output, said, row) {
    const time = serviceTime();
    if (time !== null && isExpired(about, time)) return expired();
    const late = pending(gettext("No answer yet"));
    const claiming = claim(output, await knownOf(row, said, linkWith));
    const verdict = claiming.then(
      (outcome) => verdictOf(outcome, row),
      (error) => problemVerdict(keyOf(output), error, row),
    );
    const first = await Promise.race([verdict, pause(PATIENCE_MS, late)]);
    if (first === late) claiming.then(tellLate, () => {});
    return first;
  }

  const tellLate = ({ operation }) => operation.state !== "begun" && onLate(operation);

  /** Return the verdict on a claim that was answered, or is still waiting. */
  async function verdictOf({ operation, problem = new NoAnswerError() }, row) {
    const [key] = operation.inputs;
    if (operation.code === EXPIRED) return expired();
    const isInDoubt = serviceTime() === null && isExpired(about);
    const why = isInDoubt ? IN_DOUBT : waitText(problem, "");
    if (operation.state === "begun") return pending(why);
    if (operation.code !== "spent_input") return endVerdict(operation);
    return spentVerdict(key, await readRecords(key), row);
  }

  async function problemVerdict(key, error, row) {
    const records = await readTicket(key);
    const { record, operation } = records;
    if (record?.state === "spent") return spentVerdict(key, records, row);
    if (error.code !== "busy" || !operation?.atDoor) return waiting(textFor(error));
    if (operation.isCancelled) return waiting(scannedText(operation), CANCELLED);
    const time = secondsText(operation);
    const text = gettext("Already waiting, {time}.", { time });
    const count = await wallet.scannedAgain(key);
    return again(scanTitle(count), `${text} ${guestsText(record)}`);
  }

  async function spentVerdict(key, found, row) {
    return usedVerdict({ ...found, row, count: await wallet.scannedAgain(key) });
  }

  /** Return a verdict with the number and note of its ticket. */
  async function named(verdict, key, row) {
    const records = { ...(await readTicket(key)), row };
    const { number, of, issue, note } = ticketOf(records.record, row);
    const said = number ? undefined : records.record?.said;
    const ticket = { number, of, issue, note, ...(said && { said }) };
    const isNamed = number || (note && !said);
    const news = verdict.isPending && (await pendingVerdict(records, isNamed));
    return withNote({ ...verdict, ...news, key, ticket }, linkWith);
  }

  /** Return the offline verdict on a ticket that waits for its answer. */
  async function pendingVerdict(found, isNamed) {
    const recorded = recordedVerdict(found);
    if (recorded) return recorded;
    const own = await wallet.item(item.id).catch(() => item);
    const isMade = found.record && found.record.before !== "seen";
    let text = gettext("Waiting.");
    if (found.row || isNamed || isMade) text = gettext("On the list, not in yet.");
    else if ((own.doorList || own.isMinted) && !found.record?.said)
      text = gettext("Not on this door's list.");
    const advice = gettext("Let the guest in only if you trust it, or cancel.");
    return { detail: `${text} ${advice}` };
  }

  async function judge(text) {
    const { output, said, problem } = await readTicketOf(text, host);
    if (!output) return problem;
    const key = keyOf(output);
    const row = await wallet.listed(key);
    const verdict =
      output.itemId === item.id
        ? await judgeTicket(output, said, row)
        : otherVerdict(await wallet.item(output.itemId).catch(() => null), item);
    return named(verdict, key, row);
  }

  /** Return the verdict on an answer to a scan that has waited. */
  async function judgeLate(operation) {
    const [key] = operation.inputs;
    const row = await wallet.listed(key);
    const verdict = await verdictOf({ operation }, row);
    const detail = `${verdict.detail} ${scannedText(operation)}`.trim();
    return named({ ...verdict, detail }, key, row);
  }

  return { judge, judgeLate };
}

/** Return the output of the only ticket in a text, or the problem as a verdict. */
async function readTicketOf(text, host) {
  const { links, problem } = await readLinks(text);
  const [link] = links;
  // A text of words and digits only was typed: a guest without a code gave a name or
  // number.
  const remedy = /[^\p{L}\p{N}\s-]/u.test(text) ? problem : BY_NAME;
  if (!link) return { problem: refused(gettext("Not a ticket"), remedy) };
  const { size } = new Set(links.map(({ output }) => keyOf(output)));
  if (size > 1) {
    const several = gettext("{count} tickets: show them one by one.", { count: size });
    return { problem: refused(several) };
  }
  // Nothing of a foreign link is sent except the id of its deed, which is not secret.
  if (link.host && link.host !== host)
    return { problem: refused(gettext("A link of another service"), link.host) };
  return { output: link.output, said: link.said };
}

/**
 * Return the record of a ticket if it has a number or a note, else what a list says.
 */
const ticketOf = (record, /** @type {Row | undefined} */ row) =>
  record?.number || record?.note ? record : (row ?? {});

/** Return the time of a scan with seconds, because several come in a minute. */
export const secondsText = ({ begunAt }) => clockText(begunAt, "medium");

const scannedText = (scan) => gettext("Scanned at {time}", { time: secondsText(scan) });

/** Return what identifies a waiting scan. */
export const scanText = (scan, unit) =>
  `${secondsText(scan)} · ${linkText(scan.ticket, unit)}`;

/** Return the verdict on a claim that has ended. */
export function endVerdict(/** @type {any} */ operation) {
  const { state, code = "", amount, isCancelled } = operation;
  if (state === "done") {
    const title =
      amount > 1 ? gettext("Valid, {amount}", { amount }) : gettext("Valid");
    return { ...(isCancelled ? tooLate : valid(title)), amount };
  }
  // Another copy of this wallet used the new secret's number, not the ticket.
  if (code === "used_secret") return waiting(gettext("Scan it again"));
  return refused(
    gettext("Not valid"),
    code === "unknown_input"
      ? `${gettext("The service doesn't know this ticket.")} ${ASK_WHERE}`
      : refusalText({ code }),
  );
}

/**
 * Return the verdict on a spent ticket, from the wallet's record of it, its last
 * operation, the row of a list, and how often it was shown.
 * @param {{record: any, operation: any, row?: Row, count?: number}} found
 */
export function usedVerdict(found) {
  const recorded = recordedVerdict(found);
  if (recorded) return recorded;
  if (!isOurs(found))
    return refused(
      gettext("Already claimed elsewhere"),
      gettext(
        "It was let in at another door, claimed at home, or taken back. Ask for the code in My deeds.",
      ),
    );
  const time = clockText(found.operation.endedAt);
  const title = gettext("Already claimed here, {time}", { time });
  return refused(title, gettext("Ask for the code in My deeds."));
}

const isOurs = ({ record, operation }) =>
  operation?.state === "done" && !record?.spentElsewhere;

/** Return the verdict that this door's records or a list give on a ticket, or null. */
function recordedVerdict(/** @type {any} */ found) {
  const { record = NOTHING, operation, row, count = 2 } = found;
  const isHere = isOurs(found);
  const listedAt = (letter) => row?.letter === letter && row.at;
  const admittedAt = admittedAtOf(record) || listedAt("a");
  const undoneAt = undoneAtOf(record) || listedAt("u");
  if (isHere && operation.isCancelled) return tooLate;
  if (undoneAt && !admittedAt) {
    const time = clockText(undoneAt);
    const title = gettext("Not let in after all, {time}", { time });
    return refused(title, gettext("Ask for the new code."));
  }
  if (admittedAt) {
    const isThisDoor = isHere && operation.atDoor;
    const title = isThisDoor ? scanTitle(count) : gettext("In at another door");
    return again(title, letInText(admittedAt, record));
  }
  const isTakenBack = record.takenBackAt || row?.letter === "b";
  if (!isTakenBack && !(isHere && operation.kind === "takeBack")) return null;
  const { number, issue = 1 } = ticketOf(record, row);
  const values = { issue: issueText({ issue: issue + 1 }) };
  const remedy = number ? gettext("Ask for the {issue}.", values) : ASK_ORGANISER;
  return {
    ...refused(gettext("Taken back by the organiser"), remedy),
    isReplaced: true,
  };
}

function scanTitle(count) {
  return gettext("{nth} scan", { nth: ordinal(count) });
}

function letInText(at, record) {
  const sinceMs = Date.now() - at;
  const seconds = Math.max(1, Math.ceil(sinceMs / 1000));
  const text =
    sinceMs < MINUTE_MS
      ? gettext("Let in once, {seconds} s ago.", { seconds })
      : gettext("Let in once, {time}.", { time: clockText(at) });
  return `${text} ${guestsText(record)}`;
}

const guestsText = ({ amount = 1 }) =>
  ngettext("One guest only.", "{count} guests only.", amount);

/**
 * Return the verdict on a ticket of another deed; `other` is null if that is unknown.
 * Forgers choose name, date and place, so a deed counts as genuine only if this browser
 * has made it or has its guest list.
 */
export function otherVerdict(other, own) {
  const { name = "" } = metadataOf(other);
  if (!name) return refused(gettext("Ticket for another event"));
  const facts = factsText(other);
  const isSame = facts === factsText(own);
  const isKnown = other.isMinted || other.doorList;
  const isAlike = nameKey(name) === nameKey(metadataOf(own).name ?? "");
  if (isAlike && !isKnown)
    return isSame
      ? refused(
          gettext("Forged ticket"),
          `${gettext("Made by somebody else, or another batch.")} ${ASK_WHERE}`,
        )
      : refused(
          gettext("Not for this door: another ticket of the same name"),
          `${facts} ${ASK_WHERE}`.trim(),
        );
  let title = gettext("Ticket for another event");
  if (isAlike && isSame) title = gettext("Ticket of another batch");
  else if (isAlike && isOtherDay(other, own))
    title = gettext("Ticket for {date}", { date: dayText(aboutOf(other)) });
  const whose = isKnown ? gettext("It belongs to another door.") : "";
  return refused(title, `${factsText(other, quoted(name))} ${whose}`.trim());
}

/**
 * Return date and place of a deed, maybe with its name, as a sentence; empty if it
 * states neither.
 */
function factsText(item, name = "") {
  const about = aboutOf(item);
  const facts = joinTexts([name, whenText(about), about.place && quoted(about.place)]);
  return facts && `${facts}.`;
}
