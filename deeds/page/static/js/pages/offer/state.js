// What the page of an offer says, from what the service and this wallet know of it. Pure.

import { unitsText } from "../../format/amounts.js";
import { offerStateText, offerText, sideText } from "../../texts/offers.js";
import { timeText, waitText } from "../../texts/operations.js";
import { displayName, metadataOf } from "../../ui/card.js";
import { holdingOf } from "../../wallet/holdings.js";

/**
 * Units that change hands: `free` of them are here to pay with, `away` are here and not free.
 * @typedef {import("../../wallet/api.js").Part & {
 *   item?: import("../../wallet/records.js").Item | null, free?: number, away?: number,
 *   origin?: import("../../wallet/origin.js").Origin,
 * }} Side
 *
 * `problem` kept the service from answering the last time; `own` is the operation of this wallet that
 * made the offer, `paying` the one that completes it.
 * @typedef {{
 *   offer?: any, problem?: any, gives?: Side[], wants?: Side[], own?: any, paying?: any,
 * }} Known
 */

const MOVED = "Nothing of yours has moved.";
const WAIT = "We keep trying; nothing is lost.";

/** What heads the page and what is said below, of a request and of a trade; of its own without that. */
const SAID = {
  busy: [["On its way", WAIT], ["On its way", WAIT]],
  done: [["Paid", "You paid it from this browser."], ["Traded", "What you got is in this browser."]],
  completed: [
    ["Paid", "If it wasn't you, ask whoever sent you this."],
    ["Already traded", `Somebody was faster. ${MOVED}`],
  ],
  expired: [["Expired", "Ask for a new link."], ["Expired", `${MOVED} Ask for a new link.`]],
  void: [["Withdrawn", "Ask for a new link."], ["Withdrawn", MOVED]],
  own: [["Your request"], ["Your offer"]],
  ownDone: [["Paid"], ["Traded"]],
};
const SHOW = { text: "Show link and code", about: "", isQuiet: false };
const SAFE = ["minted", "held", "new"];

/**
 * Read what this wallet knows of an offer.
 * @param {Pick<import("../../wallet/store.js").Store, "read">} store
 * @param {import("../../wallet/api.js").Offer} offer
 * @param {Map<string, import("../../wallet/origin.js").Origin>} origins by the ids of deeds
 */
export function readKnown(store, { offerId, gives, wants }, origins) {
  const itemIds = [...gives, ...wants].map(({ itemId }) => itemId);
  const outputs = itemIds.map((itemId) => ({ itemId }));
  return store.read({ operations: "all", items: itemIds, outputs }, (slices) => {
    const ours = slices.operations.list().filter((each) => each.offerId === offerId);
    const paying = (state) => ours.find((each) => each.kind === "complete" && each.state === state);
    const own = ours.find(({ kind }) => kind !== "complete");
    const sideOf = (part, isTold) => {
      const origin = origins.get(part.itemId);
      // Of what one gives it is told only that it may not be what one thinks.
      const told = !own && (isTold || origin?.kind === "lookalike") ? origin : undefined;
      return { ...part, ...hereOf(slices, part), origin: told };
    };
    return {
      own,
      paying: paying("done") ?? paying("begun"),
      gives: gives.map((part) => sideOf(part, true)),
      wants: wants.map((part) => sideOf(part, false)),
    };
  });
}

function hereOf(slices, { itemId }) {
  const { item, parts, sum, waiting, offered, collected } = holdingOf(slices, itemId);
  const free = parts.reduce((units, { amount }) => units + amount, 0);
  return { item, free, away: sum - free + waiting + offered + collected };
}

/** Return what to say; `action` is what one tap does, `gainedId` the deed of which units came in. */
export function sayingOf(/** @type {Known} */ { offer, problem, own, paying, ...sides }) {
  if (!offer && problem?.status === 404) {
    const lead = "The link may be cut off. Ask for it again.";
    return { kind: "unknown", title: "There is no such offer here", lead };
  }
  if (!offer) return { kind: "loading", lead: problem ? waitText(problem) : "Loading…" };
  const { gives = [], wants = [] } = sides;
  const [give, want] = own ? [gives, wants] : [wants, gives];
  const deal = offerText({ give, want }, namerOf(sides));
  const kind = kindOf(offer, own, paying);
  if (kind === "open") return { kind, title: deal, ...sayingOfOpen(offer, problem, wants, gives) };
  const [title, lead = own && offerStateText(own)] = SAID[kind][Number(gives.length > 0)];
  const isOpen = kind === "own" && own.state === "open";
  return {
    kind,
    title,
    lead: `${deal}. ${lead}`,
    gainedId: kind === "done" || kind === "ownDone" ? want[0]?.itemId : "",
    action: isOpen ? SHOW : undefined,
    canWithdraw: isOpen && own.kind === "trade",
  };
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
  // Above the button, however far below it the deed itself is shown.
  const doubt = gives.find(({ origin }) => !SAFE.includes(origin?.kind));
  const told = doubt?.origin?.text ?? `You have enough. Until ${timeText(expiresAt)}.`;
  return { lead: problem ? waitText(problem) : told, action: actionOf(wants, gives, Boolean(doubt)) };
}

function lackText(short) {
  const missing = short.map((side) => ({ ...side, amount: side.amount - side.free }));
  const text = `You need ${sideText(missing, namerOf({ wants: short }))} more.`;
  const isAway = short.some(({ away }) => away);
  return isAway ? `${text} What you have in links or offers can be taken back in My deeds.` : text;
}

/** It is quiet where one gets what may have no more than a name that one knows. */
function actionOf(wants, gives, isQuiet) {
  const [paid, got] = [wants, gives].map((side) => sideText(side, namerOf({ wants, gives })));
  const text = `${got ? "Trade" : "Pay"}${isQuiet ? " anyway" : ""}`;
  if (got) return { text, about: `: ${paid} for ${got}`, isQuiet };
  const units = wants.length > 1 ? "" : unitsText(wants[0].amount, wants[0].item?.unit);
  return { text: `${text} ${units}`.trim(), about: paid.slice(units.length), isQuiet };
}

/** Return what deeds are called and their units. @param {Pick<Known, "gives" | "wants">} sides */
export function namerOf({ gives = [], wants = [] }) {
  const items = new Map([...gives, ...wants].map(({ itemId, item }) => [itemId, item]));
  const nameOf = (itemId) => displayName(metadataOf(items.get(itemId) ?? {}));
  return { nameOf, unitOf: (itemId) => items.get(itemId)?.unit };
}
