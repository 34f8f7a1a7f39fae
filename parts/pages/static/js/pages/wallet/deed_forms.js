// Dialogs that ask how many units of a deed to send, how to split them, and for the
// names of those who get its links.

import { parseAmount, unitsText } from "../../format/amounts.js";
import { gettext, joinTexts, listText, ngettext } from "../../format/gettext.js";
import { noteOf, ticketText } from "../../format/tickets.js";
import { aboutOf, isExpired, nameOf, untilText } from "../../format/about.js";
import { quoted } from "../../texts.js";
import { arrayMax, copyTemplate, find, make, put } from "../../ui/dom.js";
import { ask, FieldError, readAmount } from "../../ui/forms.js";
import { noteLengthOf, openLinksDialog } from "../../ui/link_view.js";
import { chosenFrom } from "../../wallet/beginning.js";
import { isOneLink, lowestFirst } from "../../wallet/links.js";
import { itemIdOf } from "../../wallet/records.js";
import { backupLine } from "./backup_forms.js";

/**
 * @typedef {import("../../wallet/holdings.js").Holding} Holding
 * @typedef {import("../link_export.js").Shown & Holding & {origin?: import("../../ui/origin.js").Origin}} Shown
 *   what is drawn, and the tools
 */

/** More links at once should be printed, exported or copied. */
const SENT_MAX = 20;

/** Send units as one link, or as a link for each unit. */
export function askToSend(/** @type {Shown} */ shown, opener) {
  const { itemId, item, sum, unit, wallet, run, origin } = shown;
  const about = aboutOf(item);
  const doubts = [
    isExpired(about) && untilText(about),
    origin?.tint === "bad" && origin.text,
  ].filter(Boolean);
  const element = copyTemplate("send-template");
  const [field, , each] = element.querySelectorAll("input");
  const have = gettext("You have {units}.", { units: unitsText(sum, unit) });
  const ways = find(element, "fieldset");
  const whole = wholeAmountOf(shown);
  field.value = String(whole);
  // Do not offer links of one unit each for vouchers of 50.
  const showWays = () => {
    const text = field.value.trim();
    ways.hidden = whole > 1 || ["", "0", "1"].includes(text);
    const isCut = Number(text) % whole > 0;
    const cut = gettext("For {units} one of {whole} is split.", {
      units: unitsText(Number(text), unit),
      whole: unitsText(whole, unit),
    });
    const taken = takenText(shown, Number(text));
    put(find(element, "[role=status]"), joinTexts([have, taken, isCut && cut], " "));
  };
  field.oninput = showWays;
  showWays();
  const sendOne = async (amount, onWait) => {
    const operation = await run(() => wallet.send(itemId, amount), onWait);
    return (await wallet.outputsOf(operation)).slice(0, 1);
  };
  const { close } = ask({
    title: gettext("Send {name}", { name: quoted(nameOf(item)) }),
    content: [
      ...doubts.map((text) => make("p", { class: "notice wait" }, text)),
      ...(sum > 1 ? [element] : []),
    ],
    yes: gettext("Send"),
    opener,
    isSure: sum === 1 && !doubts.length,
    act: async (onWait) => {
      const amount = readAmount(field);
      if (amount > sum) throw new FieldError(field, tooMuchText(sum, unit));
      // A single link is handed out unchanged, because the lists of doors know it.
      const isEach = amount > 1 ? each.checked : shown.links.some(isReady);
      // One output is left for the change.
      const most = Math.min(SENT_MAX, arrayMax() - 1);
      if (isEach && amount > most)
        throw new FieldError(field, gettext("At most {most} links.", { most }));
      if (isEach) await makeMissing(shown, amount, onWait);
      const sent = isEach ? [] : await sendOne(amount, onWait);
      // The person may be doing something else by now.
      if (!onWait("") || !opener.isConnected)
        return isEach
          ? gettext("It is split.")
          : gettext("Your link is ready under Links.");
      const outputs = isEach ? await wallet.giveNext(itemId, amount) : sent;
      close();
      const more = await backupLine(shown, opener);
      openLinksDialog(outputs, { ...shown, more, opener });
      return "";
    },
  });
}

