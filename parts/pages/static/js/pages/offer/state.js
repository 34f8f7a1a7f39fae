// What the page of an offer says, from what the service and this wallet know of it.
// Pure.

import { aboutOf, isExpired, nameOf, untilText } from "../../format/about.js";
import { unitsText } from "../../format/amounts.js";
import { gettext, joinTexts } from "../../format/gettext.js";
import {
  cancelText,
  clockText,
  offerStateText,
  offerText,
  partText,
  quoted,
  receiptText,
  sideText,
  waitText,
} from "../../texts.js";
import { markText } from "../../ui/card.js";
import { isSafe } from "../../ui/origin.js";
import { holdingOf } from "../../wallet/holdings.js";
import { unitsOf } from "../../wallet/records.js";

/**
 * Units that change hands: `free` of them are here to pay with, `away` are here but not
 * free.
 * @typedef {import("../../wallet/api.js").Part & {
 *   item?: import("../../wallet/records.js").Item | null, free?: number, away?: number,
 *   origin?: import("../../ui/origin.js").Origin,
 * }} Side
 *
 * `problem` is why the service did not answer the last time; `own` is the operation of
 * this wallet that made the offer, `paying` the one that completes it; `isPaying` while
 * the page prepares to begin that one.
 * @typedef {{
 *   offer?: any, problem?: any, gives?: Side[], wants?: Side[], own?: any, paying?: any,
 *   isPaying?: boolean,
 * }} Known
 */

const MOVED = gettext("You haven't paid anything.");
const AGAIN = `${MOVED} ${gettext("Ask for a new code or link.")}`;
const MAY_BE_THERE = gettext(
  "We keep trying; nothing is lost. It may have gone through already.",
);
const OVER = [gettext("Wanted"), gettext("Offered")];
const over = (lead, ...heads) => ({ heads, lead, titles: OVER });

/**
 * By kind: `heads` of a request, and of a trade if different; the `lead`; and the
 * `titles` of what a person gives and gets.
 */
const TEXTS = {
  unknown: {
    heads: [gettext("There is nothing to pay here")],
    lead: gettext("The code or link may be cut off. Ask for it again."),
  },
  busy: {
    heads: [gettext("On its way")],
    lead: MAY_BE_THERE,
  },
  // Its receipt is the heading.
  done: { titles: [gettext("You gave"), gettext("You got")] },
  completed: over(MOVED, gettext("Already paid"), gettext("Already traded")),
  expired: over(AGAIN, gettext("Expired")),
  void: over(AGAIN, gettext("Cancelled")),
  own: { heads: [gettext("Your request"), gettext("Your offer")] },
};
const SHOW = { text: gettext("Show link and code"), about: "", isQuiet: false };

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
    const sideOf = (part, isGain) => {
      const { item, parts, sum, waiting, offered, collected } = holdingOf(
        slices,
        part.itemId,
      );
      const free = unitsOf(parts);
      const away = sum - free + waiting + offered + collected;
      const origin = cautious(origins.get(part.itemId), part);
      // For what a person gives, only a warning is shown.
      const isShown = !own && (isGain || origin?.tint === "bad");
      return { ...part, item, free, away, origin: isShown ? origin : undefined };
    };
    return {
      own,
      paying: paying("done") ?? paying("begun"),
      gives: gives.map((part) => sideOf(part, true)),
      wants: wants.map((part) => sideOf(part, false)),
    };
  });
}

/** Return the origin of a deed, with a warning if it is new here: it may be forged. */
function cautious(origin, { itemId }) {
  if (origin?.kind !== "new") return origin;
  const text = gettext(
    "Anyone can use this name. Compare the mark {mark} with the organiser's before you trade.",
    { mark: markText(itemId) },
  );
  return { ...origin, text, tint: "wait" };
}

/**
 * Return what to say. `titles` are the headings of what a person gives and gets,
 * `action` is what one tap does, `gainedId` is the deed of which the person got units.
 */
export function messageOf(/** @type {Known} */ known) {
  const { problem, own, gives = [], wants = [] } = known;
  const kind = kindOf(known);
  const {
    heads = [],
    lead = gettext("Loading…"),
    titles = [gettext("You give"), gettext("You get")],
  } = TEXTS[kind] ?? {};
  const title = (gives.length && heads[1]) || heads[0];
  const message = { kind, title, lead, titles };
  if (kind === "loading" || kind === "busy") {
    const then = kind === "busy" ? MAY_BE_THERE : undefined;
    return problem ? { ...message, lead: waitText(problem, then) } : message;
  }
  const [give, want] = own ? [gives, wants] : [wants, gives];
  const deal = offerText({ give, want, state: own?.state }, itemFinder(known));
  if (kind === "open") return { ...message, title: deal, ...openMessage(known) };
  if (kind === "done")
    return { ...message, ...doneMessage(known), gainedId: want[0]?.itemId };
  if (kind !== "own") return message;
  const ways = { action: SHOW, cancelText: cancelText(gives.length) };
  return {
    ...message,
    lead: `${deal}. ${offerStateText(own)}`,
    ...(own.state === "open" && ways),
  };
}

