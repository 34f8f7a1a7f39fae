// Many links at once: choosing them, and printing, exporting, copying or taking them
// back. They are recorded as handed out before any of them leaves. Paper tickets are
// sheets of eight, in a part of the document that only printers show (css/print.css).

import { parseAmount } from "../format/amounts.js";
import { gettext, joinTexts } from "../format/gettext.js";
import { csvOf } from "../format/csv.js";
import { aboutOf, dayText, nameOf, untilText, whenText } from "../format/about.js";
import { issueText } from "../format/tickets.js";
import { heldText, shortName, waitText } from "../texts.js";
import { imageOf, makeMark, pictureOf } from "../ui/card.js";
import { arrayMax, copyText, download, make, makeHint, pause } from "../ui/dom.js";
import { codeImage, codesOf, linkOf } from "../ui/link_view.js";
import { ask, makeField, say, selectField } from "../ui/forms.js";
import { outputsIn } from "../wallet/holdings.js";
import { keysOf, WalletError } from "../wallet/records.js";

const PRINTED_MAX = 1000;
const TICKETS_ON_A_SHEET = 8;
const PICTURE_MS_MAX = 10_000;

const GIVEN = gettext(
  "From then on they count as handed out. My deeds won't send them to anyone else.",
);
const NO_COPY = gettext(
  "This browser doesn't let pages copy. The links now count as handed out. Use “CSV with links”.",
);
const TAKEN_BACK = gettext(
  "These links stop working. Those with a number get a new link with the same one.",
);
/** Names of the states of links, in the order in which a person chooses among them. */
export const STATES = {
  here: gettext("left"),
  back: gettext("came back"),
  waiting: gettext("handed out"),
  leaving: gettext("under way"),
  claimed: gettext("claimed"),
  moved: gettext("moved or claimed"),
  used: gettext("used"),
  admitted: gettext("admitted"),
  undone: gettext("admission undone"),
  "taken back": gettext("taken back"),
  expected: gettext("not scanned"),
};
/** Links that a person can choose. Only numbers need two more fields. */
const CHOICES = {
  here: (count) => gettext("All that are left ({count})", { count }),
  waiting: (count) => gettext("All handed out ({count})", { count }),
  numbers: () => gettext("By number"),
};
/**
 * Characters that file names cannot contain. The slash is \x2f because babel misreads
 * one within brackets.
 */
