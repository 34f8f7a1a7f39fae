// Asks how units of a deed are to be split, asked for or traded.

import { parseAmount, unitsText } from "../../format/amounts.js";
import { readItem } from "../../format/claim_link.js";
import { countText, offerText, quoted, textFor } from "../../texts.js";
import { nameOf } from "../../ui/card.js";
import { findOrigins } from "../../ui/origin.js";
import { copyTemplate, find, make, makeButton } from "../../ui/dom.js";
import { ask, FieldError, makeField } from "../../ui/forms.js";
import { offersOf, openOffersOf } from "../../wallet/offers.js";
import { numberText } from "./link_export.js";
import { openOffer, sideCards } from "./offers_view.js";

/**
 * @typedef {import("../../wallet/holdings.js").Holding} Holding
 * @typedef {import("./offers_view.js").OfferTools} OfferTools
 */

const NUMBER = { inputmode: "numeric", dir: "ltr", autocomplete: "off" };
const TRADE_HINT =
  "Anyone with the link can take it, within a week. Until then your units stay yours, and you can withdraw it.";

/**
 * Split what is held into links of one amount, or a part of it into others. What is
 * left stays.
 */
export function askToSplit(holding, opener, /** @type {OfferTools} */ { wallet, run }) {
  const { itemId, item, parts } = holding;
  const even = evenFields(holding);
  const rows = amountRows(holding);
  const choose = make(
    "details",
    {},
    make("summary", {}, "Different amounts"),
    rows.element,
  );
  choose.addEventListener("toggle", () => {
    even.element.hidden = choose.open;
    if (choose.open) rows.focus();
  });
  ask({
    title: `Split ${quoted(nameOf(item))}`,
    content: [even.element, choose],
    yes: "Split",
    opener,
    said: "It is split.",
    act: async (onWait) => {
      const wanted = choose.open ? rows.read() : even.read();
      const split = () => wallet.split(parts[0].key, wanted);
      await run(choose.open ? split : () => wallet.makeLinks(itemId, wanted), onWait);
    },
  });
}

function evenFields(/** @type {Holding} */ { sum, unit }) {
  const element = copyTemplate("split-template");
  const [links, each] = element.querySelectorAll("input");
  const hint = find(element, "[role=status]");
  element.addEventListener("input", () => {
    hint.textContent = evenText(links.value, each.value, sum, unit);
  });
  const read = () => {
    const [count, amount] = [links, each].map(readAmount);
    if (count * amount <= sum) return { count, each: amount };
    // It is said at the field from now on.
    hint.textContent = "";
    throw new FieldError(links, tooMuchText(sum, unit));
  };
  return { element, read };
}

/**
 * Return what becomes of the units, or nothing while the fields are not filled in
 * rightly.
 */
export function evenText(links, each, sum, unit) {
  try {
    const [count, amount] = [parseAmount(links), parseAmount(each)];
    const left = sum - count * amount;
    if (left < 0) return tooMuchText(sum, unit);
    const rest = left ? unitsText(left, unit) : "nothing";
    return `${countText(count, "link")} of ${unitsText(amount, unit)} each, ${rest} left.`;
  } catch {
    return "";
  }
}

export const tooMuchText = (sum, unit) => `You have ${unitsText(sum, unit)}.`;

/** The rows of amounts that the largest part is split into. */
function amountRows(/** @type {Holding} */ { parts, sum, unit }) {
  const whole = parts[0].amount;
  const fields = [];
  const list = make("div", { class: "stack" });
  const addButton = makeButton("Add an amount", () => add().focus());
  const add = () => {
    const { element, field } = makeField(`Amount ${fields.length + 1}`, NUMBER);
    fields.push(field);
    list.append(element);
    return field;
  };
  add();
  const about = [
    whole < sum ? `Your largest part is ${unitsText(whole, unit)}.` : "",
    parts[0].number ? `This uses up link ${numberText(parts[0])}.` : "",
    "What is left stays one part.",
  ];
  const hint = make("p", { class: "hint" }, about.filter(Boolean).join(" "));
  return {
    element: make("div", { class: "stack" }, hint, list, addButton),
    focus: () => fields[0].focus(),
    read: () => readAmounts(fields, whole, unit),
  };
}

