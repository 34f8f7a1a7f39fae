// What the page of an offer says, from what the service and this wallet know of it. Pure.

import { formatAmount, unitsText } from "../../format/amounts.js";
import { offerStateText, offerText, sideText } from "../../texts/offers.js";
import { timeText, waitText } from "../../texts/operations.js";
import { displayName, metadataOf } from "../../ui/card.js";

/**
 * Units that change hands: `free` of them are here to pay with, `away` are here and not free.
 * @typedef {{
 *   itemId: string, amount: number, item?: import("../../wallet/records.js").Item | null,
 *   origin?: import("../../wallet/origin.js").Origin, free?: number, away?: number,
 * }} Side
 * @typedef {{
 *   offer: {state: string, expiresAt: string | number} | null, problem?: any, gives?: Side[],
 *   wants?: Side[], own?: import("../../wallet/records.js").OperationRecord,
 *   paying?: import("../../wallet/records.js").OperationRecord, canPay?: boolean,
 * }} Known `problem` kept the service from answering the last time; `own` is the making and `paying`
 *   the completion, if they are this wallet's
 *
 * @typedef {"loading" | "unknown" | "open" | "busy" | "done" | "completed" | "expired" | "void" |
 *   "own" | "ownDone"} OfferKind what it is to this wallet
 * @typedef {{
 *   kind: OfferKind, title: string, lead: string, isLacking?: boolean, gainedId?: string,
 *   action?: {text: string, about: string, isQuiet: boolean},
 * }} Saying `action` is what one tap does; `gainedId` is the deed of which units came by it
 */

const WAIT = "We keep trying; nothing is lost.";
const NOTHING_MOVED = "Nothing of yours has moved.";

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

/** Return what to say of an offer. @returns {Saying} */
export function sayingOf(/** @type {Known} */ { offer, problem, own, paying, ...more }) {
  if (!offer) return sayingOfNone(problem);
  const { gives = [], wants = [], canPay = true } = more;
  const [give, want] = own ? [gives, wants] : [wants, gives];
  const deal = offerText({ give, want }, namerOf([...gives, ...wants]));
  const kind = kindOf(offer, own, paying);
  if (kind !== "open") {
    const [title, lead = own ? offerStateText(own) : ""] = SAID[kind][Number(gives.length > 0)];
    const [gained] = kind === "ownDone" || kind === "done" ? want : [];
    return { kind, title, lead: `${deal}. ${lead}`, gainedId: gained?.itemId };
  }
  const said = { kind, title: deal };
  if (!canPay) return { ...said, lead: "Open this link in another browser to go on." };
  const short = wants.filter(({ amount, free = 0 }) => free < amount);
  if (short.length) return { ...said, lead: lackText(short), isLacking: true };
  const until = `Until ${timeText(new Date(offer.expiresAt).getTime())}. You have enough.`;
  return { ...said, lead: problem ? waitText(problem) : until, action: actionOf(gives, wants) };
}

/** @returns {Saying} */
function sayingOfNone(problem) {
  const title = "There is no such offer here";
  const lead = "The link may be cut off. Ask for it again.";
  if (problem?.code === "unknown_offer") return { kind: "unknown", title, lead };
  return { kind: "loading", title: "Offer", lead: problem ? waitText(problem) : "Loading…" };
}

/** What this wallet has done itself is known before the service is asked. @returns {OfferKind} */
function kindOf({ state }, own, paying) {
  if (own?.state === "done") return "ownDone";
  if (paying?.state === "done") return "done";
  const isSettling = own?.state === "open" && state === "completed";
  if (paying?.state === "begun" || isSettling) return "busy";
  if (own) return "own";
  return state;
}

/** What a stranger called a deed must not pass for the page's own words. */
function namerOf(/** @type {Side[]} */ sides) {
  const items = new Map(sides.map(({ itemId, item }) => [itemId, item]));
  const nameOf = (itemId) => displayName(metadataOf(items.get(itemId) ?? {})).replace(/[“”„‟"]/g, "’");
  return { nameOf, unitOf: (itemId) => items.get(itemId)?.unit };
}

/** @param {Side[]} short */
function lackText([{ amount, free = 0, away = 0, item }, ...others]) {
  if (others.length) return "You do not have enough of each.";
  const need = `You have ${formatAmount(free)} and need ${formatAmount(amount - free)} more.`;
  if (!away) return need;
  return `${need} ${unitsText(away, item?.unit)} of yours: in links or offers. Take back what you need.`;
}

/** What one gets is looked at before: it may have no more than a name that one knows. */
function actionOf(gives, wants) {
  const isQuiet = !gives.every(({ origin }) => SAFE.includes(origin?.kind));
  const [paid, got] = [wants, gives].map((sides) => sideText(sides, namerOf(sides)));
  const text = `${got ? "Trade" : "Pay"}${isQuiet ? " anyway" : ""}`;
  if (got) return { text, about: `: ${paid} for ${got}`, isQuiet };
  const [{ amount, item }, ...others] = wants;
  const units = others.length ? "" : unitsText(amount, item?.unit);
  return { text: `${text} ${units}`.trim(), about: paid.slice(units.length), isQuiet };
}