/**
 * Return the kind of an offer. What this wallet has done is known without the service.
 */
function kindOf(/** @type {Known} */ { offer, problem, own, paying }) {
  if (!offer && problem?.status === 404) return "unknown";
  if (!offer) return paying ? "busy" : "loading";
  if (own?.state === "done" || paying?.state === "done") return "done";
  const isSettling = own?.state === "open" && offer.state === "completed";
  if (paying || isSettling) return "busy";
  return own ? "own" : offer.state;
}

/** Say the same to both sides, and tell the payer how much is left. */
function doneMessage(
  /** @type {Known} */ { offer, own, paying, gives = [], wants = [] },
) {
  const { endedAt } = own?.state === "done" ? own : paying;
  const title = receiptText({ offerId: offer.offerId, endedAt }, gives.length > 0);
  const [{ amount, item, free = 0 }] = wants;
  if (own) return { title, lead: partText(amount, item) };
  const units = unitsText(free, item?.unit);
  const none = gives.length ? "" : gettext("That was all you had.");
  const lead = free ? gettext("You have {units} left.", { units }) : none;
  return { title, lead };
}

function openMessage(/** @type {Known} */ known) {
  const { offer, problem, wants = [], gives = [], isPaying } = known;
  const short = wants.filter(({ amount, free = 0 }) => free < amount);
  if (short.length) return { lead: lackText(short), isLacking: true };
  // Say it above the button, because the deed may be far below.
  const doubt = gives.find(({ origin }) => !isSafe(origin));
  const expired = expiredText([...wants, ...gives]);
  const warning = joinTexts([expired, doubt?.origin?.text], " ");
  const time = clockText(offer.expiresAt);
  const units = sideText(freeOf(wants), itemFinder({ wants }));
  const enough = gettext("You have {units}. Open until {time}.", { units, time });
  const action = actionOf(wants, gives, Boolean(doubt || expired));
  const busy = gives.length ? gettext("Trading…") : gettext("Paying…");
  return {
    lead: problem ? waitText(problem, MOVED) : warning || enough,
    isBad: Boolean(expired) && !problem,
    action: isPaying ? { ...action, text: busy, about: "" } : action,
  };
}

/**
 * The service accepts expired deeds, so both sides must agree whether they still count.
 */
function expiredText(/** @type {Side[]} */ sides) {
  const about = sides.map(({ item }) => aboutOf(item)).find((each) => isExpired(each));
  const expired = about && untilText(about);
  return (
    expired &&
    gettext("{expired}. Ask first whether it is still accepted.", { expired })
  );
}

/** Return the units that are free, of the deeds of a side. */
const freeOf = (/** @type {Side[]} */ side) =>
  side.flatMap(({ free = 0, ...part }) => (free ? { ...part, amount: free } : []));

function lackText(short) {
  const missing = short.map((side) => ({ ...side, amount: side.amount - side.free }));
  const units = sideText(missing, itemFinder({ wants: short }));
  const have = sideText(freeOf(short), itemFinder({ wants: short }));
  const text = have
    ? gettext("You have {have}. You need {units} more.", { have, units })
    : gettext("You have none of this. You need {units}.", { units });
  const isAway = short.some(({ away }) => away);
  const more = gettext("In My deeds you can take back what is in links or offers.");
  return isAway ? `${text} ${more}` : text;
}

/** The button is quiet if a deed has expired, or only has the name of a known one. */
function actionOf(wants, gives, isQuiet) {
  const itemOf = itemFinder({ wants, gives });
  const [given, wanted] = [wants, gives].map((side) => sideText(side, itemOf));
  if (wanted) {
    const text = isQuiet ? gettext("Trade anyway") : gettext("Trade");
    const deal = gettext("{given} for {wanted}", { given, wanted });
    return { text, about: `: ${deal}`, isQuiet };
  }
  const [{ amount, item }, ...more] = wants;
  const one = { given: unitsText(amount, item?.unit) };
  const [values, about] = more.length ? [{ given }, ""] : [one, quoted(nameOf(item))];
  const text = isQuiet
    ? gettext("Pay {given} anyway", values)
    : gettext("Pay {given}", values);
  return { text, about, isQuiet };
}

/**
 * Return a function that finds the items of an offer.
 * @param {Pick<Known, "gives" | "wants">} sides
 */
export function itemFinder({ gives = [], wants = [] }) {
  const items = new Map([...gives, ...wants].map(({ itemId, item }) => [itemId, item]));
  return (itemId) => items.get(itemId);
}
