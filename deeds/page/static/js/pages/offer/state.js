// What the page of an offer says, from what the service and this wallet know of it.
// Pure.

import { unitsText } from "../../format/amounts.js";
import {
  offerStateText,
  offerText,
  sideText,
  timeText,
  waitText,
} from "../../texts.js";
import { holdingOf } from "../../wallet/holdings.js";
import { unitsOf } from "../../wallet/records.js";

/**
 * Units that change hands: `free` of them are here to pay with, `away` are here and not
 * free.
 * @typedef {import("../../wallet/api.js").Part & {
 *   item?: import("../../wallet/records.js").Item | null, free?: number, away?: number,
 *   origin?: import("../../ui/origin.js").Origin,
 * }} Side
 *
 * `problem` kept the service from answering the last time; `own` is the operation of
 * this wallet that made the offer, `paying` the one that completes it.
 * @typedef {{
 *   offer?: any, problem?: any, gives?: Side[], wants?: Side[], own?: any, paying?: any,
 * }} Known
 */

const MOVED = "Nothing of yours has moved.";
const AGAIN = `${MOVED} Ask for a new link.`;
const OVER = ["Wanted", "Offered"];

/** What is said of a request and of a trade, and over what one gives and gets. */
const SAID = {
  unknown: {
    heads: ["There is no such offer here"],
    lead: "The link may be cut off. Ask for it again.",
  },
  busy: {
    heads: ["On its way", "On its way"],
    lead: "We keep trying; nothing is lost.",
  },
  done: {
    heads: ["Paid", "Traded"],
    lead: "The link no longer works.",
    titles: ["You gave", "You got"],
  },
  completed: { heads: ["Already paid", "Already traded"], lead: MOVED, titles: OVER },
  expired: { heads: ["Expired", "Expired"], lead: AGAIN, titles: OVER },
  void: { heads: ["Withdrawn", "Withdrawn"], lead: AGAIN, titles: OVER },
  own: { heads: ["Your request", "Your offer"] },
};
const SHOW = { text: "Show link and code", about: "", isQuiet: false };
const SAFE = ["minted", "held", "new"];

/**
 * Read what this wallet knows of an offer.
 * @param {Pick<import("../../wallet/store.js").Store, "read">} store
 * @param {import("../../wallet/api.js").Offer} offer
 * @param {Map<string, import("../../ui/origin.js").Origin>} origins by the ids of deeds
 */
export function readKnown(store, { offerId, gives, wants }, origins) {
  const itemIds = [...gives, ...wants].map(({ itemId }) => itemId);
  const outputs = itemIds.map((itemId) => ({ itemId }));
  return store.read({ operations: "all", items: itemIds, outputs }, (slices) => {
    const ours = slices.operations.list().filter((each) => each.offerId === offerId);
    const paying = (state) =>
      ours.find((each) => each.kind === "complete" && each.state === state);
    const own = ours.find(({ kind }) => kind !== "complete");
    const sideOf = (part, isTold) => {
      const origin = origins.get(part.itemId);
      // Of what one gives it is told only that it may not be what one thinks.
      const told =
        !own && (isTold || origin?.kind === "lookalike") ? origin : undefined;
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
  const free = unitsOf(parts);
  return { item, free, away: sum - free + waiting + offered + collected };
}

/**
 * Return what to say; `titles` head what one gives and gets, `action` is what one tap
 * does, `gainedId` the deed of which units came in.
 */
export function sayingOf(/** @type {Known} */ known) {
  const { problem, own, gives = [], wants = [] } = known;
  const kind = kindOf(known);
  const {
    heads = [],
    lead = "Loading…",
    titles = ["You give", "You get"],
  } = SAID[kind] ?? {};
  const said = { kind, title: heads[Number(gives.length > 0)], lead, titles };
  if (kind === "loading") return problem ? { ...said, lead: waitText(problem) } : said;
  const [give, want] = own ? [gives, wants] : [wants, gives];
  const deal = offerText({ give, want, state: own?.state }, itemFinder(known));
  if (kind === "open") return { ...said, title: deal, ...sayingOfOpen(known) };
  if (kind === "done") return { ...said, gainedId: want[0]?.itemId };
  if (kind !== "own") return said;
  const ways = own.state === "open" && {
    action: SHOW,
    canWithdraw: own.kind === "trade",
  };
  return { ...said, lead: `${deal}. ${offerStateText(own)}`, ...ways };
}

/** What this wallet has done itself is known before the service is asked. */
function kindOf(/** @type {Known} */ { offer, problem, own, paying }) {
  if (!offer) return problem?.status === 404 ? "unknown" : "loading";
  if (own?.state === "done" || paying?.state === "done") return "done";
  const isSettling = own?.state === "open" && offer.state === "completed";
  if (paying || isSettling) return "busy";
  return own ? "own" : offer.state;
}

function sayingOfOpen(/** @type {Known} */ { offer, problem, wants = [], gives = [] }) {
  const short = wants.filter(({ amount, free = 0 }) => free < amount);
  if (short.length) return { lead: lackText(short), isLacking: true };
  // Above the button, however far below it the deed itself is shown.
  const doubt = gives.find(({ origin }) => !SAFE.includes(origin?.kind ?? ""));
  const told =
    doubt?.origin?.text ?? `You have enough. Open until ${timeText(offer.expiresAt)}.`;
  return {
    lead: problem ? waitText(problem, MOVED) : told,
    action: actionOf(wants, gives, Boolean(doubt)),
  };
}

function lackText(short) {
  const missing = short.map((side) => ({ ...side, amount: side.amount - side.free }));
  const text = `You still need ${sideText(missing, itemFinder({ wants: short }))}.`;
  const isAway = short.some(({ away }) => away);
  return isAway
    ? `${text} What you have in links or offers can be taken back in My deeds.`
    : text;
}

/** It is quiet where one gets what may have no more than a name that one knows. */
function actionOf(wants, gives, isQuiet) {
  const [paid, got] = [wants, gives].map((side) =>
    sideText(side, itemFinder({ wants, gives })),
  );
  if (got)
    return {
      text: `Trade${isQuiet ? " anyway" : ""}`,
      about: `: ${paid} for ${got}`,
      isQuiet,
    };
  const [{ amount, item }, ...more] = wants;
  const units = more.length ? "" : unitsText(amount, item?.unit);
  return { text: `Pay ${units}`, about: paid.slice(units.length), isQuiet };
}

/**
 * Return what finds the items of an offer. @param {Pick<Known, "gives" | "wants">}
 * sides
 */
export function itemFinder({ gives = [], wants = [] }) {
  const items = new Map([...gives, ...wants].map(({ itemId, item }) => [itemId, item]));
  return (itemId) => items.get(itemId);
}
