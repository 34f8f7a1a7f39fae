// The result of a mint: one link to hand over, or many to print, export or copy. Links
// for which the mint had no room are split off here while the page is open.

import { gettext, joinTexts, ngettext } from "../../format/gettext.js";
import { aboutOf, nameOf, whenText } from "../../format/about.js";
import { quoted } from "../../texts.js";
import { makeCard, markText } from "../../ui/card.js";
import { byId, copyTemplate, find } from "../../ui/dom.js";
import { sayCopied } from "../../ui/forms.js";
import { makeLinkView } from "../../ui/link_view.js";
import { readHolding } from "../../wallet/holdings.js";
import { setUpLinkButtons } from "../link_export.js";
import { drawSeries, seriesMaker } from "../under_way.js";

/**
 * Show the result of a mint. `count` is how many links there will be.
 * @param {import("../open_wallet.js").Opened} opened
 */
export async function showResult(opened, { itemId = "" }, count) {
  const item = await opened.wallet.item(itemId);
  const { unit } = item;
  byId("public-page", HTMLAnchorElement).href = `/item/${itemId}`;
  byId("done-title").textContent =
    count === 1
      ? gettext("Your link is ready")
      : ngettext("Your {count} link", "Your {count} links", count);
  const { parts, links } = await readHolding(opened.store, itemId);
  const shown =
    count === 1
      ? [makeLinkView(parts[0] ?? links[0].output, { ...opened, item, unit })]
      : manyLinks(opened, item, count);
  byId("result").replaceChildren(...shown, publishing(item));
}

/** Return words that tell buyers the mark, to be published where the deed is sold. */
function publishing(item) {
  const address = `${location.origin}/item/${item.id}`;
  // Each night has its own mark.
  const when = whenText(aboutOf(item));
  const name = joinTexts([quoted(nameOf(item)), when && `(${when})`], " ");
  const values = { name, mark: markText(item.id), address };
  const words = gettext("The genuine {name} has the mark {mark}: {address}", values);
  const section = copyTemplate("publishing-template");
  find(section, ".words").textContent = words;
  find(section, "button").onclick = () => sayCopied(words);
  return section;
}

/** Show that the links are being made, and then ways to keep them. */
function manyLinks(opened, item, count) {
  const shown = { ...opened, item, unit: item.unit, links: [] };
  const bar = copyTemplate("many-links-template");
  const series = find(bar, "[data-part=series]");
  const ready = find(bar, "[data-ready]");
  find(bar, "a").setAttribute("href", `/wallet#${item.id}`);
  const copies = copyTemplate("copies-template");
  setUpLinkButtons(copies, shown);
  const goOn = seriesMaker(opened, () => item.id);
  const stop = opened.store.onChange(draw);

  async function draw() {
    const { links, parts, preparing } = await readHolding(opened.store, item.id);
    // Links of different amounts have no numbers.
    const others = parts.filter(({ number }) => !number);
    shown.links = [...links, ...others.map((output) => ({ output, state: "here" }))];
    drawSeries(series, preparing);
    copies.hidden = Boolean(preparing);
    ready.textContent = preparing
      ? ""
      : ngettext(
          "{count} link is ready in My deeds.",
          "{count} links are ready in My deeds.",
          count,
        );
    if (preparing) goOn();
    else if (!series.isConnected) stop();
  }

  draw();
  return [makeCard(item, { itemId: item.id }), bar, copies];
}
