// Asks how what is held is to be split: into links of the same amount, or one part of it into
// different amounts. What is left stays here.

import { parseAmount, unitsText } from "../../format/amounts.js";
import { countText, quoted } from "../../texts.js";
import { ask } from "../../ui/dialog.js";
import { make, makeButton } from "../../ui/dom.js";
import { FieldError, makeField } from "../../ui/field_errors.js";
import { numberText } from "./link_export.js";

/** @typedef {import("../../wallet/holdings.js").Holding} Holding */
/** @typedef {import("./links_view.js").LinksTools} LinksTools */

export const NUMBER = { inputmode: "numeric", dir: "ltr", autocomplete: "off" };

export function askToSplit(holding, opener, /** @type {LinksTools} */ { wallet, run, nameOf }) {
  const { itemId, parts } = holding;
  const even = evenFields(holding);
  const rows = amountRows(holding);
  const choose = make("details", {}, make("summary", {}, "Different amounts"), rows.element);
  choose.addEventListener("toggle", () => {
    even.element.hidden = choose.open;
    if (choose.open) rows.focus();
  });
  ask({
    title: `Split ${quoted(nameOf(itemId))}`,
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
  const links = makeField("How many links?", { ...NUMBER, autofocus: true });
  const each = makeField("How many each?", { ...NUMBER, value: "1" });
  const hint = make("p", { class: "hint", role: "status" });
  const element = make("div", { class: "stack" }, links.element, each.element, hint);
  element.addEventListener("input", () => {
    hint.textContent = evenText(links.field.value, each.field.value, sum, unit);
  });
  const read = () => {
    const [count, amount] = [links.field, each.field].map(readAmount);
    if (count * amount <= sum) return { count, each: amount };
    // It is said at the field from now on.
    hint.textContent = "";
    throw new FieldError(links.field, tooMuchText(sum, unit));
  };
  return { element, read };
}

/** Return what becomes of the units, or nothing while the fields are not filled in rightly. */
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
  if (amounts[0] === whole) throw new FieldError(last, "That is all of it. Enter less.");
  return amounts;
}

export function readAmount(field) {
  try {
    return parseAmount(field.value);
  } catch (error) {
    throw new FieldError(field, error.message);
  }
}
