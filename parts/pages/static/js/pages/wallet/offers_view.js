// The list of our offers.

import { gettext } from "../../format/gettext.js";
import { cancelText, offerText } from "../../texts.js";
import { byId, listInPieces, make, makeActions, makeButton } from "../../ui/dom.js";
import { openOffersOf } from "../../wallet/offers.js";
import { askToCancel, endText, openOffer } from "../offer_view.js";

/** @typedef {import("../offer_view.js").Offer} Offer */

/** Return what draws the list: the open ones, and those that have ended of late. */
export function offersView(/** @type {import("../offer_view.js").OfferTools} */ tools) {
  const drawRows = listInPieces(byId("offers"), byId("offers-more"), {
    keyOf: (offer) => `${offer.key} ${offer.state} ${offerText(offer, tools.itemOf)}`,
    make: (offer) => ({ element: rowOf(offer, tools) }),
  });
  return (history) => drawRows(openOffersOf(history));
}

function rowOf(/** @type {Offer} */ offer, tools) {
  const sentence = offerText(offer, tools.itemOf);
  const about = `: ${sentence}`;
  const buttonFor = (text, act) =>
    makeButton(text, ({ currentTarget }) => act(offer, currentTarget, tools), {
      about,
    });
  const buttons = [
    buttonFor(gettext("Show link"), openOffer),
    buttonFor(cancelText(offer.give), askToCancel),
  ];
  const kind = offer.state === "done" ? "tag good" : "hint";
  const state = make("p", {}, make("span", { class: kind }, endText(offer)));
  const actions = offer.state === "open" ? [makeActions(...buttons)] : [];
  return make("li", { tabindex: "-1" }, make("p", {}, sentence), state, ...actions);
}
