// The door and the till are pages for one deed, which the fragment of their address
// names. Without one, the person chooses among the deeds that this browser knows.

import { aboutOf, nameOf, whenAndWhereText } from "../format/about.js";
import { gettext } from "../format/gettext.js";
import { waitText } from "../texts.js";
import { makeMark, thumbnailOf } from "../ui/card.js";
import { byId, make, makeHint } from "../ui/dom.js";
import { showMissing } from "../ui/forms.js";

const itemIdInAddress = () =>
  /^#(deed_[0-9a-hjkmnp-tv-z]{26})(?:\?|$)/.exec(location.hash)?.[1];

/**
 * Begin with the deed that the address names, or offer those that `choices` returns.
 * @param {import("./open_wallet.js").Opened | null} opened
 * @param {{
 *   begin: (item: import("../wallet/records.js").Item, tools: any) => Promise<void>,
 *   choices: (store: any) => Promise<any[]>,
 * }} page
 */
export async function openOneDeed(opened, { begin, choices }) {
  const itemId = itemIdInAddress();
  if (opened && !itemId) offer(await choices(opened.store));
  const item = opened && itemId && (await itemOf(itemId, opened));
  if (item) await begin(item, opened);
  byId("main").dataset.ready = "";
  window.addEventListener("hashchange", () => itemIdInAddress() && location.reload());
}

const itemOf = (itemId, { wallet }) =>
  wallet.item(itemId).catch((error) => {
    showMissing(waitText(error, gettext("Reload this page to try again.")));
    window.addEventListener("online", () => location.reload());
  });

function offer(items) {
  byId("choose").hidden = false;
  for (const item of items) {
    const link = make("a", { href: `#${item.id}`, dir: "auto" }, nameOf(item));
    const row = make("li", {}, thumbnailOf(item), link, " ", makeMark(item.id));
    const when = whenAndWhereText(aboutOf(item));
    if (when) row.append(makeHint(when));
    byId("choose-list").append(row);
  }
}
