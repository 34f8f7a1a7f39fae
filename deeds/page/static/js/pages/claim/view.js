// Draws the Claim page: the rows of what was sent, what can be done with them, and what became of
// them.

import { unitsText } from "../../format/amounts.js";
import { byId } from "../../ui/dom.js";
import { keyOf } from "../../wallet/records.js";
import { makeFoundRow } from "./found_row.js";

/**
 * @typedef {{
 *   output: import("../../format/raw_output.js").RawOutput,
 *   item: import("../../wallet/records.js").Item | null | undefined,
 *   state: import("./state.js").ClaimState,
 * }} FoundRow
 */

/** Return what draws the page. */
export function claimView() {
  const section = byId("found");
  const list = byId("found-list");
  const button = byId("claim-button", HTMLButtonElement);
  const problem = byId("claim-error");
  const entry = byId("entry");
  const known = new Map();
  let isAdding = false;
  let isBusy = false;

  function rowOf(output) {
    const key = keyOf(output);
    if (!known.has(key)) known.set(key, makeFoundRow(output));
    return known.get(key);
  }

  /** Put the rows in; one that is there already is not taken out and put in again. */
  function place(rows) {
    const elements = rows.map(({ output }) => rowOf(output).element);
    for (const each of [...list.children]) if (!elements.includes(each)) each.remove();
    elements.forEach((element, at) => {
      if (list.children[at] !== element) list.insertBefore(element, list.children[at] ?? null);
    });
    list.classList.toggle("single", rows.length === 1);
  }

  return {
    /**
     * @param {FoundRow[]} rows
     * @param {boolean} canClaim whether this browser can take custody
     */
    draw(rows, canClaim) {
      section.hidden = !rows.length;
      entry.hidden = rows.length > 0 && !isAdding;
      place(rows);
      for (const { output, item, state } of rows) rowOf(output).draw(item, state);
      const free = rows.filter(({ state }) => state.canTake);
      const taken = rows.filter(({ state }) => state.kind === "taken");
      byId("offer").hidden = !canClaim || !free.length;
      button.textContent = buttonText(free.length);
      // All at once at the end, so that the button does not move while it is busy.
      byId("claimed").hidden = isBusy || !taken.length;
      byId("claimed-text").textContent = taken.length ? takenText(taken, rows.length) : "";
      byId("put-away").hidden = rows.every(({ state }) => state.kind === "busy");
    },

    /** @param {boolean} busy whether custody is being taken */
    setBusy(busy) {
      isBusy = busy;
      button.disabled = busy;
    },

    /** Rows of which nothing is known are shown once that is over, so that they do not jump. */
    setLooking(isLooking) {
      section.toggleAttribute("data-looking", isLooking);
      byId("looking").hidden = !isLooking;
    },

    /** Show the form beside what is shown already, or no longer. */
    setAdding(adding) {
      isAdding = adding;
      entry.hidden = !section.hidden && !adding;
    },

    /** Say what went wrong, or hide that for an empty text. */
    tell(text) {
      problem.textContent = text;
      problem.hidden = !text;
    },

    focusFound: () => byId("found-title").focus(),

    /** Move to what became of it, if the person is where it was begun. */
    focusOutcome() {
      const { activeElement } = document;
      if (activeElement !== document.body && !section.contains(activeElement)) return;
      const title = byId("claimed").hidden ? problem : byId("claimed-title");
      if (!title.hidden) title.focus();
    },
  };
}

function buttonText(count) {
  return count > 1 ? `Take custody of all ${count}` : "Take custody";
}

function takenText(taken, count) {
  return count > 1
    ? `${taken.length} of ${count} taken.`
    : `${unitsText(taken[0].output.amount)} taken.`;
}
