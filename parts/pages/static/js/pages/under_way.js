// What is under way in the wallet: operations without an answer, and series of links.

import { gettext } from "../format/gettext.js";
import { operationText, refusalText, waitText } from "../texts.js";
import { byId, find, make } from "../ui/dom.js";
import { say, sayError } from "../ui/forms.js";
import { oneByOne, untilEnded } from "./open_wallet.js";

/**
 * Return a function that continues making the links of a series, also one that an
 * earlier visit or another tab began. Call it after each change of the store: each
 * batch is one.
 * @param {Pick<import("./open_wallet.js").Opened, "wallet" | "store" | "wake">} opened
 * @param {() => string | undefined} wanted returns a deed of which links are still to
 *   be made
 */
export function seriesMaker(opened, wanted) {
  let isRefused = false;

  async function makeBatch() {
    const itemId = isRefused ? "" : wanted();
    const outcome = itemId && (await opened.wallet.prepareNext(itemId));
    if (!outcome) return;
    // The page sends a batch without an answer again, and makes no other before it.
    const operation = await untilEnded(opened, outcome);
    isRefused = operation.state === "refused";
    if (isRefused) say(refusalText(operation));
  }

  return oneByOne(() => makeBatch().catch(sayError));
}

export function drawBegun(begun, problems = new Map(), itemOf = () => undefined) {
  const rows = begun.map((operation) => {
    const problem = problems.get(operation.key);
    const next = operation.atDoor
      ? gettext("The door page asks what to do with it.")
      : "";
    const why = problem ? waitText(problem, "") : next;
    return make("li", {}, `${operationText(operation, itemOf)}. ${why}`);
  });
  byId("begun-list").replaceChildren(...rows);
}

export function drawSeries(
  place,
  /** @type {{ready: number, count: number} | null} */ preparing,
) {
  place.hidden = !preparing;
  const { ready, count } = preparing ?? { ready: 0, count: 1 };
  Object.assign(find(place, "progress"), { max: count, value: ready });
  find(place, "p").textContent = gettext(
    "{ready} of {count} links are ready. You can leave this page.",
    { ready, count },
  );
}
