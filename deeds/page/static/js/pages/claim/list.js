// The outputs that the Claim page was given. Those that may still be taken are kept for as long as
// the tab is there, so that a reload shows them again; their secrets are in its storage alone.

import { keyOf } from "../../wallet/records.js";

const NAME = "deeds.claim";

/**
 * Return the list.
 * @param {() => Storage} [findStorage] may throw, and so may the storage: then a reload forgets
 */
export function makeClaimList(findStorage = () => globalThis.sessionStorage) {
  let shown = readKept(findStorage);
  const forgotten = new Set();

  function keep() {
    const kept = shown.filter((output) => !forgotten.has(keyOf(output)));
    try {
      const storage = findStorage();
      if (kept.length) storage.setItem(NAME, JSON.stringify(kept));
      else storage.removeItem(NAME);
    } catch {
      // A person forbids pages to keep anything, or there is no room.
    }
  }

  return {
    all: () => shown,

    /** Add outputs behind those that are there; one that is there already stays in its place. */
    add(outputs) {
      const byKey = new Map();
      for (const output of [...shown, ...outputs]) byKey.set(keyOf(output), output);
      shown = [...byKey.values()];
      keep();
    },

    /** Keep these no longer, and show them still. */
    forget(outputs) {
      for (const output of outputs) forgotten.add(keyOf(output));
      if (outputs.length) keep();
    },

    /** Neither keep nor show these. */
    drop(outputs) {
      const keys = new Set(outputs.map(keyOf));
      shown = shown.filter((output) => !keys.has(keyOf(output)));
      keep();
    },
  };
}

function readKept(findStorage) {
  try {
    return Array.from(JSON.parse(findStorage().getItem(NAME) ?? "[]"));
  } catch {
    return [];
  }
}
