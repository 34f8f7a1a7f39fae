// The links of one deed: which are here, handed out and claimed, a note for each, and what can be done
// with one or with many of them. It goes on making links while a series is being prepared.

import { formatAmount, unitsText } from "../../format/amounts.js";
import { quoted } from "../../texts/operations.js";
import { textFor } from "../../texts/problems.js";
import { ask } from "../../ui/dialog.js";
import { freshId, make, makeButton } from "../../ui/dom.js";
import { drawList } from "../../ui/keyed_list.js";
import { handOverByCopy, openLinkDialog } from "../../ui/link_view.js";
import { say } from "../../ui/notices.js";
import { isUsable, manyLinksActions } from "./link_export.js";
import { numberText, removeSheets } from "./print_sheet.js";

const SHOWN_AT_ONCE = 100;
const NOTE_LENGTH_MAX = 80;
/** @type {Intl.DateTimeFormatOptions} */
const DATE = { dateStyle: "medium" };
const RETRY_MS_MIN = 1000;
const RETRY_MS_MAX = 60_000;

/** In the order in which a person chooses among them. */
const STATES = ["here", "waiting", "claimed", "collected", "taken back"];

/**
 * @typedef {import("../../wallet/holdings.js").Link} Link
 * @typedef {object} LinksTools
 * @property {import("../open_wallet.js").Opened["wallet"]} wallet
 * @property {import("../open_wallet.js").Opened["api"]} api
 * @property {ReturnType<typeof import("../open_wallet.js").verbRunner>} run
 * @property {(itemId: string) => string} nameOf what a deed is called
 *
 * @typedef {LinksTools & {
 *   item: import("../../wallet/records.js").Item | null, unit?: string, name: string, links: Link[],
 * }} Shown
 */

/**
 * Return what shows the links of a deed.
 *
 * `draw` is called with what holdings.js says of the deed, first of all and after each change, and
 * hides the place while there are no links. `stop` is called when the page of the deed is left.
 * @param {HTMLElement} place
 * @param {string} itemId
 * @param {LinksTools} tools
 * @returns {{draw: (holding: import("../../wallet/holdings.js").Holding) => void, stop: () => void}}
 */
export function linksView(place, itemId, tools) {
  /** @type {Shown} */
  const shown = { ...tools, item: null, name: "", links: [] };
  const many = manyLinksActions(shown);
  const series = preparation(itemId, tools);
  const rows = rowsOf(shown);
  place.replaceChildren(
    make("div", { class: "title-line" }, make("h2", {}, "Links"), rows.filter),
    series.element,
    many,
    rows.list,
    make("p", { class: "actions" }, rows.more),
  );
  return {
    draw({ item, unit, links, preparing }) {
      Object.assign(shown, { item, unit, links, name: tools.nameOf(itemId) });
      place.hidden = !links.length && !preparing;
      many.hidden = !links.some(isUsable);
      rows.draw();
      series.draw(preparing);
    },
    stop() {
      series.stop();
      removeSheets();
    },
  };
}

/** The rows: those in the chosen state, as many as were asked for. */
function rowsOf(shown) {
  const list = make("ul", { class: "rows plain" });
  const filter = make("select", { "aria-label": "Which links to show" });
  const more = makeButton("Show more", () => {
    count += SHOWN_AT_ONCE;
    draw();
  });
  let count = SHOWN_AT_ONCE;

  function draw() {
    drawFilter(filter, shown.links);
    const chosen = shown.links.filter(({ state }) => !filter.value || state === filter.value);
    drawList(list, chosen.slice(0, count), {
      keyOf: ({ output }) => output.key,
      make: (link) => rowOf(link, shown),
    });
    more.hidden = chosen.length <= count;
  }

  filter.addEventListener("change", () => {
    count = SHOWN_AT_ONCE;
    draw();
  });
  return { list, filter, more, draw };
}

/** Offer all links, and those in each state that some are in. */
function drawFilter(filter, links) {
  const byState = Map.groupBy(links, ({ state }) => state);
  const states = STATES.filter((state) => byState.has(state));
  const chosen = states.includes(filter.value) ? filter.value : "";
  const option = (value, name, { length }) =>
    make("option", { value, selected: value === chosen }, `${name} (${formatAmount(length)})`);
  filter.replaceChildren(
    option("", "all", links),
    ...states.map((state) => option(state, state, byState.get(state) ?? [])),
  );
}

