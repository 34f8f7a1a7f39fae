// Draws the My deeds page again whenever the store has changed, in this tab or another.

import { textFor } from "../../texts/problems.js";
import { metadataOf } from "../../ui/card.js";
import { byId } from "../../ui/dom.js";
import { drawList } from "../../ui/keyed_list.js";
import { showMissing } from "../../ui/notices.js";
import { shownOf } from "../../wallet/holdings.js";
import { verbRunner } from "../open_wallet.js";
import { drawBegun, drawHistory } from "./history_view.js";
import { holdingView } from "./holding_view.js";

/**
 * Return what draws the page.
 * @param {import("../open_wallet.js").Opened} opened
 * @param {Map<string, Error>} problems why operations have not ended, by their keys
 */
export function drawer(opened, problems) {
  const { wallet, store, api } = opened;
  const asked = new Set();
  const tools = { wallet, api, nameOf, run: verbRunner(opened) };
  /** @type {ReturnType<typeof shownOf>} */
  let shown = { holdings: [], begun: [], history: [], items: new Map() };

  /** Return what a deed is called. */
  function nameOf(itemId) {
    const item = shown.items.get(itemId);
    return item ? (metadataOf(item).name ?? "A deed without a name") : "A deed";
  }

  async function drawNow() {
    const wanted = /** @type {const} */ ({ outputs: "all", operations: "all", items: "all" });
    shown = await store.read(wanted, shownOf);
    const { holdings, begun, history } = shown;
    drawList(byId("holdings"), holdings, {
      keyOf: ({ itemId }) => itemId,
      make: (holding) => holdingView(holding, tools),
    });
    byId("no-holdings").hidden = holdings.length > 0;
    byId("check-states").hidden = !holdings.length;
    drawBegun(begun, problems, nameOf);
    drawHistory(history, nameOf);
  }

  // One look after the other, and no more than one is waiting.
  let last = Promise.resolve();
  let isWanted = false;

  /** Draw, and return the holdings. */
  async function draw() {
    if (!isWanted) {
      isWanted = true;
      last = last.then(() => {
        isWanted = false;
        return drawNow().catch((error) => showMissing([textFor(error)]));
      });
    }
    await last;
    return shown.holdings;
  }

  /** Ask for what is not known yet of the deeds that are shown, once while there is an answer. */
  async function fetchItems() {
    const wanted = shown.holdings.filter(({ item, itemId }) => !item && !asked.has(itemId));
    for (const { itemId } of wanted) {
      asked.add(itemId);
      await wallet.item(itemId).catch(() => {});
    }
  }

  store.onChange(() => draw().then(fetchItems));
  window.addEventListener("online", () => {
    asked.clear();
    fetchItems();
  });
  return { draw, fetchItems, nameOf };
}
