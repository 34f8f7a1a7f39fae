// Looks at all items of a wallet, one by one, for outputs that are ours although this
// wallet has not made them (finding.js). A note says which items are left.

import { endOpen, keepFinding } from "./checking.js";
import { askForLook, gather, leftToLook, LOOK } from "./finding.js";
import { itemIdOf, namedBy } from "./records.js";
import { isInDoubt } from "./settling.js";

/** Longer than a request can be under way after its sender has given up. */
const UNDER_WAY_MS = 10 * 60_000;

/** Record that an item was looked at, unless something of it may still be under way. */
function endLook(draft, itemId) {
  const isRecent = ({ code, endedAt }) =>
    isInDoubt(code) && Math.abs(draft.now - endedAt) < UNDER_WAY_MS;
  const named = draft.operations
    .list({ state: "refused" })
    .filter(isRecent)
    .flatMap(namedBy);
  if (named.some((key) => itemIdOf(key) === itemId)) return;
  const left = leftToLook(draft).filter((each) => each !== itemId);
  draft.put("notes", { key: LOOK, left });
}

/**
 * Return functions that look at all items of a wallet.
 * @param {import("./wallet.js").Parts} parts
 */
export const makeLook = (parts) => ({
  /**
   * Look at every item that the wallet knows, or continue an interrupted look. Return
   * how many outputs were found.
   * @param {{isWhole?: boolean, onProgress?: (done: number, of: number) => void}} [options]
   *   `isWhole` starts over
   * @throws {import("./finding.js").FindingError} at the end, if the answer for an item
   *   cannot be true
   */
  async look({ isWhole = false, onProgress = () => {} } = {}) {
    const { change } = parts;
    const items = await change({ notes: [LOOK], outputs: "all" }, (draft) => {
      const all = draft.outputs.list().map(({ itemId }) => itemId);
      if (isWhole || !leftToLook(draft).length) askForLook(draft, all);
      return leftToLook(draft);
    });
    // Another copy may have used the secrets of offers.
    await endOpen(parts);
    let foundCount = 0;
    let lastError;
    for (const [done, itemId] of items.entries()) {
      onProgress(done, items.length);
      const finding = await gather(parts, itemId);
      foundCount += finding.found.length;
      // Still look at the other items.
      if (finding.error) lastError = finding.error;
      else await keepFinding(parts, { ...finding, isLook: true });
      const plan = { notes: [LOOK], operations: [{ state: "refused" }] };
      await change(plan, (draft) => endLook(draft, itemId));
    }
    if (lastError) throw lastError;
    return foundCount;
  },

  /** Return whether a look was interrupted. */
  isLookDue: () =>
    parts.store.read({ notes: [LOOK] }, (slices) => leftToLook(slices).length > 0),
});
