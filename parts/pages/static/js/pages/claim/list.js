// The list of outputs that the Claim page was given.

import { keyOf } from "../../wallet/records.js";
import { inSession } from "../../wallet/store.js";

const NAME = "deeds.claim";

/**
 * Return the list of outputs that the page was given. Those that may still be taken are
 * kept for as long as the tab is there, so that a reload shows them again; their
 * secrets are in its storage alone.
 * @param {() => Storage} [findStorage] may throw, and so may the storage: then a reload forgets
 */
export function makeClaimList(findStorage) {
  const read = (storage) => Array.from(JSON.parse(storage.getItem(NAME) ?? "[]"));
  const found = inSession(read, findStorage) ?? [];
  const shown = new Map(found.map((output) => [keyOf(output), output]));
  const forgotten = new Set();

  function keep() {
    const kept = [...shown.values()].filter((output) => !forgotten.has(keyOf(output)));
    inSession((storage) => {
      if (kept.length) storage.setItem(NAME, JSON.stringify(kept));
      else storage.removeItem(NAME);
    }, findStorage);
  }

  return {
    all: () => [...shown.values()],

    /** Return those that were opened last, together. */
    opened: () => [...shown.values()].filter(({ isOlder }) => !isOlder),

    /**
     * Add outputs that were just opened: those that are there already become older, but
     * for the same ones.
     */
    add(outputs) {
      for (const [key, output] of shown) shown.set(key, { ...output, isOlder: true });
      for (const { isOlder: _, ...output } of outputs) shown.set(keyOf(output), output);
      keep();
    },

    /** Keep these no longer, and show them still. */
    forget(outputs) {
      for (const output of outputs) forgotten.add(keyOf(output));
      if (outputs.length) keep();
    },

    drop(outputs) {
      for (const output of outputs) shown.delete(keyOf(output));
      keep();
    },
  };
}