/** Return which links are sent, if any of them has a note. */
function takenText(/** @type {Pick<Holding, "parts">} */ { parts }, amount) {
  const taken = chosenFrom(parts, amount) ?? [];
  if (!taken.some(({ note }) => note)) return "";
  return gettext("Takes {tickets}.", { tickets: listText(taken.map(ticketText)) });
}

/** Return how many units the first numbered link has; 1 if there is none. */
export function wholeAmountOf(/** @type {Pick<Holding, "parts">} */ { parts }) {
  const [first] = parts.filter(({ number }) => number).sort(lowestFirst);
  return first?.amount ?? 1;
}

const isReady = ({ state, output }) => state === "here" && isOneLink(output);

/** Make the links of one unit that are missing for this count. */
async function makeMissing({ itemId, links, wallet, run }, count, onWait) {
  const missing = count - links.filter(isReady).length;
  if (missing > 0)
    await run(() => wallet.makeLinks(itemId, { count: missing, each: 1 }), onWait);
}

/** Split held units into links of one amount. The rest stays as it is. */
export function askToSplit(
  /** @type {Shown} */ { itemId, item, sum, unit, wallet, run },
  opener,
) {
  const element = copyTemplate("split-template");
  const [links, each] = element.querySelectorAll("input");
  const hint = find(element, "[role=status]");
  element.oninput = () => {
    hint.textContent = evenText(links.value, each.value, sum, unit);
  };
  ask({
    title: gettext("Split {name}", { name: quoted(nameOf(item)) }),
    content: [element],
    yes: gettext("Split"),
    opener,
    said: gettext("It is split."),
    act: async (onWait) => {
      const [count, amount] = [links, each].map(readAmount);
      if (count * amount > sum) {
        // From now on the field shows the error.
        hint.textContent = "";
        throw new FieldError(links, tooMuchText(sum, unit));
      }
      await run(() => wallet.makeLinks(itemId, { count, each: amount }), onWait);
    },
  });
}

/** Return what becomes of the units; empty while the fields are invalid. */
export function evenText(links, each, sum, unit) {
  try {
    const count = parseAmount(links);
    const amount = parseAmount(each);
    const left = sum - count * amount;
    if (left < 0) return tooMuchText(sum, unit);
    const values = { units: unitsText(amount, unit), rest: unitsText(left, unit) };
    return left
      ? ngettext(
          "{count} link of {units} each, {rest} left.",
          "{count} links of {units} each, {rest} left.",
          count,
          values,
        )
      : ngettext(
          "{count} link of {units} each, nothing left.",
          "{count} links of {units} each, nothing left.",
          count,
          values,
        );
  } catch {
    return "";
  }
}

export const tooMuchText = (sum, unit) =>
  gettext("You only have {units}.", { units: unitsText(sum, unit) });

/** Set lines as notes on rows, except on those that have one. Return what was done. */
export async function noteEach(lines, rows, { wallet }) {
  const own = rows.filter(
    ({ output, state }) => itemIdOf(output.key) && state !== "taken back",
  );
  const free = own.filter(({ output }) => !output.note);
  const notes = free.slice(0, lines.length).map(({ output }, place) => {
    const words = lines[place].slice(0, noteLengthOf(output));
    return [output.key, noteOf(output, words)];
  });
  await wallet.setNotes(...notes);
  const values = { added: notes.length, count: lines.length };
  const left = { names: listText(lines.slice(notes.length)) };
  const skippedCount = own.indexOf(free[notes.length - 1]) + 1 - notes.length;
  const added = left.names
    ? gettext("There is no row for {names}.", left)
    : gettext("Notes added: {added} of {count}.", values);
  const skipped =
    skippedCount > 0 &&
    gettext("Rows that kept their note: {count}.", { count: skippedCount });
  return joinTexts([added, skipped], " ");
}

/** Return the lines of a text, without blanks around them. */
export const linesOf = (text) => text.trim().split(/\s*\n\s*/);

/** Ask for a list of names, and set them as notes on the links. */
export function askForNames(/** @type {Shown} */ shown, opener) {
  const content = copyTemplate("names-template");
  const field = find(content, "textarea", HTMLTextAreaElement);
  ask({
    title: gettext("Add names"),
    content: [content],
    opener,
    act: () => noteEach(linesOf(field.value).filter(Boolean), shown.links, shown),
  });
}
