// What the page of an offer says, from what the service and this wallet know of it. Pure.

import { unitsText } from "../../format/amounts.js";
import { offerStateText, offerText, sideText } from "../../texts/offers.js";
import { timeText, waitText } from "../../texts/operations.js";
import { displayName, metadataOf } from "../../ui/card.js";
import { holdingOf } from "../../wallet/holdings.js";

/**
 * Units that change hands: `free` of them are here to pay with, `away` are here and not free.
 * @typedef {{
 *   itemId: string, amount: number, item?: import("../../wallet/records.js").Item | null,
 *   origin?: import("../../wallet/origin.js").Origin, free?: number, away?: number,
 * }} Side
 * @typedef {{
 *   offer: any, problem?: any, gives?: Side[], wants?: Side[], own?: any, paying?: any,
 * }} Known `problem` kept the service from answering the last time; `own` is the operation that made
 *   the offer and `paying` the one that completes it, where they are this wallet's
 * @typedef {{
 *   kind: string, title: string, lead: string, isLacking?: boolean, gainedId?: string,
 *   canWithdraw?: boolean, action?: {text: string, about: string, isQuiet: boolean},
 * }} Saying `action` is what one tap does; `gainedId` is the deed of which units came in
 */

const NOTHING_MOVED = "Nothing of yours has moved.";
const WAIT = "We keep trying; nothing is lost.";

/**
 * What heads the page, and what is said below: of a request, then of a trade.
 * @type {Record<string, string[][]>}
 */
const SAID = {
  busy: [["On its way", WAIT], ["On its way", WAIT]],
  done: [["Paid", "You paid it from this browser."], ["Traded", "What you got is in this browser."]],
  completed: [
    ["Paid", "If it wasn't you, ask whoever sent you this."],
    ["Already traded", `Somebody was faster. ${NOTHING_MOVED}`],
  ],
  expired: [["Expired", "Ask for a new link."], ["Expired", `${NOTHING_MOVED} Ask for a new link.`]],
  void: [["Withdrawn", "Ask for a new link."], ["Withdrawn", NOTHING_MOVED]],
  own: [["Your request"], ["Your offer"]],
  ownDone: [["Paid"], ["Traded"]],
};

const SAFE = ["minted", "held", "new"];

/**
 * Return what is to be read of the wallet for an offer, and what makes something known of it.
 * @returns {[import("../../wallet/records.js").Plan, (slices: any) => Partial<Known>]}
 */
export function readingOf({ offerId, gives, wants }, origins) {
  const itemIds = [...gives, ...wants].map(({ itemId }) => itemId);
  const outputs = itemIds.map((itemId) => ({ itemId }));
  const look = (slices) => {
    const ours = slices.operations.list().filter((each) => each.offerId === offerId);
    const ofState = (state) => (each) => each.kind === "complete" && each.state === state;
    const own = ours.find(({ kind }) => kind !== "complete");
    const originOf = ({ itemId }) => (own ? undefined : origins.get(itemId));
    // Of what one gives it is told only that it may not be what one thinks.
    const doubtOf = (part) => (originOf(part)?.kind === "lookalike" ? originOf(part) : undefined);
    return {
      own,
      paying: ours.find(ofState("done")) ?? ours.find(ofState("begun")),
      gives: gives.map((part) => ({ ...part, ...holdingIn(slices, part), origin: originOf(part) })),
      wants: wants.map((part) => ({ ...part, ...holdingIn(slices, part), origin: doubtOf(part) })),
    };
  };
  return [{ operations: "all", items: itemIds, outputs }, look];
}

function holdingIn(slices, { itemId }) {
  const { item, parts, sum, waiting, offered, collected } = holdingOf(slices, itemId);
  const free = parts.reduce((units, { amount }) => units + amount, 0);
  return { item, free, away: sum - free + waiting + offered + collected };
}

/** Return what to say of an offer. @param {Known} known @returns {Saying} */
export function sayingOf({ offer, problem, own, paying, gives = [], wants = [] }) {
  if (!offer) return sayingOfNone(problem);
  const [give, want] = own ? [gives, wants] : [wants, gives];
  const deal = offerText({ give, want }, namerOf({ gives, wants }));
  const kind = kindOf(offer, own, paying);
  if (kind === "open") return { kind, title: deal, ...sayingOfOpen(offer, problem, wants, gives) };
  const [title, lead = own ? offerStateText(own) : ""] = SAID[kind][Number(gives.length > 0)];
  const [gained] = kind === "ownDone" || kind === "done" ? want : [];
  const action = { text: "Show link and code", about: "", isQuiet: false };
  const isOpen = kind === "own" && own.state === "open";
  const more = isOpen && { action, canWithdraw: own.kind === "trade" };
  return { kind, title, lead: `${deal}. ${lead}`, gainedId: gained?.itemId, ...more };
}

/** @returns {Saying} */
function sayingOfNone(problem) {
  const [title, lead] = ["There is no such offer here", "The link may be cut off. Ask for it again."];
  if (problem?.status === 404) return { kind: "unknown", title, lead };
  return { kind: "loading", title: "Offer", lead: problem ? waitText(problem) : "Loading…" };
}

/** What this wallet has done itself is known before the service is asked. */
function kindOf({ state }, own, paying) {
  if (own?.state === "done") return "ownDone";
  if (paying?.state === "done") return "done";
  const isSettling = own?.state === "open" && state === "completed";
  if (paying || isSettling) return "busy";
  return own ? "own" : state;
}

function sayingOfOpen({ expiresAt }, problem, wants, gives) {
  const short = wants.filter(({ amount, free }) => free < amount);
  if (short.length) return { lead: lackText(short), isLacking: true };
  const lead = problem ? waitText(problem) : `You have enough. Until ${timeText(expiresAt)}.`;
  return { lead, action: actionOf(wants, gives) };
}

function lackText(short) {
  const missing = short.map((side) => ({ ...side, amount: side.amount - side.free }));
  const text = `You need ${sideText(missing, namerOf({ wants: short }))} more.`;
  const isAway = short.some(({ away }) => away);
  return isAway ? `${text} What you have in links or offers can be taken back in My deeds.` : text;
}

/** What one gets is looked at before: it may have no more than a name that one knows. */
function actionOf(wants, gives) {
  const isQuiet = !gives.every(({ origin }) => SAFE.includes(origin?.kind));
  const [paid, got] = [wants, gives].map((sides) => sideText(sides, namerOf({ wants, gives })));
  const text = `${got ? "Trade" : "Pay"}${isQuiet ? " anyway" : ""}`;
  if (got) return { text, about: `: ${paid} for ${got}`, isQuiet };
  const units = wants.length > 1 ? "" : unitsText(wants[0].amount, wants[0].item?.unit);
  return { text: `${text} ${units}`.trim(), about: paid.slice(units.length), isQuiet };
}

export function namerOf(/** @type {{gives?: Side[], wants?: Side[]}} */ { gives = [], wants = [] }) {
  const items = new Map([...gives, ...wants].map(({ itemId, item }) => [itemId, item]));
  const nameOf = (itemId) => displayName(metadataOf(items.get(itemId) ?? {}));
  return { nameOf, unitOf: (itemId) => items.get(itemId)?.unit };
}
