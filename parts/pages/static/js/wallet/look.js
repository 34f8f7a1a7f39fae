// Looks at all items of a wallet, one after the other, for what is ours although this
// wallet has not made it (finding.js). A note says which items are left.

import { endOpen, keepGathered } from "./checking.js";
import { askForLook, gather, leftToLook, LOOK } from "./finding.js";
import { itemIdOf, namedBy } from "./records.js";
import { isInDoubt } from "./settling.js";

/** Longer than a request is under way of which nobody waits for the answer. */
const UNDER_WAY_MS = 10 * 60_000;

/** Note that an item was looked at; not while something of it may be under way still. */
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
 * Return what looks at all items of a wallet, one after the other.
 * @param {import("./wallet.js").Parts} parts
 */
export const makeLook = (parts) => ({
  /**
   * Look at every item that the wallet knows, or go on where the last look was broken
   * off; return how many outputs were found.
   * @param {{isWhole?: boolean, onProgress?: (done: number, of: number) => void}} [options]
   *   `isWhole` begins again
   * @throws {import("./finding.js").FindingError} at the end, of items of which the answer cannot be true
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
    let wrong;
    for (const [done, itemId] of items.entries()) {
      onProgress(done, items.length);
      const gathered = await gather(parts, itemId);
      foundCount += gathered.found.length;
      // The other items are looked at all the same.
      if (gathered.wrong) wrong = gathered.wrong;
      else await keepGathered(parts, { ...gathered, isLook: true });
      const wanted = { notes: [LOOK], operations: [{ state: "refused" }] };
      await change(wanted, (draft) => endLook(draft, itemId));
    }
    if (wrong) throw wrong;
    return foundCount;
  },

  /** Return whether a look was broken off. */
  isLookDue: () =>
    parts.store.read({ notes: [LOOK] }, (slices) => leftToLook(slices).length > 0),
});
