// Hands a text to the browser as a file to keep.

import { make } from "./dom.js";

// A browser that is busy, or asks first where to put it, takes hold of it late.
const TAKEN_MS_MAX = 60_000;

/**
 * Offer a text as a file.
 * @param {string} text
 * @param {string} type its media type
 * @param {string} name of the file
 */
export function download(text, type, name) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), TAKEN_MS_MAX);
}
