// Hands a text to the person: on the clipboard, or as a file.

import { make } from "./dom.js";

// A browser that is busy, or asks first where to put it, takes hold of it late.
const TAKEN_MS_MAX = 60_000;

/**
 * Copy a text, or what a promise brings: Safari copies only what is asked for within the tap.
 * @returns {Promise<boolean>} whether the browser did
 */
export async function copyText(text) {
  const blobOf = (whole) => new Blob([whole], { type: "text/plain" });
  try {
    // In this order nothing is promised where there is no clipboard.
    await navigator.clipboard.write([
      new ClipboardItem({ "text/plain": Promise.resolve(text).then(blobOf) }),
    ]);
    return true;
  } catch {
    // Not over http but on localhost, and not where the person has refused it. What went wrong with
    // the text itself is thrown.
    await text;
    return false;
  }
}

export function download(text, type, name) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), TAKEN_MS_MAX);
}