/** Return the row of a link. */
function rowOf(first, shown) {
  let { output } = first;
  const title = titleOf(output, shown);
  const [tag, when] = [make("span", { class: "tag" }), make("span", { class: "hint" })];
  const button = (text, act) => {
    const made = makeButton(text, () => act({ ...shown, opener: made }));
    made.append(make("span", { class: "unseen" }, ` ${title} of ${quoted(shown.name)}`));
    return made;
  };
  const takeBack = button("Take back", (tools) => askToTakeBack(output, tools));
  const actions = make(
    "p",
    { class: "actions" },
    button("Show link", (tools) => openLinkDialog(output, tools)),
    button("Copy", (tools) => handOverByCopy(output, tools)),
    takeBack,
  );
  const note = noteField(output, shown);
  const update = (link) => {
    output = link.output;
    tag.className = link.state === "waiting" ? "tag wait" : "tag";
    tag.textContent = link.state;
    when.textContent = dateText(link.at);
    if (note !== document.activeElement) note.value = output.note ?? "";
    takeBack.hidden = link.state !== "waiting";
    actions.hidden = !isUsable(link);
  };
  const name = `Note for link ${numberText(output)}`.trim();
  const element = make(
    "li",
    { class: "link-row" },
    make("p", { class: "part-units" }, make("strong", {}, title), " ", tag, " ", when),
    make("div", {}, make("label", { for: note.id, class: "unseen" }, name), note),
    actions,
  );
  return { element, update };
}

/** Return for example "17/200 · 1 ticket". */
function titleOf(output, { unit }) {
  const units = unitsText(output.amount, unit);
  return output.number ? `${numberText(output)} · ${units}` : units;
}

/** Return a date as the language of the browser writes it, whatever a file that was read says. */
function dateText(milliseconds) {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) ? "" : date.toLocaleDateString(undefined, DATE);
}

function noteField(output, { wallet }) {
  const keep = () => wallet.setNote(output.key, note.value).catch((error) => say(textFor(error)));
  const note = make("input", {
    id: freshId("note"),
    maxlength: String(NOTE_LENGTH_MAX),
    placeholder: "Note",
    autocomplete: "off",
    dir: "auto",
    onchange: keep,
  });
  return note;
}

function askToTakeBack({ key, amount }, { wallet, run, unit, opener }) {
  const units = unitsText(amount, unit);
  ask({
    title: `Take ${units} back?`,
    content: [make("p", {}, "The link stops working.")],
    yes: "Take back",
    opener,
    said: `${units} back in your deeds.`,
    act: async (onWait) => (await run(() => wallet.takeBack(key), onWait)).problem,
  });
}

/** Return the bar of a series that is still being split, and what goes on with that. */
export function preparation(itemId, { wallet, run }) {
  const bar = make("progress", { "aria-label": "Links that are ready" });
  const [text, problem] = [make("p", { role: "status" }), make("p", { role: "status" })];
  const element = make("div", { class: "notice wait", hidden: true }, bar, text, problem);
  const tell = (sentence) => (problem.textContent = sentence);
  let isRunning = false;
  let isStopped = false;

  /** Split one batch after the other, also those that an earlier visit or another tab has begun. */
  async function splitAll() {
    let retryMs = RETRY_MS_MIN;
    while (!isStopped) {
      const step = await splitNext();
      if (step.isOver) return;
      tell(step.problem);
      retryMs = step.problem ? Math.min(2 * retryMs, RETRY_MS_MAX) : RETRY_MS_MIN;
      if (step.problem) await sleep(retryMs);
    }
  }

  async function splitNext() {
    try {
      const outcome = await wallet.prepareNext(itemId);
      if (!outcome) return { problem: "", isOver: true };
      return { ...(await run(async () => outcome, tell)), isOver: false };
    } catch (error) {
      return { problem: textFor(error), isOver: false };
    }
  }

  return {
    element,
    draw(preparing) {
      element.hidden = !preparing;
      if (!preparing) return;
      const { ready, count } = preparing;
      Object.assign(bar, { max: count, value: ready });
      text.textContent =
        `${formatAmount(ready)} of ${formatAmount(count)} links are ready. ` +
        "You can leave this page.";
      if (isRunning) return;
      isRunning = true;
      splitAll().finally(() => (isRunning = false));
    },
    stop: () => (isStopped = true),
  };
}

function sleep(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
