// The links of one deed: which are here, handed out and claimed, a note for each, and what can be
// done with one or with many of them. It makes the rest of a series while its page is open.

import { formatAmount, unitsText } from "../../format/amounts.js";
import { quoted } from "../../texts/operations.js";
import { textFor } from "../../texts/problems.js";
import { ask } from "../../ui/dialog.js";
import { find, freshId, make, makeButton } from "../../ui/dom.js";
import { listInPieces } from "../../ui/keyed_list.js";
import { handOverByCopy, openLinkDialog } from "../../ui/link_view.js";
import { say } from "../../ui/notices.js";
import { isUsable, manyLinksActions } from "./link_export.js";
import { numberText, removeSheets } from "./print_sheet.js";

const NOTE_LENGTH_MAX = 80;
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
 *   item: import("../../wallet/records.js").Item | null, unit?: string, name: string,
 *   links: Link[],
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
    /** @param {import("../../wallet/holdings.js").Holding} holding */
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

/** The rows: those in the chosen state, a hundred at a time. */
function rowsOf(shown) {
  const list = make("ul", { class: "rows plain" });
  const filter = make("select", { "aria-label": "Which links to show", onchange: draw });
  const more = makeButton("Show more", () => {});
  const drawRows = listInPieces(list, more, {
    keyOf: ({ output }) => output.key,
    make: (link) => rowOf(link, shown),
  });

  function draw() {
    drawFilter(filter, shown.links);
    drawRows(shown.links.filter(({ state }) => !filter.value || state === filter.value));
  }

  return { list, filter, more, draw };
}

/** Offer all links, and those in each state that some are in. */
function drawFilter(filter, links) {
  const byState = Map.groupBy(links, ({ state }) => state);
  const states = STATES.filter((state) => byState.has(state));
  const chosen = states.includes(filter.value) ? filter.value : "";
  const option = (value, name, { length }) =>
    make("option", { value, selected: value === chosen }, `${name} (${formatAmount(length)})`);
  const all = option("", "all", links);
  const options = [all, ...states.map((state) => option(state, state, byState.get(state) ?? []))];
  // A person may be choosing just now.
  if (options.map(({ text }) => text).join("") === filter.textContent) return;
  filter.replaceChildren(...options);
}

/** Return the row of a link. */
function rowOf({ output: first }, shown) {
  let output = first;
  const [tag, when] = [make("span", { class: "tag" }), make("span", { class: "hint" })];
  const title = make("strong", {}, titleOf(first, shown));
  const actions = rowActions(() => output, shown);
  const note = noteField(first, shown);
  const name = `Note for link ${numberText(first)}`.trim();
  const element = make(
    "li",
    { class: "link-row" },
    make("p", { class: "part-units" }, title, " ", tag, " ", when),
    make("div", {}, make("label", { for: note.id, class: "unseen" }, name), note),
    actions,
  );
  const update = (link) => {
    output = link.output;
    tag.className = link.state === "waiting" ? "tag wait" : "tag";
    tag.textContent = link.state;
    when.textContent = new Date(link.at).toLocaleDateString();
    if (note !== document.activeElement) note.value = output.note ?? "";
    find(actions, ":scope > :last-child").hidden = link.state !== "waiting";
    actions.hidden = !isUsable(link);
  };
  return { element, update };
}

/** Return the buttons of a row; only of a link that waits is the last one shown. */
function rowActions(outputNow, shown) {
  const about = ` ${titleOf(outputNow(), shown)} of ${quoted(shown.name)}`;
  const button = (text, act) => {
    const made = makeButton(text, () => act(outputNow(), { ...shown, opener: made }));
    made.append(make("span", { class: "unseen" }, about));
    return made;
  };
  return make(
    "p",
    { class: "actions" },
    button("Show link", openLinkDialog),
    button("Copy", handOverByCopy),
    button("Take back", askToTakeBack),
  );
}

function noteField({ key }, { wallet }) {
  const keep = () => wallet.setNote(key, note.value).catch((error) => say(textFor(error)));
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

/** Return for example "17/200 · 1 ticket". */
function titleOf(output, { unit }) {
  const units = unitsText(output.amount, unit);
  return output.number ? `${numberText(output)} · ${units}` : units;
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
