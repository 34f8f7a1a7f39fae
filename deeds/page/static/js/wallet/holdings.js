// What a wallet shows of its records: what is held, what was spent elsewhere, what is under way, and
// the past. Pure.

import { AMOUNT_MAX } from "../format/amounts.js";

/**
 * @typedef {import("./records.js").OutputRecord} OutputRecord
 * @typedef {{
 *   itemId: string, item: import("./records.js").Item | null, sum: number, outputs: OutputRecord[],
 *   given: OutputRecord[], coming: number, unknown: OutputRecord[], taken: OutputRecord[],
 *   lost: OutputRecord[], isOver: boolean,
 * }} Shown `taken` are links that somebody has claimed, `lost` what else was spent elsewhere
 */

/**
 * Return what to show.
 * @param {import("./records.js").Slices} slices
 */
export function shownOf(slices) {
  const history = historyOf(slices);
  const begun = history.filter(({ state }) => state === "begun");
  return { holdings: holdingsShown(slices, begun), begun, history, items: slices.items };
}

/**
 * Return the holdings: where nothing is left comes last, and the rest stays in its place whatever
 * is done with it.
 * @returns {Shown[]}
 */
function holdingsShown(slices, begun) {
  const held = new Map(holdingsOf(slices).map((holding) => [holding.itemId, holding]));
  const gone = goneByItem(slices);
  const seen = firstSeen(slices);
  const moving = new Set(begun.map(({ itemId }) => itemId));
  const itemIds = [...new Set([...held.keys(), ...gone.keys()])];
  const shown = itemIds.map((itemId) => {
    const holding = held.get(itemId) ?? emptyHolding(slices, itemId);
    const isOver = !moving.has(itemId) && isEmpty(holding);
    return { ...holding, ...(gone.get(itemId) ?? { taken: [], lost: [] }), isOver };
  });
  return shown.sort(
    (one, other) =>
      Number(one.isOver) - Number(other.isOver) || seen.get(other.itemId) - seen.get(one.itemId),
  );
}

function isEmpty({ sum, given, coming, unknown }) {
  return !sum && !given.length && !coming && !unknown.length;
}

function goneByItem({ outputs, operations }) {
  const links = linkKeys(operations);
  const byItem = new Map();
  for (const output of outputs.values()) {
    if (output.state !== "spent" || !output.spentElsewhere) continue;
    const gone = byItem.get(output.itemId) ?? { taken: [], lost: [] };
    gone[links.has(output.key) ? "taken" : "lost"].push(output);
    byItem.set(output.itemId, gone);
  }
  for (const { taken, lost } of byItem.values()) {
    for (const each of [taken, lost]) each.sort((one, other) => other.changedAt - one.changedAt);
  }
  return byItem;
}

/** The outputs that were ever made to be given away. */
function linkKeys(operations) {
  const made = Array.from(operations.values(), ({ outputs }) => outputs).flat();
  return new Set(made.filter(({ state }) => state === "given").map(({ key }) => key));
}

function emptyHolding({ items }, itemId) {
  const item = items.get(itemId) ?? null;
  return { itemId, item, sum: 0, outputs: [], given: [], coming: 0, unknown: [] };
}

function firstSeen({ outputs }) {
  const seen = new Map();
  for (const { itemId, createdAt } of outputs.values()) {
    seen.set(itemId, Math.min(createdAt, seen.get(itemId) ?? Infinity));
  }
  return seen;
}

/**
 * Return what is held, by item, the latest first.
 *
 * `sum` counts what is held and at rest, `coming` what an operation under way will bring back or
 * make; `unknown` are outputs that the service says it has never had.
 * @param {import("./records.js").Slices} slices
 */
export function holdingsOf({ outputs, operations, items }) {
  const comesBack = new Set();
  for (const { outputs: made } of operations.values()) {
    for (const { key, state } of made) if (state === "held") comesBack.add(key);
  }
  const byItem = new Map();
  for (const output of outputs.values()) {
    if (!["held", "given", "coming", "leaving"].includes(output.state)) continue;
    byItem.set(output.itemId, [...(byItem.get(output.itemId) ?? []), output]);
  }
  const holdings = Array.from(byItem, ([itemId, all]) => ({
    item: items.get(itemId) ?? null,
    ...holdingOf(itemId, all, comesBack),
  }));
  return holdings.sort((one, other) => other.changedAt - one.changedAt);
}

function holdingOf(itemId, all, comesBack) {
  const inState = (state) => all.filter((output) => output.state === state && !output.unknown);
  const held = inState("held").sort((one, other) => other.amount - one.amount);
  return {
    itemId,
    sum: cappedSum(held),
    outputs: held,
    given: inState("given"),
    coming: cappedSum(inState("coming").filter(({ key }) => comesBack.has(key))),
    unknown: all.filter((output) => output.unknown && ["held", "given"].includes(output.state)),
    changedAt: Math.max(...all.map((output) => output.changedAt)),
  };
}

/** No item has more than AMOUNT_MAX: a file that was imported may say so, but must break nothing. */
function cappedSum(outputs) {
  return outputs.reduce((sum, output) => Math.min(sum + output.amount, AMOUNT_MAX), 0);
}

/** Return all operations, the latest first. */
export function historyOf({ operations }) {
  return [...operations.values()].sort((one, other) => other.begunAt - one.begunAt);
}
