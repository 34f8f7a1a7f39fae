// Many links at once: which of them a person chooses, and how those are printed, written as a file
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
const HANDED_OUT = "These links then count as handed out: My deeds never sends them to others.";
/** Which links a person can choose; only by numbers are two more asked for. */
const CHOICES = { here: "All not handed out yet", waiting: "All waiting", numbers: "By number" };
/** What makes a formula of a cell, which a spreadsheet would carry out. */
const FORMULA = /^[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/;

/**
 * @typedef {import("../../wallet/records.js").OutputRecord} OutputRecord
 * @typedef {import("../../wallet/holdings.js").Link} Link
 * @typedef {import("./links_view.js").Shown} Shown
 */

/** Return whether somebody could still claim the link. */
export function isUsable({ state }) {
  return state === "here" || state === "waiting";
}

/**
 * Return the links that a person chose.
 * @param {Link[]} links
 * @param {{which: string, from?: string, to?: string}} choice `which` is one of CHOICES; `from` and
 *   `to` are numbers as they were typed
 * @param {number} [countMax]
 * @throws {WalletError | import("../../format/amounts.js").AmountError}
 */
export function chosenLinks(links, { which, from = "", to = "" }, countMax = Infinity) {
  const isChosen = which === "numbers" ? isBetween(from, to) : ({ state }) => state === which;
  const chosen = links.filter((link) => isUsable(link) && isChosen(link));
  if (!chosen.length) throw new WalletError("no_links", "There are no links to hand out there.");
  if (chosen.length > countMax) {
    const most = formatAmount(countMax);
    throw new WalletError("too_many", `Choose at most ${most} links at a time, by their numbers.`);
  }
  return chosen;
}

/** @returns {(link: Link) => boolean} */
function isBetween(from, to) {
  const [first, last] = [parseAmount(from), parseAmount(to)];
  return ({ output: { number = 0 } }) => number >= first && number <= last;
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
  const all = [["number", "units", "link", "note"], ...rows];
  const lines = all.map((row) => row.map(cell).join(","));
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
 * @property {(outputs: OutputRecord[], progress: HTMLElement) => Promise<void>} act
 */

/**
 * Return the buttons for many links.
 * @param {Shown} shown what the view shows, whatever it is by then
 */
export function manyLinksActions(shown) {
  const said = "The tickets are ready.";
  /** @type {Action[]} */
  const actions = [
    { text: "Print", said, countMax: PRINTED_MAX, act: (...given) => print(shown, ...given) },
    { text: "CSV", said: "The file is written.", act: (outputs) => writeCsv(shown, outputs) },
    { text: "Copy all links", said: "All are copied.", act: (outputs) => copy(shown, outputs) },
  ];
  const buttons = actions.map((action) => {
    const button = makeButton(action.text, () => askWhich(shown, action, button));
    return button;
  });
  return make("p", { class: "actions" }, ...buttons);
}

async function print(/** @type {Shown} */ shown, outputs, progress) {
  const count = formatAmount(outputs.length);
  const onProgress = (ready) => {
    progress.textContent = `${formatAmount(ready)} of ${count} QR codes are ready.`;
  };
  const codes = await codesOf(outputs, shown, { onProgress });
  if (!progress.isConnected) throw new WalletError("cancelled", "Nothing was printed.");
  const { image = "" } = shown.item ? metadataOf(shown.item) : {};
  await printLinks(outputs, { ...shown, image: isShown(image) ? image : "", codes });
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
  const hint = make("p", { class: "hint" }, HANDED_OUT);
  const carryOut = async () => {
    try {
      const chosen = chosenLinks(shown.links, choice.read(), countMax);
      await act(await shown.wallet.giveOut(chosen.map(({ output }) => output.key)), progress);
      return "";
    } catch (error) {
      progress.textContent = "";
      return textFor(error);
    }
  };
  const content = [...choice.content, hint, progress];
  ask({ title: text, content, yes: text, opener, said, act: carryOut });
}

/** The fields of a choice; numbers are asked for only where links are chosen by them. */
function choiceFields(links, countMax) {
  const usable = links.filter(isUsable);
  const numbers = usable.flatMap(({ output }) => output.number ?? []);
  const byState = Map.groupBy(usable, ({ state }) => state);
  const countOf = (which) => (byState.get(which) ?? (which === "numbers" ? numbers : [])).length;
  const options = Object.entries(CHOICES)
    .filter(([value]) => countOf(value))
    .map(([value, text]) => make("option", { value }, `${text} (${formatAmount(countOf(value))})`));
  const which = make("select", { id: freshId("which") }, ...options);
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
  const id = freshId("number");
  return make("input", { id, type: "text", inputmode: "numeric", value: String(value) });
}

function labelled(text, field) {
  return make("div", { class: "field" }, make("label", { for: field.id }, text), field);
}
