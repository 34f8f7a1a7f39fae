// The links of one deed: which are here, handed out and claimed, a note for each, and
// what can be done with one or with many of them.

import { unitsText } from "../../format/amounts.js";
import { formatAmount } from "../../format/gettext.js";
import { quoted } from "../../texts.js";
import { nameOf } from "../../ui/card.js";
import { copyTemplate, find, listInPieces, make } from "../../ui/dom.js";
import { handOverByCopy, openLinkDialog } from "../../ui/link_view.js";
import { ask, sayError } from "../../ui/forms.js";
import { countIn, isUsable, manyLinksButtons, numberText } from "./link_export.js";

/** In the order in which a person chooses among them. */
const STATES = [
  "here",
  "waiting",
  "claimed",
  "moved",
  "used",
  "collected",
  "taken back",
];
const TEXTS = { "": "all", here: "not handed out", moved: "moved or claimed" };
const textOf = (state) => TEXTS[state] ?? state;

/**
 * @typedef {import("../open_wallet.js").Opened} Opened
 * @typedef {Opened & {
 *   item: import("../../wallet/records.js").Item | null, unit?: string,
 *   links: import("../../wallet/holdings.js").Link[],
 * }} Shown
 */

/**
 * Return what draws the links of a deed after each change, and hides the place while
 * there are none.
 * @returns {(holding: import("../../wallet/holdings.js").Holding) => void}
 */
export function linksView(place, /** @type {Opened} */ tools) {
  /** @type {Shown} */
  const shown = { ...tools, item: null, links: [] };
  const many = find(place, "[data-part=many]");
  many.append(...manyLinksButtons(shown));
  const drawRows = rowsOf(place, shown);
  return ({ item, unit, links, preparing }) => {
    Object.assign(shown, { item, unit, links });
    place.hidden = !links.length && !preparing;
    many.hidden = !links.some(isUsable);
    drawRows();
    drawSeries(find(place, "[data-part=series]"), preparing);
  };
}

export function drawSeries(
  place,
  /** @type {{ready: number, count: number} | null} */ preparing,
) {
  place.hidden = !preparing;
  const { ready, count } = preparing ?? { ready: 0, count: 1 };
  Object.assign(find(place, "progress"), { max: count, value: ready });
  find(place, "p").textContent =
    `${formatAmount(ready)} of ${formatAmount(count)} links are ready. You can leave this page.`;
}

function rowsOf(place, shown) {
  const filter = find(place, "select", HTMLSelectElement);
  const drawRows = listInPieces(
    find(place, "ul"),
    find(place, "[data-part=more-links]"),
    {
      keyOf: ({ output }) => output.key,
      make: (link) => rowOf(link, shown),
    },
  );
  const draw = () => {
    drawFilter(filter, shown.links);
    drawRows(
      shown.links.filter(({ state }) => !filter.value || state === filter.value),
    );
  };
  filter.addEventListener("change", draw);
  return draw;
}

/** Offer all links, and those in each state that some are in. */
function drawFilter(filter, links) {
  const states = STATES.filter((state) => countIn(links, state));
  const chosen = states.includes(filter.value) ? filter.value : "";
  const options = ["", ...states].map((value) => {
    const count = formatAmount(value ? countIn(links, value) : links.length);
    return make(
      "option",
      { value, selected: value === chosen },
      `${textOf(value)} (${count})`,
    );
  });
  // A person may be choosing just now.
  if (options.map(({ text }) => text).join("") === filter.textContent) return;
  filter.replaceChildren(...options);
}

function rowOf({ output: first }, shown) {
  let output = first;
  const element = copyTemplate("link-template");
  const actions = find(element, ".actions");
  const part = (name) => find(element, `[data-part=${name}]`);
  const title = titleOf(first, shown);
  part("title").textContent = title;
  for (const place of element.querySelectorAll("[data-about]")) {
    place.textContent = ` ${title} of ${quoted(nameOf(shown.item))}`;
  }
  const note = find(element, "input", HTMLInputElement);
  note.ariaLabel = `Note for link ${numberText(first)}`.trim();
  note.addEventListener("change", () =>
    shown.wallet.setNote(first.key, note.value).catch(sayError),
  );
  const acts = {
    show: openLinkDialog,
    copy: handOverByCopy,
    "take-back": askToTakeBack,
  };
  for (const [name, act] of Object.entries(acts)) {
    part(name).addEventListener("click", () =>
      act(output, { ...shown, opener: part(name) }),
    );
  }
  const update = (link) => {
    output = link.output;
    // Before any of them is hidden, which takes the focus away.
    if (!isUsable(link) && actions.contains(document.activeElement)) element.focus();
    part("state").className = link.state === "waiting" ? "tag wait" : "tag";
    part("state").textContent = textOf(link.state);
    part("when").textContent = new Date(link.at).toLocaleDateString();
    if (note !== document.activeElement) note.value = output.note ?? "";
    part("take-back").hidden = link.state !== "waiting";
    actions.hidden = !isUsable(link);
  };
  return { element, update };
}

/** Return for example "17/200 · 1 ticket". */
const titleOf = (output, { unit }) =>
  [numberText(output), unitsText(output.amount, unit)].filter(Boolean).join(" · ");

function askToTakeBack({ key, amount }, { wallet, run, unit, opener }) {
  const units = unitsText(amount, unit);
  ask({
    title: `Take ${units} back?`,
    content: [make("p", {}, "The link stops working.")],
    yes: "Take back",
    opener,
    said: `${units} back in your deeds.`,
    act: (onWait) => run(() => wallet.takeBack(key), onWait),
  });
}
