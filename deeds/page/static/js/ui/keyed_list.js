// Draws records into a list and leaves what is there already: what a person has typed, opened or
// focused stays when something else changes.

import { textFor } from "../texts/problems.js";
import { headingOf } from "./dom.js";
import { showMissing } from "./notices.js";

/** @type {WeakMap<Element, Map<string, {element: Element, update?: (record: any) => void}>>} */
const drawn = new WeakMap();

/**
 * Draw the records, in their order.
 * @template Record
 * @param {Element} list holds nothing else
 * @param {Record[]} records
 * @param {object} options
 * @param {(record: Record) => string} options.keyOf
 * @param {(record: Record) => {element: Element, update?: (record: Record) => void}} options.make
 */
export function drawList(list, records, { keyOf, make }) {
  const before = drawn.get(list) ?? new Map();
  const after = new Map();
  for (const record of records) {
    const key = keyOf(record);
    const view = before.get(key) ?? make(record);
    view.update?.(record);
    after.set(key, view);
  }
  for (const [key, { element }] of before) {
    if (after.has(key)) continue;
    if (element.contains(document.activeElement)) headingOf(list).focus();
    element.remove();
  }
  [...after.values()].forEach(({ element }, place) => {
    if (list.children[place] !== element) list.insertBefore(element, list.children[place] ?? null);
  });
  drawn.set(list, after);
}

const SHOWN_AT_ONCE = 100;

/**
 * Return what draws records a hundred at a time.
 * @template Record
 * @param {Element} list holds nothing else
 * @param {HTMLElement} more the button that shows a hundred more
 * @param {Parameters<typeof drawList<Record>>[2]} options
 * @returns {(records: Record[]) => void}
 */
export function listInPieces(list, more, options) {
  let shownCount = SHOWN_AT_ONCE;
  /** @type {Record[]} */
  let all = [];
  const draw = (records) => {
    all = records;
    more.hidden = all.length <= shownCount;
    drawList(list, all.slice(0, shownCount), options);
  };
  more.addEventListener("click", () => {
    const first = shownCount;
    shownCount += SHOWN_AT_ONCE;
    draw(all);
    const row = list.children[first];
    const target = row?.querySelector("a, button") ?? row;
    if (target instanceof HTMLElement) target.focus();
  });
  return draw;
}

/** Return a function that runs one drawing after the other, and no more than one waits. */
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
