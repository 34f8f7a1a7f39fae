// What a mint gave: one link to hand over, or many, of which My deeds prints and shows each. Those
// that the mint itself had no room for are split off here, for as long as the page is open.

import { formatRawOutput } from "../../format/raw_output.js";
import { countText } from "../../texts/operations.js";
import { textFor } from "../../texts/problems.js";
import { makeCard, metadataOf } from "../../ui/card.js";
import { linkOf } from "../../ui/codes.js";
import { copyText, download } from "../../ui/copying.js";
import { byId, copyTemplate, make, makeButton } from "../../ui/dom.js";
import { makeLinkView } from "../../ui/link_view.js";
import { say } from "../../ui/notices.js";
import { csvOf } from "../wallet/link_export.js";
import { drawSeries } from "../wallet/links_view.js";
import { seriesMaker } from "../wallet/live.js";

/**
 * @typedef {import("../../wallet/records.js").OutputRecord} OutputRecord
 * @typedef {import("../open_wallet.js").Opened} Opened
 */

/**
 * Show what a mint gave.
 * @param {Opened} opened
 * @param {import("../../wallet/records.js").OperationRecord} operation
 * @param {{unit: string, count: number}} about `count` is how many links there are to be
 */
export async function showResult(opened, { itemId = "" }, { unit, count }) {
  const made = { unit, count, item: await opened.wallet.item(itemId) };
  byId("public-page", HTMLAnchorElement).href = `/item/${itemId}`;
  byId("done-title").textContent =
    count === 1 ? "Your link is ready" : `Your ${countText(count, "link")}`;
  const [output] = await outputsOf(opened, itemId);
  const one = () => [makeLinkView(output, { ...opened, ...made })];
  byId("result").replaceChildren(...(count === 1 ? one() : manyLinks(opened, made)));
}

/** @returns {Promise<OutputRecord[]>} */
function outputsOf({ store }, itemId) {
  return store.read({ outputs: { itemId } }, ({ outputs }) => outputs.list({ itemId }));
}

/** Show that the links are made, and then how to keep them. */
function manyLinks(opened, made) {
  const { item, unit, count } = made;
  const series = copyTemplate("series-template");
  const goOn = seriesMaker(opened, () => item.id);
  const ready = make("p", { role: "status" });
  const copies = copiesOf(opened, made);
  const stop = opened.store.onChange(draw);

  async function draw() {
    const left = leftCount(await outputsOf(opened, item.id));
    drawSeries(series, left ? { ready: count - left, count } : null);
    copies.hidden = left > 0;
    ready.textContent = left ? "" : `${countText(count, "link")} are ready in My deeds.`;
    if (left) goOn();
    else stop();
  }

  draw();
  const card = makeCard(metadataOf(item), item.total, { itemId: item.id, unit });
  const open = make("a", { class: "button wide", href: `/wallet#${item.id}` }, "Open the links");
  return [card, make("div", { class: "action-bar" }, series, ready, open), copies];
}

/**
 * Return how many links are still to be split off.
 * @param {OutputRecord[]} outputs
 */
export function leftCount(outputs) {
  const waiting = outputs.filter(({ state }) => state === "held" || state === "leaving");
  return waiting.reduce((sum, { amount, each }) => sum + (each ? amount / each : 0), 0);
}

/** Return the ways of keeping all links. They are handed out before any is given away. */
function copiesOf(opened, { item, unit }) {
  const handOut = (use) => async () => {
    try {
      const keys = (await outputsOf(opened, item.id)).map(({ key }) => key);
      const given = await opened.wallet.giveOut(keys);
      await use(given.sort((one, other) => (one.number ?? 0) - (other.number ?? 0)));
    } catch (error) {
      say(textFor(error));
    }
  };
  const linkTo = (output) => linkOf(output, unit);
  const copy = async (outputs) => {
    const isCopied = await copyText(outputs.map(linkTo).join("\n"));
    say(isCopied ? "All links are copied." : "This browser does not let pages copy. Use CSV.");
  };
  const save = (outputs) => download(csvOf(outputs, linkTo), "text/csv", `${item.id}.csv`);
  const field = make("textarea", { readonly: true, rows: "8", dir: "ltr", "aria-label": "Raw outputs" });
  const fill = handOut((outputs) => (field.value = outputs.map(formatRawOutput).join("\n")));
  const ontoggle = ({ target }) => target.open && fill();
  const buttons = [makeButton("Copy all links", handOut(copy)), makeButton("CSV", handOut(save))];
  return make(
    "section",
    { class: "stack", hidden: true },
    make("p", {}, "These links are like cash. If you lose them, we can't restore them."),
    make("p", { class: "actions" }, ...buttons),
    make("details", { ontoggle }, make("summary", {}, "For developers"), field),
  );
}
