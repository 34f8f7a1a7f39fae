// The outputs that the Claim page was given. Those that may still be taken are kept for as long as
// the tab is there, so that a reload shows them again; their secrets are in its storage alone.

import { formatRawOutput, parseRawOutput } from "../../format/raw_output.js";
import { keyOf } from "../../wallet/records.js";

/** @typedef {import("../../format/raw_output.js").RawOutput & {unit?: string}} Sent */

const NAME = "deeds.claim";

/**
 * Return the list.
 * @param {() => Storage} [findStorage] may throw, and so may the storage: then a reload forgets
 */
export function makeClaimList(findStorage = () => globalThis.sessionStorage) {
  let shown = readKept(findStorage);
  let kept = shown;

  function keep(outputs) {
    kept = outputs;
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
      shown = union(shown, outputs);
      keep(union(kept, outputs));
    },

    /** Keep these no longer, and show them still. */
    forget(outputs) {
      if (outputs.length) keep(without(kept, outputs));
    },

    /** Neither keep nor show these. */
    drop(outputs) {
      shown = without(shown, outputs);
      keep(without(kept, outputs));
    },
  };
}

function union(one, other) {
  return [...new Map([...one, ...other].map((output) => [keyOf(output), output])).values()];
}

function without(outputs, gone) {
  const keys = new Set(gone.map(keyOf));
  return outputs.filter((output) => !keys.has(keyOf(output)));
}

function readKept(findStorage) {
  try {
    return JSON.parse(findStorage().getItem(NAME) ?? "[]").map(readOne);
  } catch {
    return [];
  }
}

function readOne(output) {
  return { ...parseRawOutput(formatRawOutput(output)), unit: String(output.unit ?? "") };
}
