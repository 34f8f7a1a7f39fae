// Asks what a person wants for units of a deed: a deed that this wallet has made or
// held, or one whose page is pasted or scanned; then how many units of each.

import { readItem } from "../../format/claim_link.js";
import { gettext } from "../../format/gettext.js";
import { aboutOf, nameOf, whenText } from "../../format/about.js";
import { offerText, quoted, textFor } from "../../texts.js";
import { makeCard, makeMark, thumbnailOf } from "../../ui/card.js";
import { make, makeButton, makeHint, put } from "../../ui/dom.js";
import {
  ask,
  FieldError,
  makeField,
  readAmount,
  readAmountOf,
} from "../../ui/forms.js";
import { findOrigins, findOwn } from "../../ui/origin.js";
import { scanWay } from "../../ui/scan.js";
import { offersOf, openOffersOf } from "../../wallet/offers.js";
import { WalletError } from "../../wallet/records.js";
import { openOffer } from "../offer_view.js";
import { tooMuchText } from "./deed_forms.js";

const HINT = gettext(
  "Anyone with the link can accept the offer within a week. Until someone does, you keep what you offer, and you can cancel.",
);

/**
 * @typedef {import("../../wallet/holdings.js").Holding & import("../offer_view.js").OfferTools} Shown
 * @typedef {import("../../wallet/records.js").Item} Item
 */

const NUMBER = { inputmode: "numeric", dir: "ltr", autocomplete: "off" };

/**
 * Ask for how many units of which deed. If only one other deed is known, suggest that.
 */
export async function askToTrade(/** @type {Shown} */ shown, opener) {
  const { store } = shown;
  const known = await store.read({ items: "all" }, ({ items }) => items.list());
  const own = await findOwn(store, known);
  const others = own.filter(({ id }) => id !== shown.itemId);
  const origins = await findOrigins(store, others);
  const goOn = (item) => askHowMany(shown, item, opener, choose);
  const choose = () => askWhich(shown, { others, origins }, opener, goOn);
  if (others.length === 1) goOn(others[0]);
  else choose();
}

/** Ask which deed is wanted, and continue with it. */
function askWhich(shown, { others, origins }, opener, onItem) {
  const byName = (one, other) => nameOf(one).localeCompare(nameOf(other));
  const goOn = (item) => {
    close();
    onItem(item);
  };
  const rows = others
    .sort(byName)
    .map((item) => make("li", {}, itemButton(item, origins.get(item.id), goOn)));
  const list = make("ul", { class: "rows plain" }, ...rows);
  const label = rows.length
    ? gettext("Or paste a link to a deed")
    : gettext("Paste a link to a deed");
  const { element, field } = makeField(label, {
    dir: "ltr",
    spellcheck: "false",
    autocomplete: "off",
  });
  const name = quoted(nameOf(shown.item));
  const onText = async (text, closeScanner) => {
    const item = await lookUp(text, shown);
    closeScanner();
    goOn(item);
  };
  const { close } = ask({
    title: gettext("What do you want for {name}?", { name }),
    content: [...(rows.length ? [list] : []), element, scanWay(onText)],
    yes: gettext("Continue"),
    opener,
    act: async () => {
      const item = await lookUp(field.value, shown).catch((error) => {
        throw new FieldError(field, textFor(error));
      });
      goOn(item);
    },
  });
}

function itemButton(item, { short, tint }, goOn) {
  const about = make("span", {}, make("span", { dir: "auto" }, nameOf(item)));
  const when = whenText(aboutOf(item));
  if (when) about.append(make("br"), make("span", { class: "faint" }, when));
  about.append(make("br"), makeMark(item.id), " ");
  if (tint) about.append(make("span", { class: `tag ${tint}` }, short));
  return make(
    "button",
    { type: "button", class: "button quiet wide choice", onclick: () => goOn(item) },
    thumbnailOf(item),
    about,
  );
}

/** Return the item that a text names. No other host is asked, and no secret is sent. */
async function lookUp(text, { itemId: givenId, wallet }) {
  const { itemId, host, problem } = readItem(text);
  const isOurs = !host || host === location.host;
  const elsewhere = isOurs
    ? ""
    : gettext("This deed belongs to {host}. You can trade it only there.", { host });
  const same =
    itemId === givenId && gettext("That is the deed you give. Choose another.");
  const why = problem || elsewhere || same;
  if (why) throw new WalletError("wrong_item", why);
  return wallet.item(itemId);
}

/**
 * Ask for how many units of each deed, and make the offer. Both deeds are shown before.
 */
async function askHowMany(
  /** @type {Shown} */ shown,
  /** @type {Item} */ wanted,
  opener,
  choose,
) {
  const { itemId, item, sum, unit, store, wallet, run } = shown;
  const origins = await findOrigins(store, [wanted]);
  const { text = "", tint = "" } = origins.get(wanted.id) ?? {};
  const one = { ...NUMBER, value: "1" };
  const [give, get] = [
    makeField(gettext("How many do you give?"), { ...one, autofocus: true }),
    makeField(gettext("How many do you want?"), one),
  ];
  const itemOf = (id) => (id === wanted.id ? wanted : item);
  const sentence = make("strong", { role: "status" });
  const read = () => {
    const amount = readAmount(give.field);
    if (amount > sum) throw new FieldError(give.field, tooMuchText(sum, unit));
    return {
      give: { itemId, amount },
      want: { itemId: wanted.id, amount: readAmountOf(get.field, wanted) },
    };
  };
  const content = [
    make("div", { class: "link-view stack" }, give.element, cardOf(itemId, item)),
    make("div", { class: "link-view stack" }, get.element, cardOf(wanted.id, wanted)),
    make("p", { class: tint ? `notice ${tint}` : "hint" }, text),
    makeButton(gettext("Choose another deed"), () => {
      close();
      choose();
    }),
    make("p", {}, sentence),
    makeHint(HINT),
  ];
  const { close } = ask({
    title: gettext("Your offer"),
    content,
    yes: gettext("Make offer"),
    opener,
    act: async (onWait) => {
      const terms = read();
      const offers = offersOf(wallet);
      const isHere = () => sentence.isConnected;
      let offer;
      // Units may be split off first, and the person may leave meanwhile.
      while (!offer && isHere())
        [offer] = openOffersOf([await run(() => offers.trade(terms), onWait)]);
      if (!offer) return gettext("No offer was made.");
      if (!isHere()) return gettext("Your offer is ready under Offers.");
      close();
      openOffer(offer, opener, shown);
      return "";
    },
  });
  const draw = () => put(sentence, dealText(read, itemOf));
  for (const { field } of [give, get]) field.oninput = draw;
  draw();
}

const cardOf = (itemId, item) => makeCard(item, { itemId, pictures: "ask" });

/** Return the deal in a sentence; empty while the fields are invalid. */
function dealText(read, itemOf) {
  try {
    return `${offerText(read(), itemOf)}.`;
  } catch {
    return "";
  }
}
