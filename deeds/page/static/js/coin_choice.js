// Which outputs a sum is paid from.

import { WalletError } from "./records.js";

export const INPUTS_COUNT_MAX = 256;

/**
 * Return the outputs to spend: an exact one, else the fewest that reach the amount.
 * @param {import("./records.js").OutputRecord[]} outputs all of one item
 * @param {number} amount
 * @throws {WalletError}
 */
export function chooseOutputs(outputs, amount) {
  const exact = outputs.find((output) => output.amount === amount);
  if (exact) return [exact];
  // Nothing reaches a sum with fewer than the largest do.
  const largestFirst = [...outputs].sort((one, other) => other.amount - one.amount);
  const chosen = [];
  let missing = amount;
  for (const output of largestFirst) {
    if (missing <= 0) break;
    chosen.push(output);
    missing -= output.amount;
  }
  if (missing > 0) throw new WalletError("not_enough", "You do not hold that many units.");
  if (chosen.length > INPUTS_COUNT_MAX) {
    throw new WalletError("too_many", "These units are in too many parts. Merge them first.");
  }
  return chosen;
}
