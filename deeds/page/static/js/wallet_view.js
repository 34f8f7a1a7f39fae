// What a wallet shows of its records. Pure.

import { AMOUNT_MAX } from "./amounts.js";

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
