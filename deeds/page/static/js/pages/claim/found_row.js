// A row of the Claim page: the card of a deed, how much of it the link holds, and what can be said
// of that.

import { formatAmount, unitsText } from "../../format/amounts.js";
import { fillCard, makeCard, metadataOf } from "../../ui/card.js";
import { make } from "../../ui/dom.js";

/** The word beside the text, and how it looks. */
const TAGS = {
  unasked: ["State", ""],
  asking: ["Asking", ""],
  free: ["Unspent", "good"],
  spent: ["Spent", "bad"],
  unknown: ["Unknown", "bad"],
  busy: ["On its way", ""],
  taken: ["Yours", "good"],
  mine: ["Yours", "good"],
  used: ["Moved on", ""],
};

/**
 * Return a row, and what draws it.
 * @param {import("../../format/raw_output.js").RawOutput} output
 */
export function makeFoundRow(output) {
  const card = makeCard({}, output.amount);
  const tag = make("span", { class: "tag" });
  const text = make("span");
  // A screen reader speaks it whenever it changes.
  const state = make("p", { class: "found-state", role: "status" }, tag, text);
  const element = make("li", { class: "panel found" }, card, state);
  let shown;
  fill(card, output, shown);

  return {
    element,

    /**
     * @param {import("../../wallet/records.js").Item | null | undefined} item see looking.js
     * @param {import("./state.js").ClaimState} claim
     */
    draw(item, claim) {
      if (shown !== item) fill(card, output, item);
      shown = item;
      element.dataset.state = claim.kind;
      element.toggleAttribute("data-pending", item === undefined || claim.kind === "asking");
      const [word, look] = TAGS[claim.kind];
      put(tag, word);
      tag.className = `tag ${look}`.trim();
      put(text, claim.text);
    },
  };
}

function fill(card, { amount }, item) {
  fillCard(card, item ? metadataOf(item) : {}, item ? item.total : amount);
  if (!item) card.querySelector("[data-card=name]").textContent = nameless(item);
  const units = item ? ` of ${formatAmount(item.total)}` : "";
  const place = card.querySelector(".deed-units");
  place.replaceChildren(make("strong", { "data-card": "units" }, unitsText(amount)), units);
}

function nameless(item) {
  return item === null ? "No deed that the service knows" : "A deed";
}

/** What did not change is not spoken again. */
function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