/** Return the amounts, without rows that were left empty. */
function readAmounts(fields, whole, unit) {
  const filled = fields.filter(({ value }, place) => place === 0 || value.trim());
  const amounts = filled.map(readAmount);
  const last = filled.at(-1);
  const sum = amounts.reduce((total, amount) => total + amount, 0);
  const all = unitsText(whole, unit);
  if (sum > whole) throw new FieldError(last, `Together they are more than ${all}.`);
  if (amounts[0] === whole)
    throw new FieldError(last, "That is all of it. Enter less.");
  return amounts;
}

function readAmount(field) {
  try {
    return parseAmount(field.value);
  } catch (error) {
    throw new FieldError(field, error.message);
  }
}

export function askForUnits(
  /** @type {Holding} */ { itemId, item, unit },
  opener,
  tools,
) {
  askToMake({
    title: `Ask for ${quoted(nameOf(item))}`,
    content: [copyTemplate("ask-template")],
    yes: "Make request",
    opener,
    tools,
    read: ([field]) => {
      const wanted = { itemId, amount: readWanted(field, item, unit) };
      return (offers) => offers.ask(wanted);
    },
  });
}

/** Ask what is wanted for units of a deed. The offer is shown before it is made. */
export function askToTrade(
  /** @type {Holding} */ { itemId, item, sum, unit },
  opener,
  tools,
) {
  async function read(give, what, get) {
    const given = { itemId, amount: readAmount(give) };
    if (given.amount > sum) throw new FieldError(give, tooMuchText(sum, unit));
    const wanted = await lookUp(what, itemId, tools);
    const want = { itemId: wanted.id, amount: readWanted(get, wanted, wanted.unit) };
    return { give: given, want, item: wanted };
  }

  const { close } = ask({
    title: `Trade ${quoted(nameOf(item))}`,
    content: [copyTemplate("trade-template")],
    yes: "Review",
    opener,
    act: async (_onWait, [give, what, get]) => {
      const wanted = await read(give, what, get);
      const content = await reviewOf(wanted, tools);
      const made = { yes: "Make offer", opener, tools, onMade: close };
      askToMake({
        title: "Your offer",
        content,
        ...made,
        read: () => (offers) => offers.trade(wanted),
      });
      return false;
    },
  });
}

/**
 * Ask whether to make an offer; once it is made, show it. `read` returns what makes it
 * of what was typed.
 */
function askToMake({ title, content, yes, opener, tools, read, onMade = () => {} }) {
  const offers = offersOf(tools.wallet);
  const isHere = () => content[0].isConnected;
  const { close } = ask({
    title,
    content,
    yes,
    opener,
    act: async (onWait, fields) => {
      const makeIt = read(fields);
      let made;
      // Of a trade, what is given may have to be split off first: a person may have
      // left meanwhile.
      while (!made && isHere())
        [made] = openOffersOf([await tools.run(() => makeIt(offers), onWait)]);
      if (!made) return "No offer was made.";
      if (!isHere()) return "Your offer is ready under Offers.";
      close();
      onMade();
      openOffer(made, opener, tools);
      return "";
    },
  });
}

/** Return the item that a text names. No other host is asked, and no secret is sent. */
async function lookUp(field, givenId, { wallet }) {
  const { itemId, host, problem } = readItem(field.value);
  const isOurs = !host || host === location.host;
  const elsewhere = isOurs
    ? ""
    : `This deed belongs to ${host}. It can be traded there only.`;
  const same = itemId === givenId && "That is the deed you give. Choose another.";
  const why = problem || elsewhere || same;
  if (why) throw new FieldError(field, why);
  return wallet.item(itemId).catch((error) => {
    throw new FieldError(field, textFor(error));
  });
}

function readWanted(field, item, unit) {
  const amount = readAmount(field);
  if (!item || amount <= item.total) return amount;
  throw new FieldError(field, `There are only ${unitsText(item.total, unit)} in all.`);
}

/**
 * Return what a person reads before an offer is made: what they give and get, with both
 * marks.
 */
async function reviewOf({ item, give, want }, /** @type {OfferTools} */ tools) {
  const itemOf = (itemId) => (itemId === item.id ? item : tools.itemOf(itemId));
  const origin = (await findOrigins(tools.store, [item])).get(item.id);
  const kind = origin?.kind === "lookalike" ? "notice bad" : "hint";
  return [
    make(
      "p",
      { dir: "auto" },
      make("strong", {}, `${offerText({ give, want }, itemOf)}.`),
    ),
    make(
      "div",
      { class: "link-view stack" },
      ...(await sideCards({ give, want }, tools)),
    ),
    make("p", { class: kind }, origin?.text ?? ""),
    make("p", { class: "hint" }, TRADE_HINT),
  ];
}
