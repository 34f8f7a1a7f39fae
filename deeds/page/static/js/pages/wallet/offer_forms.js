// Asks what an offer is to be: a request to be paid, or a trade of a deed for another.

import { unitsText } from "../../format/amounts.js";
import { readItem } from "../../format/claim_link.js";
import { offerText } from "../../texts/offers.js";
import { quoted } from "../../texts/operations.js";
import { textFor } from "../../texts/problems.js";
import { displayName, likenessOf, metadataOf } from "../../ui/card.js";
import { ask } from "../../ui/dialog.js";
import { find, make, makeButton } from "../../ui/dom.js";
import { FieldError, makeChoice, makeField } from "../../ui/field_errors.js";
import { offersOf } from "../../wallet/offers.js";
import { findOrigins } from "../../wallet/origin.js";
import { offersAmong, openOffer, sideCards } from "./offers_view.js";
import { NUMBER, readAmount, tooMuchText } from "./split_dialog.js";

/** For how long, in seconds. */
const TIMES = { 3600: "1 hour", 86_400: "1 day", 604_800: "7 days", 2_592_000: "30 days" };
const ASK_HINT =
  "Anyone with the link can pay. Make one request for each customer: the service does not tell who paid.";
const TRADE_HINT =
  "Anyone with the link can take it. Until then your units stay yours, and you can withdraw it.";

/**
 * @typedef {import("../../wallet/holdings.js").Holding} Holding
 * @typedef {import("./offers_view.js").OfferTools} OfferTools
 */

/** Ask for units of a deed, of which nothing need be held. */
export function askForUnits(/** @type {Holding} */ { itemId, item, unit }, opener, tools) {
  const amount = makeField("How many?", { ...NUMBER, value: "1", autofocus: true });
  const time = makeChoice("Can be paid for", TIMES, "86400");
  askToOffer({
    title: `Ask for ${quoted(tools.nameOf(itemId))}`,
    content: [amount.element, time.element, make("p", { class: "hint" }, ASK_HINT)],
    yes: "Make request",
    opener,
    tools,
    read: () => {
      const wanted = { itemId, amount: readWanted(amount.field, item, unit) };
      return (offers) => offers.ask({ ...wanted, expiresInS: Number(time.field.value) });
    },
  });
}

/** Ask what is wanted for units of a deed; the offer is shown before it is made. */
export function askToTrade(/** @type {Holding} */ holding, opener, /** @type {OfferTools} */ tools) {
  const fields = tradeFields(holding, tools);
  const review = make("div", { class: "link-view stack", tabindex: "-1", hidden: true });
  /** @type {any} */
  let reviewed = null;
  const show = async (wanted, button) => {
    const edit = make("p", { class: "actions" }, makeButton("Edit", () => show(null, button)));
    review.replaceChildren(...(wanted ? [...(await reviewOf(wanted, tools)), edit] : []));
    reviewed = wanted;
    review.hidden = !wanted;
    fields.element.hidden = Boolean(wanted);
    button.textContent = wanted ? "Make offer" : "Review";
    (wanted ? review : find(fields.element, "input")).focus();
  };
  askToOffer({
    title: `Trade ${quoted(tools.nameOf(holding.itemId))}`,
    content: [fields.element, review],
    yes: "Review",
    opener,
    tools,
    read: async (button) => {
      if (reviewed) return (offers) => offers.trade(reviewed);
      return show(await fields.read(), button);
    },
  });
}

/**
 * Open a dialog that makes an offer, and then shows it. `read` returns what makes it of what was
 * typed, or nothing where another step follows.
 */
function askToOffer({ title, content, yes, opener, tools, read }) {
  const offers = offersOf(tools.wallet, tools.store);
  let made;
  ask({
    title,
    content,
    yes,
    opener,
    said: () => {
      if (!content[0].isConnected) return "Your offer is ready under Offers.";
      openOffer(made, opener, tools);
      return "";
    },
    act: async (onWait, button) => {
      const make = await read(button);
      if (!make) return false;
      let ended;
      // Of a trade, what is given may have to be split off first.
      do ended = await tools.run(() => make(offers), onWait);
      while (!ended.problem && ended.operation?.kind === "split");
      if (!ended.problem) [made] = offersAmong([ended.operation]);
      return ended.problem;
    },
  });
}

function tradeFields(/** @type {Holding} */ { itemId, sum, unit }, { wallet }) {
  const give = makeField("How many do you give?", { ...NUMBER, value: "1", autofocus: true });
  const about = { autocomplete: "off", spellcheck: "false", dir: "ltr" };
  const what = makeField("What do you want?", about, "Paste a link to it, or its item id.");
  const get = makeField("How many do you want?", { ...NUMBER, value: "1" });
  const time = makeChoice("Open for", TIMES, "604800");
  const all = [give, what, get, time].map(({ element }) => element);

  async function read() {
    const given = { itemId, amount: readAmount(give.field) };
    if (given.amount > sum) throw new FieldError(give.field, tooMuchText(sum, unit));
    const item = await lookUp(what.field, itemId, wallet);
    const want = { itemId: item.id, amount: readWanted(get.field, item, item.unit) };
    return { item, give: given, want, expiresInS: Number(time.field.value) };
  }
  return { element: make("div", { class: "stack" }, ...all), read };
}

/** Return the item that a text names. No other host is asked, and no secret is sent. */
async function lookUp(field, givenId, wallet) {
  const { itemId, host, problem } = readItem(field.value);
  if (problem) throw new FieldError(field, problem);
  if (host && host !== location.host) {
    throw new FieldError(field, `This deed belongs to ${host}. It can be traded there only.`);
  }
  if (itemId === givenId) throw new FieldError(field, "That is the deed you give. Choose another.");
  return wallet.item(itemId).catch((error) => {
    throw new FieldError(field, textFor(error));
  });
}

/** Return how many are wanted: never more than there are. */
function readWanted(field, item, unit) {
  const amount = readAmount(field);
  if (!item || amount <= item.total) return amount;
  throw new FieldError(field, `There are only ${unitsText(item.total, unit)} in all.`);
}

/** Return what a person reads before an offer is made: what they give and get, with both marks. */
async function reviewOf({ item, give, want }, { nameOf, unitOf, wallet, store }) {
  const namer = {
    nameOf: (itemId) => (itemId === item.id ? displayName(metadataOf(item)) : nameOf(itemId)),
    unitOf: (itemId) => (itemId === item.id ? item.unit : unitOf(itemId)),
  };
  const origin = (await findOrigins(store, [item], likenessOf)).get(item.id);
  const kind = origin?.kind === "lookalike" ? "notice bad" : "hint";
  return [
    make("p", { dir: "auto" }, make("strong", {}, `${offerText({ give, want }, namer)}.`)),
    ...(await sideCards({ give, want }, { wallet })),
    make("p", { class: kind }, origin?.text ?? ""),
    make("p", { class: "hint" }, TRADE_HINT),
  ];
}
