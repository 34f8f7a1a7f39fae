// Files for spreadsheets, RFC 4180 but for what separates the columns: where a decimal
// comma is written, Excel takes semicolons. It knows UTF-8 by the byte order mark.

import { gettext } from "./gettext.js";
import { rangesText } from "./tickets.js";

const BYTE_ORDER_MARK = "\ufeff";
/** What a spreadsheet would carry out, unless one more apostrophe comes before it. */
const FORMULA = /^'*(?:[\t\r]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20])/;

/** Return a CSV file of links. */
export function csvOf(outputs, addressOf, separator = separatorOf()) {
  const rows = outputs.map((output) => {
    return [output.number ?? "", output.amount, addressOf(output), output.note ?? ""];
  });
  return tableOf(["number", "units", "link", "note"], rows, separator);
}

/**
 * Return a CSV file of all links with their states, and what was said to be them, which
 * are `textsOf` each; it hands none of them out. Taken off are units that were
 * `redeemed`, and what is more than were `made`: who claims at home and whose code says
 * no number is in two rows, once let in. So the units of all rows are those that were
 * made.
 */
export function statesCsvOf(links, textsOf, counts, separator = separatorOf()) {
  const { redeemed, made } = counts;
  // Where an admission was undone, the next link of its number has the units.
  const isReplaced = ({ output: { number, issue = 1 }, state }) =>
    state === "undone" &&
    number &&
    links.some(({ output }) => output.number === number && output.issue > issue);
  const rows = links.map((link) => {
    const { output, state, at } = link;
    const [told, said] = textsOf(link);
    const {
      number = rangesText(output.numbers),
      issue = 1,
      amount,
      note = "",
    } = output;
    const time = at ? new Date(at).toLocaleString("sv") : "";
    const units = isReplaced({ output, state }) ? 0 : amount;
    return [number, number && issue, units, told, time, note, said];
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

/** Return a CSV file of the payments of a till. */
export function paymentsCsvOf(payments, signsOf, separator = separatorOf()) {
  const rows = payments.map((payment) => {
    const time = new Date(payment.endedAt).toLocaleString("sv");
    return [time, payment.amount, signsOf(payment)];
  });
  return tableOf(["time", "units", "code"], rows, separator);
}

function tableOf(head, rows, separator) {
  const lines = [head, ...rows].map((row) => row.map(cell).join(separator));
  return `${BYTE_ORDER_MARK}${lines.join("\r\n")}\r\n`;
}

/** An apostrophe makes a formula a text. */
function cell(value) {
  const text =
    typeof value === "number" ? `${value}` : String(value).replace(FORMULA, "'$&");
  const isSplit = /[",;\r\n]/.test(text);
  return isSplit ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Return what spreadsheets take for the end of a column in a language, or the
 * browser's own: another one where 0.5 is written 0,5.
 * @param {string} [language]
 */
export const separatorOf = (language) =>
  new Intl.NumberFormat(language).format(0.5).includes(",") ? ";" : ",";
