// Draws records into a list and leaves what is there already: what a person has typed, opened or
// focused stays when something else changes.

import { textFor } from "../texts.js";
import { headingOf } from "./dom.js";
import { showMissing } from "./talk.js";

const SHOWN_AT_ONCE = 100;

/**
 * Return what draws records in their order, a hundred at a time.
 * @template Record
 * @param {Element} list holds nothing else
 * @param {HTMLElement | null} more the button that shows a hundred more; without it all are shown
 * @param {{
 *   keyOf: (record: Record) => string,
 *   make: (record: Record) => {element: Element, update?: (record: Record) => void},
 * }} options
 * @returns {(records: Record[]) => void}
 */
export function listInPieces(list, more, { keyOf, make }) {
  let shownCount = more ? SHOWN_AT_ONCE : Infinity;
  let views = new Map();
  /** @type {Record[]} */
  let all = [];

  function draw(records) {
    const before = views;
    const viewOf = (record) => before.get(keyOf(record)) ?? make(record);
    all = records;
    const shown = all.slice(0, shownCount);
    views = new Map(shown.map((record) => [keyOf(record), viewOf(record)]));
    for (const record of shown) views.get(keyOf(record)).update?.(record);
    for (const [key, { element }] of before) if (!views.has(key)) remove(element);
    [...views.values()].forEach(({ element }, place) => {
      if (list.children[place] !== element) list.insertBefore(element, list.children[place] ?? null);
    });
    if (more) more.hidden = all.length <= shownCount;
  }

  function remove(element) {
    if (element.contains(document.activeElement)) headingOf(list).focus();
    element.remove();
  }

  more?.addEventListener("click", () => {
    const first = shownCount;
    shownCount += SHOWN_AT_ONCE;
    draw(all);
    const row = list.children[first];
    const target = row?.querySelector("a, button") ?? row;
    if (target instanceof HTMLElement) target.focus();
  });
  return draw;
}

/** Return what does it again at each call, one after the other, and no more than one waits. */
export function oneByOne(draw) {
  let [last, isWanted] = [Promise.resolve(), false];
  const drawNext = () => {
    isWanted = false;
    return draw().catch((error) => showMissing([textFor(error)]));
  };
  return () => {
    if (!isWanted) last = last.then(drawNext);
    isWanted = true;
    return last;
  };
}
