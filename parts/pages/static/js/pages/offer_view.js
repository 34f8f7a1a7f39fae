// Our own offers: their list, and the view of one, which shows its code, notices by
// itself when it was accepted, and can cancel it.

import { gettext } from "../format/gettext.js";
import {
  cancelText,
  offerStateText,
  offerText,
  receiptText,
  sideText,
} from "../texts.js";
import { makeCard } from "../ui/card.js";
import {
  byId,
  copyText,
  listInPieces,
  make,
  makeActions,
  makeButton,
  makeHint,
  put,
} from "../ui/dom.js";
import { drawCode, linkButtons, share, textField } from "../ui/link_view.js";
import { ask, openDialog, say, sayError } from "../ui/forms.js";
import { offersOf, openOffersOf } from "../wallet/offers.js";
import { keepAsking } from "./retries.js";

/** How often to ask whether an offer was accepted, while its code is on the screen. */
const LOOK_MS = 2_500;

/**
 * @typedef {import("./open_wallet.js").Opened & {itemOf: import("../texts.js").ItemOf}} OfferTools
 * @typedef {import("../wallet/offers.js").OfferMade} Offer
 */

/**
 * Return a function that draws the list of open offers and those that ended recently.
 */
export function offersView(/** @type {OfferTools} */ tools) {
  const drawRows = listInPieces(byId("offers"), byId("offers-more"), {
    keyOf: (offer) => `${offer.key} ${offer.state} ${offerText(offer, tools.itemOf)}`,
    make: (offer) => ({ element: rowOf(offer, tools) }),
  });
  return (history) => drawRows(openOffersOf(history));
}

function rowOf(/** @type {Offer} */ offer, tools) {
  const sentence = offerText(offer, tools.itemOf);
  const buttonFor = (text, act) =>
    makeButton(text, (button) => act(offer, button, tools), {
      about: `: ${sentence}`,
    });
  const buttons = makeActions(
    buttonFor(gettext("Show link"), openOffer),
    buttonFor(cancelText(offer.give), askToCancel),
  );
  const kind = offer.state === "done" ? "tag good" : "hint";
  const state = make("p", {}, make("span", { class: kind }, endText(offer)));
  const actions = offer.state === "open" ? buttons : "";
  return make("li", { tabindex: "-1" }, make("p", {}, sentence), state, actions);
}

/** Return the receipt of an offer that was accepted, or its state. */
function endText(/** @type {Offer} */ offer) {
  return offer.state === "done"
    ? receiptText(offer, Boolean(offer.give))
    : offerStateText(offer);
}

/** Show an offer, with its link and code while it is open, and update its state. */
export async function openOffer(
  /** @type {Offer} */ offer,
  opener,
  /** @type {OfferTools} */ tools,
) {
  // Describe the offer as the person who gets the link sees it.
  const about = offerText({ give: offer.want, want: offer.give }, tools.itemOf);
  const link = offerLink(offer.offerId);
  const place = make("div", { class: "qr" });
  const copy = async () => {
    if (await copyText(link)) say(gettext("The link is copied."));
    else ways.append(textField(gettext("Link"), link));
  };
  const ways = make(
    "div",
    { class: "stack" },
    linkButtons(() => share(link, about), copy),
    place,
  );
  drawOfferCode(place, offer.offerId, tools, about).catch(sayError);
  const sentence = make("p");
  const state = make("p", { role: "status" });
  const draw = (now) => {
    put(sentence, `${offerText(now, tools.itemOf)}.`);
    put(state, endText(now));
    state.className = now.state === "done" ? "notice good amount" : "hint";
    ways.hidden = now.state !== "open";
  };
  draw(offer);
  const cards = await sideCards(offer, tools);
  const element = make(
    "div",
    { class: "link-view stack", "data-offer": offer.offerId },
    sentence,
    ...cards,
    state,
    ways,
  );
  const title = offer.give ? gettext("Your offer") : gettext("Your request");
  openDialog({ title, content: [element], closeText: gettext("Done"), opener });
  const checkRound = async () => {
    const { operation, problem } = await tools.wallet.finish(offer.key);
    draw({ ...offer, ...operation });
    if (problem) throw problem;
  };
  keepAsking({
    checkRound,
    isOver: () => !element.isConnected || ways.hidden,
    roundMs: () => LOOK_MS,
  })();
}

/** Show the QR code of an offer in an element. */
export function drawOfferCode(place, offerId, tools, text) {
  const alt = gettext("QR code: {text}", { text });
  return drawCode(place, { key: offerId }, tools, alt, {
    link: () => offerLink(offerId),
  });
}

export const offerLink = (offerId) => `${location.origin}/offer/${offerId}`;

function sideCards({ give, want }, { wallet }) {
  const cardOf = async ({ itemId, amount }) => {
    const item = await wallet.item(itemId).catch(() => null);
    return makeCard(item, { itemId, amount, pictures: "ask" });
  };
  return Promise.all([give, want].filter(Boolean).map(cardOf));
}

/** Ask, and cancel an offer. If somebody accepted it first, say so. */
export function askToCancel(
  /** @type {Offer} */ offer,
  opener,
  /** @type {OfferTools} */ tools,
) {
  const { wallet, run } = tools;
  ask({
    title: offer.give ? gettext("Cancel this offer?") : gettext("Cancel this request?"),
    content: [`${offerText(offer, tools.itemOf)}.`, makeHint(offerStateText(offer))],
    yes: cancelText(offer.give),
    no: gettext("Keep it"),
    opener,
    act: async (onWait) => {
      try {
        await run(() => offersOf(wallet).cancel(offer.key), onWait);
        return gettext("Cancelled. The link no longer works.");
      } catch (error) {
        const { operation } = await wallet.finish(offer.key);
        if (operation.state !== "done") throw error;
        const units = sideText(offer.want, tools.itemOf);
        return gettext("Somebody was faster: you got {units}.", { units });
      }
    },
  });
}
