// Looks at all items of a wallet, one after the other, for what is ours although this
// wallet has not made it (finding.js). A note says which items are left.

import { FindingError } from "./finding.js";
import { itemIdOf, keysOf } from "./records.js";
import { isInDoubt } from "./settling.js";

/** Longer than a request is under way of which nobody waits for the answer. */
const UNDER_WAY_MS = 10 * 60_000;

/** The key of the note that says which items are left to look at. */
export const LOOK = "look";

/** Note that these items are to be looked at, with those that are left. */
export function askForLook(draft, itemIds) {
  const { left = [] } = draft.slices.notes.get(LOOK) ?? {};
  draft.put("notes", { key: LOOK, left: [...new Set([...left, ...itemIds])] });
}

/** Note that an item was looked at; not while something of it may be under way still. */
function endLook(draft, itemId, now) {
  const isUnderWay = ({ code, endedAt }) =>
    isInDoubt(code) && Math.abs(now - endedAt) < UNDER_WAY_MS;
  const named = draft.operations
    .list({ state: "refused" })
    .filter(isUnderWay)
    .flatMap(({ inputs, outputs }) => [...inputs, ...keysOf(outputs)]);
  if (named.some((key) => itemIdOf(key) === itemId)) return;
  const { left } = draft.slices.notes.get(LOOK);
  draft.put("notes", { key: LOOK, left: left.filter((each) => each !== itemId) });
}

/**
 * Return what looks at all items of a wallet, one after the other.
 * @param {object} parts
 * @param {Pick<import("./store.js").Store, "read">} parts.store
 * @param {(wanted: import("./records.js").Plan,
 *   apply: (draft: import("./records.js").Draft) => any) => Promise<any>} parts.change
 * @param {ReturnType<typeof import("./finding.js").makeGather>} parts.gather
 * @param {(gathered: import("./finding.js").Gathered) => Promise<unknown>} parts.keep writes down what was found
 * @param {() => Promise<unknown>} parts.endOpen settles the offers that have ended: another copy may
 *   have used their secrets
 * @param {() => number} parts.now in milliseconds
 */
export function makeLook({ store, change, gather, keep, endOpen, now }) {
  return {
    /**
     * Look at every item that the wallet knows, or go on where the last look was broken
     * off; return how many outputs were found.
     * @param {{isWhole?: boolean, onProgress?: (done: number, of: number) => void}} [options]
     *   `isWhole` begins again
     * @throws {FindingError} at the end, of items of which the answer cannot be true
     */
    async look({ isWhole = false, onProgress = () => {} } = {}) {
      const items = await change({ notes: [LOOK], outputs: "all" }, (draft) => {
        const { left = [] } = draft.slices.notes.get(LOOK) ?? {};
        const all = new Set(draft.outputs.list().map(({ itemId }) => itemId));
        const wanted = left.length && !isWhole ? left : [...all];
        draft.put("notes", { key: LOOK, left: wanted });
        return wanted;
      });
      await endOpen();
      const service = { hasOffers: true };
      let foundCount = 0;
      let wrong = null;
      for (const [done, itemId] of items.entries()) {
        onProgress(done, items.length);
        try {
          const gathered = await gather(itemId, { service });
          await keep({ ...gathered, isLook: true });
          foundCount += gathered.found.length;
        } catch (error) {
          if (!(error instanceof FindingError)) throw error;
          // The other items are looked at all the same.
          wrong = error;
        }
        const wanted = { notes: [LOOK], operations: [{ state: "refused" }] };
        await change(wanted, (draft) => endLook(draft, itemId, now()));
      }
      if (wrong) throw wrong;
      return foundCount;
    },

    /** Return whether a look was broken off. */
    isLookDue: () =>
      store.read({ notes: [LOOK] }, ({ notes }) =>
        Boolean(notes.get(LOOK)?.left.length),
      ),
  };
}
