// What a mint gave: one link to hand over, or many, to be printed, written to a file or
// copied. Those that the mint itself had no room for are split off here, for as long as
// the page is open.

import { countText } from "../../texts.js";
import { makeCard } from "../../ui/card.js";
import { byId, copyTemplate, make } from "../../ui/dom.js";
import { makeLinkView } from "../../ui/link_view.js";
import { holdingOf, holdingWanted } from "../../wallet/holdings.js";
import { manyLinksButtons } from "../wallet/link_export.js";
import { drawSeries } from "../wallet/links_view.js";
import { seriesMaker } from "../wallet/live.js";

/**
 * Show what a mint gave; `count` is how many links there are to be.
 * @param {import("../open_wallet.js").Opened} opened
 */
export async function showResult(opened, { itemId = "" }, { unit, count }) {
  const made = { unit, count, item: await opened.wallet.item(itemId) };
  byId("public-page", HTMLAnchorElement).href = `/item/${itemId}`;
  byId("done-title").textContent =
    count === 1 ? "Your link is ready" : `Your ${countText(count, "link")}`;
  const { parts, links } = await readHolding(opened, itemId);
  const one = () => [makeLinkView(parts[0] ?? links[0].output, { ...opened, ...made })];
  byId("result").replaceChildren(...(count === 1 ? one() : manyLinks(opened, made)));
}

const readHolding = ({ store }, itemId) =>
  store.read(holdingWanted(itemId), (slices) => holdingOf(slices, itemId));

/** Show that the links are made, and then how to keep them. */
function manyLinks(opened, { item, unit, count }) {
  const shown = { ...opened, item, unit, links: [] };
  const series = copyTemplate("series-template");
  const goOn = seriesMaker(opened, () => item.id);
  const ready = make("p", { role: "status" });
  const copies = make(
    "section",
    { class: "stack", hidden: true },
    make(
      "p",
      {},
      "These links are like cash. If you lose them, we can't restore them.",
    ),
    make("p", { class: "actions" }, ...manyLinksButtons(shown)),
  );
  const stop = opened.store.onChange(draw);

  async function draw() {
    const { links, parts, preparing } = await readHolding(opened, item.id);
    // Links of different amounts have no numbers.
    const others = parts.filter(({ number }) => !number);
    shown.links = [...links, ...others.map((output) => ({ output, state: "here" }))];
    drawSeries(series, preparing);
    copies.hidden = Boolean(preparing);
    ready.textContent = preparing
      ? ""
      : `${countText(count, "link")} are ready in My deeds.`;
    if (preparing) goOn();
    else if (!series.isConnected) stop();
  }

  draw();
  const card = makeCard(item, { itemId: item.id, unit });
  const open = make(
    "a",
    { class: "button wide", href: `/wallet#${item.id}` },
    "Open the links",
  );
  return [card, make("div", { class: "action-bar" }, series, ready, open), copies];
}
