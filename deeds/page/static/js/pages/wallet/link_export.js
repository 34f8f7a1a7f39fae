// Many links at once: which of them a person chooses, and how those are printed, written into a file
// for spreadsheets, or copied. They are handed out before anything else is done.

import { formatAmount, parseAmount } from "../../format/amounts.js";
import { textFor } from "../../texts/problems.js";
import { isShown, metadataOf } from "../../ui/card.js";
import { codesOf, linkOf } from "../../ui/codes.js";
import { copyText, download } from "../../ui/copying.js";
import { ask } from "../../ui/dialog.js";
import { freshId, make, makeButton } from "../../ui/dom.js";
import { WalletError } from "../../wallet/records.js";
import { printLinks, PRINTED_MAX } from "./print_sheet.js";

const BYTE_ORDER_MARK = "\ufeff";
const HANDED_OUT = "These links then count as handed out: My deeds won't send them to anybody else.";
/** What makes a formula of a cell, which a spreadsheet would carry out. */
const FORMULA = /^[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/;

/**
 * @typedef {import("../../wallet/records.js").OutputRecord} OutputRecord
 * @typedef {import("../../wallet/holdings.js").Link} Link
 * @typedef {import("./links_view.js").Shown} Shown
 * @typedef {{which: string, from: string, to: string}} Choice `which` is "here", "waiting" or
 *   "numbers", from one to another as they were typed
 */

/** Return whether somebody could still claim the link. */
export function isUsable({ state }) {
  return state === "here" || state === "waiting";
}

/**
 * Return the links that a person chose, in the order of their numbers.
 * @param {Link[]} links
 * @param {Choice} choice
 * @param {number} [countMax]
 * @throws {WalletError | import("../../format/amounts.js").AmountError}
 */
export function chosenLinks(links, { which, from, to }, countMax = Infinity) {
  const isChosen = which === "numbers" ? isBetween(from, to) : ({ state }) => state === which;
  const chosen = links.filter((link) => isUsable(link) && isChosen(link));
  if (!chosen.length) throw new WalletError("no_links", "There are no links to hand out there.");
  if (chosen.length > countMax) {
    const most = formatAmount(countMax);
    throw new WalletError("too_many", `Choose at most ${most} links at a time, by their numbers.`);
  }
  return chosen.sort(byNumber);
}

/** @returns {(link: Link) => boolean} */
function isBetween(from, to) {
  const [first, last] = [parseAmount(from), parseAmount(to)];
  return ({ output: { number = 0 } }) => number >= first && number <= last;
}

/** Compare by number; links without one come last, the oldest first. */
function byNumber({ output: one }, { output: other }) {
  const [first, second] = [one, other].map(({ number }) => number ?? Number.MAX_VALUE);
  return first - second || one.createdAt - other.createdAt;
}

/**
 * Return a CSV file (RFC 4180) of links.
 * @param {OutputRecord[]} outputs
 * @param {(output: OutputRecord) => string} addressOf
 */
export function csvOf(outputs, addressOf) {
  const rows = outputs.map((output) => {
    return [output.number ?? "", output.amount, addressOf(output), output.note ?? ""];
  });
  const lines = [["number", "units", "link", "note"], ...rows].map((row) => row.map(cell).join(","));
  return `${BYTE_ORDER_MARK}${lines.join("\r\n")}\r\n`;
}

/** An apostrophe makes a formula a text. */
function cell(value) {
  const text = String(value).replace(FORMULA, "'$&");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * @typedef {object} Action
 * @property {string} text on the button, and in the dialog that asks which links
 * @property {string} said
 * @property {number} [countMax]
 * @property {(outputs: OutputRecord[], onProgress: (text: string) => void) => Promise<void>} act
 */

/**
 * Return the buttons for many links.
 * @param {Shown} shown what the view shows, whatever it is by then
 */
export function manyLinksActions(shown) {
  /** @type {Action[]} */
  const actions = [
    { text: "Print", countMax: PRINTED_MAX, said: "", act: (...given) => print(shown, ...given) },
    { text: "CSV", said: "The file is written.", act: (outputs) => writeCsv(shown, outputs) },
    { text: "Copy all links", said: "The links are copied.", act: (outputs) => copy(shown, outputs) },
  ];
  const buttons = actions.map((action) => {
    const button = makeButton(action.text, () => askWhich(shown, action, button));
    return button;
  });
  return make("p", { class: "actions" }, ...buttons);
}

async function print(/** @type {Shown} */ { wallet, api, item, unit, name }, outputs, onProgress) {
  const count = formatAmount(outputs.length);
  const codes = await codesOf(outputs, { wallet, api, unit }, {
    onProgress: (ready) => onProgress(`${formatAmount(ready)} of ${count} QR codes are ready.`),
  });
  const { image = "" } = item ? metadataOf(item) : {};
  await printLinks(outputs, { name, image: isShown(image) ? image : "", unit, codes });
}

async function writeCsv(/** @type {Shown} */ { unit }, outputs) {
  const text = csvOf(outputs, (output) => linkOf(output, unit));
  download(text, "text/csv", `${outputs[0].itemId}.csv`);
}

async function copy(/** @type {Shown} */ { unit }, outputs) {
  if (await copyText(outputs.map((output) => linkOf(output, unit)).join("\n"))) return;
  throw new WalletError("no_copy", "This browser does not let pages copy. Use CSV.");
}

/**
 * Ask which links, hand them out, and do it with those that are handed out then.
 * @param {Action} action
 */
function askWhich(shown, action, opener) {
  const { text, said, countMax, act } = action;
  const choice = choiceFields(shown.links, countMax);
  const progress = make("p", { role: "status" });
  ask({
    title: text,
    content: [...choice.content, make("p", { class: "hint" }, HANDED_OUT), progress],
    yes: text,
    opener,
    said,
    act: async () => {
      try {
        const chosen = chosenLinks(shown.links, choice.read(), countMax);
        const given = await shown.wallet.giveOut(chosen.map(({ output }) => output.key));
        await act(given, (now) => (progress.textContent = now));
        return "";
      } catch (error) {
        progress.textContent = "";
        return textFor(error);
      }
    },
  });
}

/** The fields of a choice; numbers are asked for only where links are chosen by them. */
function choiceFields(links, countMax) {
  const usable = links.filter(isUsable);
  const countIn = (state) => usable.filter((link) => link.state === state).length;
  const numbers = usable.flatMap(({ output }) => output.number ?? []).sort((one, other) => one - other);
  /** @type {[string, string, number][]} */
  const choices = [
    ["here", `All not handed out yet (${formatAmount(countIn("here"))})`, countIn("here")],
    ["waiting", `All waiting (${formatAmount(countIn("waiting"))})`, countIn("waiting")],
    ["numbers", "By number", numbers.length],
  ];
  const options = choices.filter(([, , count]) => count);
  const which = make(
    "select",
    { id: freshId("which") },
    ...options.map(([value, text]) => make("option", { value }, text)),
  );
  const [from, to] = [numbers[0], numbers.slice(0, countMax).at(-1)].map(numberField);
  const range = make("div", { class: "row-line" }, labelled("From", from), labelled("To", to));
  const showRange = () => (range.hidden = which.value !== "numbers");
  which.addEventListener("change", showRange);
  showRange();
  return {
    content: [labelled("Which links?", which), range],
    read: () => ({ which: which.value, from: from.value, to: to.value }),
  };
}

function numberField(value = "") {
  return make("input", {
    id: freshId("number"),
    type: "text",
    inputmode: "numeric",
    value: String(value),
  });
}

function labelled(text, field) {
  return make("div", { class: "field" }, make("label", { for: field.id }, text), field);
}
