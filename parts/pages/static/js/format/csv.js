// Files for spreadsheets (RFC 4180). In locales with a decimal comma, columns are
// separated by semicolons, as Excel expects. Excel recognizes UTF-8 by the byte order
// mark.

import { gettext } from "./gettext.js";
import { rangesText } from "./tickets.js";

const BYTE_ORDER_MARK = "\ufeff";
/** Text that a spreadsheet runs as a formula unless another apostrophe precedes it. */
const FORMULA = /^'*(?:[\t\r]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20])/;

export function csvOf(outputs, addressOf, separator) {
  const rows = outputs.map((output) => {
    return [output.number ?? "", output.amount, addressOf(output), output.note ?? ""];
  });
  return tableOf(["number", "units", "link", "note"], rows, separator);
}

/**
 * Return a CSV file of all links and their states; it hands out none of them. `textsOf`
 * returns a link's state and what a code said about its number. Rows with negative
 * units take off what was `redeemed` and what exceeds `made`: a guest who claimed at
 * home, and whose code states no number, has two rows once admitted. So the units of
 * all rows add up to `made`.
 */
export function statesCsvOf(links, textsOf, counts, separator) {
  const { redeemed, made } = counts;
  // After an undone admission the next link of that number has the units.
  const isReplaced = ({ output: { number, issue = 1 }, state }) =>
    state === "undone" &&
    number &&
    links.some(({ output }) => output.number === number && output.issue > issue);
  const rows = links.map((link) => {
    const { output, state, at } = link;
    const [word, said] = textsOf(link);
    const {
      number = rangesText(output.numbers),
      issue = 1,
      amount,
      note = "",
    } = output;
    const time = at ? new Date(at).toLocaleString("sv") : "";
    const units = isReplaced({ output, state }) ? 0 : amount;
    return [number, number && issue, units, word, time, note, said];
  });
  const listed = rows.reduce((sum, [, , units]) => sum + units, -redeemed);
  const takeOff = (units, text) =>
    units > 0 && rows.push(["", "", -units, text, "", "", ""]);
  takeOff(redeemed, gettext("redeemed"));
  takeOff(listed - made, gettext("in two rows: claimed and admitted"));
  return tableOf(
    ["number", "issue", "units", "state", "time", "note", "said"],
    rows,
    separator,
  );
}

export function paymentsCsvOf(payments, signsOf) {
  const rows = payments.map((payment) => {
    const time = new Date(payment.endedAt).toLocaleString("sv");
    return [time, payment.amount, signsOf(payment)];
  });
  return tableOf(["time", "units", "code"], rows);
}

function tableOf(head, rows, separator = separatorOf()) {
  const lines = [head, ...rows].map((row) => row.map(cell).join(separator));
  return `${BYTE_ORDER_MARK}${lines.join("\r\n")}\r\n`;
}

/** Return a quoted cell. An apostrophe turns a formula into text. */
function cell(value) {
  const text =
    typeof value === "number" ? `${value}` : String(value).replace(FORMULA, "'$&");
  const isSplit = /[",;\r\n]/.test(text);
  return isSplit ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Return the column separator that spreadsheets expect in a language, by default the
 * browser's: a semicolon where 0.5 is written 0,5.
 * @param {string} [language]
 */
export const separatorOf = (language) =>
  new Intl.NumberFormat(language).format(0.5).includes(",") ? ";" : ",";