const NOT_IN_NAMES = /[\\\x2f:*?"<>|\p{C}]+/gu;
/**
 * @typedef {import("./open_wallet.js").Opened & {
 *   itemId: string, item: import("../wallet/records.js").Item | null, unit?: string,
 *   links: import("../wallet/holdings.js").Link[], areAllIn?: boolean, areSomeIn?: boolean,
 * }} Shown
 */

export const isUsable = ({ state }) => state === "here" || state === "waiting";

export const countIn = (links, state) => outputsIn(links, state).length;

/**
 * Return the links that a person means. `which` is one of CHOICES, `from` and `to` are
 * as typed.
 */
function linksMeant(links, { which, from = "", to = "" }) {
  const isBetween = ({ output: { number = 0 } }) =>
    number >= parseAmount(from) && number <= parseAmount(to);
  const isMeant = which === "numbers" ? isBetween : ({ state }) => state === which;
  return links.filter((link) => isUsable(link) && isMeant(link));
}

/**
 * Return the links that a person means and that are not handed out yet, or all of them
 * if they are all handed out.
 */
export function chosenLinks(links, choice, countMax) {
  const { which, from, to } = choice;
  const meant = linksMeant(links, choice);
  const left = meant.filter(({ state }) => state === "here");
  const chosen = left.length ? left : meant;
  if (!chosen.length) {
    const why =
      which === "numbers"
        ? gettext("There are no such links between {from} and {to}.", { from, to })
        : gettext("There are no such links.");
    throw new WalletError("no_links", why);
  }
  if (chosen.length > countMax)
    throw new WalletError(
      "too_many",
      gettext("Choose at most {most} links at a time, by number.", { most: countMax }),
    );
  return chosen;
}

/**
 * Return the name of a file of links without its extension, for example "Concert Fri 4
 * Dec 101-120".
 */
export function fileName(item, outputs = []) {
  const about = aboutOf(item);
  const numbers = outputs.flatMap(({ number }) => number ?? []);
  numbers.sort((one, other) => one - other);
  const ends = new Set([numbers[0], numbers.at(-1)]);
  const range = numbers.length ? [...ends].join("-") : "";
  const name = shortName(nameOf(item).replace(NOT_IN_NAMES, " "));
  return joinTexts([name, about.date && dayText(about), range], " ");
}

/** Actions on many links, by the names of their buttons in templates. */
const ACTIONS = {
  print: {
    said: gettext("The pages are ready."),
    countMax: PRINTED_MAX,
    act: print,
    canCancel: true,
    hasNotes: true,
  },
  csv: { said: gettext("The file is saved."), act: writeCsv },
  copy: { said: gettext("All are copied."), act: copy },
  "take-back": {
    said: gettext("They are back in My deeds."),
    act: takeBack,
    hint: TAKEN_BACK,
    isFor: ({ state }) => state === "waiting",
  },
};

/** Set up the buttons for many links. They act on what `shown` has at the time. */
export function setUpLinkButtons(place, /** @type {Shown} */ shown) {
  for (const button of place.querySelectorAll("[data-links]"))
    button.onclick = () => askWhich(shown, ACTIONS[button.dataset.links], button);
}

/** Print tickets. If the codes cannot be loaded, no link is handed out. */
async function print(outputs, /** @type {Shown} */ shown, onWait) {
  const count = outputs.length;
  const onProgress = (ready) => {
    const text = gettext("{ready} of {count} QR codes are ready.", { ready, count });
    if (onWait(text)) return;
    throw new WalletError("cancelled", gettext("Nothing was printed."));
  };
  const codes = await codesOf(outputs, shown, { onProgress }).catch((error) => {
    throw new WalletError("no_codes", waitText(error, gettext("Nothing was printed.")));
  });
  const given = await give(outputs, shown);
  await printLinks(given, { ...shown, image: imageOf(shown.item), codes });
}

async function writeCsv(outputs, /** @type {Shown} */ shown) {
  const given = await give(outputs, shown);
  const text = csvOf(given, (output) => linkOf(output, shown.unit));
  download(text, "text/csv", `${fileName(shown.item, outputs)}.csv`);
}

async function copy(outputs, /** @type {Shown} */ shown) {
  const given = await give(outputs, shown);
  if (await copyText(given.map((output) => linkOf(output, shown.unit)).join("\n")))
    return;
  throw new WalletError("no_copy", NO_COPY);
}

/** Take links back, as many per request as the service takes. */
export async function takeBack(
  outputs,
  /** @type {Pick<Shown, "wallet" | "run">} */ { wallet, run },
  onWait,
) {
  let isAnyBack = false;
  let refusal = null;
  const size = arrayMax();
  for (let start = 0; start < outputs.length; start += size) {
    const values = { ready: start, count: outputs.length };
    if (!onWait(gettext("{ready} of {count} links are back.", values)))
      throw new WalletError("cancelled", gettext("The others stay handed out."));
    const keys = keysOf(outputs.slice(start, start + size));
    const take = () => run(() => wallet.takeBack(...keys), onWait);
    // Links that were claimed meanwhile are known after the first try, and left out of
    // the second. If all of a batch were, go on with the next batch.
    try {
      await take().catch(take);
      isAnyBack = true;
    } catch (error) {
      if (error.code !== "not_given") throw error;
      refusal = error;
    }
  }
  if (refusal && !isAnyBack) throw refusal;
}

/** Record that these links are handed out. Return those that now are. */
const give = (outputs, { wallet }) => wallet.give(keysOf(outputs));

function askWhich(shown, action, opener) {
  const {
    said,
    countMax = Infinity,
    act,
    canCancel,
    hint = GIVEN,
    isFor = isUsable,
    hasNotes,
  } = action;
  const linksNow = () => shown.links.filter(isFor);
  if (!linksNow().length) return say(gettext("There are no such links."));
  const choice = choiceFields(linksNow(), countMax);
  const isNoted = make("input", { type: "checkbox" });
  const noted = hasNotes && linksNow().some(({ output }) => output.note);
  const notes = make("label", { class: "check" }, isNoted, gettext("With the notes"));
  ask({
    title: opener.textContent,
    content: [...choice.content, ...(noted ? [notes] : []), makeHint(hint)],
    opener,
    canCancel,
    act: async (onWait) => {
      const links = linksNow();
      const which = choice.read();
      const chosen = chosenLinks(links, which, countMax);
      const count = linksMeant(links, which).length - chosen.length;
      await act(
        chosen.map(({ output }) => output),
        { ...shown, isNoted: isNoted.checked },
        onWait,
      );
      const others = gettext("Left out, because handed out before: {count}.", {
        count,
      });
      return count ? `${said} ${others}` : said;
    },
  });
}

/**
 * Return the fields of a choice. The fields for numbers are shown only if links are
 * chosen by number.
 */
function choiceFields(links, countMax) {
  const numbersOf = (some) => some.flatMap(({ output }) => output.number ?? []);
  const numbers = numbersOf(links);
  const countOf = (which) =>
    which === "numbers" ? numbers.length : countIn(links, which);
  const texts = Object.entries(CHOICES)
    .filter(([value]) => countOf(value))
    .map(([value, text]) => [value, text(countOf(value))]);
  const { element, select: which } = selectField(
    gettext("Which links?"),
    Object.fromEntries(texts),
  );
  const number = (label, value = "") =>
    makeField(label, { inputmode: "numeric", value: String(value) });
  // Suggest links that are not handed out, if there are any.
  const left = links.filter(({ state }) => state === "here");
  const offered = numbersOf(left).length ? numbersOf(left) : numbers;
  const [from, to] = [
    number(gettext("From"), offered[0]),
    number(gettext("To"), offered.slice(0, countMax).at(-1)),
  ];
  const range = make(
    "div",
    {},
    make("div", { class: "row-line" }, from.element, to.element),
    makeHint(gettext("If some of these are left, those handed out are skipped.")),
  );
  const showRange = () => (range.hidden = which.value !== "numbers");
  which.onchange = showRange;
  showRange();
  return {
    content: [element, range],
    read: () => ({ which: which.value, from: from.field.value, to: to.field.value }),
  };
}

async function printLinks(links, printed) {
  removeSheets();
  const tickets = links.map((link) => makeTicket(link, printed));
  const sheets = make("div", { class: "sheets", "aria-hidden": "true" });
  while (tickets.length) {
    const onSheet = tickets.splice(0, TICKETS_ON_A_SHEET);
    sheets.append(make("div", { class: "sheet-of-tickets" }, ...onSheet));
  }
  document.body.append(sheets);
  const on = (event, act) => window.addEventListener(event, act, { once: true });
  on("hashchange", removeSheets);
  await picturesOf(sheets);
  // Phones draw the preview after this event, so the sheets stay until the page is
  // touched again.
  on("afterprint", () =>
    ["pointerdown", "keydown"].forEach((event) => on(event, removeSheets)),
  );
  window.print();
}

/** Remove the printed sheets, so that the page itself is printed next time. */
const removeSheets = () => document.querySelector(".sheets")?.remove();

function makeTicket(link, { item, image, unit, codes, isNoted }) {
  const about = aboutOf(item);
  const line = (kind, ...content) =>
    make("p", { class: `ticket-${kind}`, dir: "auto" }, ...content);
  const texts = [
    image ? pictureOf(image, "ticket-picture") : patternOf(link.itemId),
    line("name", nameOf(item)),
    line("when", whenText(about)),
    line("place", about.place),
    make(
      "p",
      { class: "ticket-units" },
      make("b", {}, heldText(link, unit)),
      " ",
      issueText(link),
    ),
    line("note", (isNoted && link.note) || ""),
    line("about", about.text),
    line("until", untilText(about, Date.now(), true)),
  ];
  const hint = about.date
    ? gettext("Show it at the door, or scan it to keep it. Don't post a photo of it.")
    : gettext("Scan to keep it on your phone. Don't post a photo of it.");
  return make(
    "div",
    { class: "ticket" },
    make("div", { class: "ticket-text" }, ...texts),
    make(
      "div",
      { class: "ticket-code" },
      codeImage(codes.get(link.key)),
      line("mark", makeMark(link.itemId)),
      line("hint", hint),
    ),
  );
}

/** Return the pattern that replaces a picture. */
const patternOf = (itemId) => {
  const [pattern] = makeMark(itemId).querySelectorAll("svg");
  pattern.setAttribute("class", "ticket-picture ticket-pattern");
  return pattern;
};

/** Wait until all pictures are loaded, have failed, or take too long. */
function picturesOf(sheets) {
  const all = [...sheets.querySelectorAll("img")].map((image) => image.decode());
  return Promise.race([Promise.allSettled(all), pause(PICTURE_MS_MAX)]);
}
