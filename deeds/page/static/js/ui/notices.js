// Tells a person something: at the foot of the window for a moment, or at the head of the page.

import { textFor } from "../texts.js";
import { byId, make } from "./dom.js";

/** How long it stays there, in milliseconds: two lines are read in less. */
const STAY_MS = 6000;

/**
 * Return what is missing for secrets to be made and kept, in whole sentences; nothing if all is
 * there. Browsers give WebCrypto only to pages that came by https or from the machine itself.
 * @param {{crypto?: Crypto, indexedDB?: IDBFactory, isSecureContext?: boolean}} [browser]
 */
export function whatIsMissing(browser = globalThis) {
  const missing = [];
  if (!browser.isSecureContext) {
    missing.push("This page did not come by https, so the browser makes no secrets for it.");
  } else if (!browser.crypto?.subtle || !browser.crypto.randomUUID) {
    missing.push("This browser is too old to make secrets for pages.");
  }
  if (!browser.indexedDB) missing.push("This browser does not let pages store data.");
  return missing;
}

/** Say at the head of the page what is missing, or any other sentences in its place. */
export function showMissing(sentences) {
  byId("missing").replaceChildren(...sentences.map((sentence) => make("p", {}, sentence)));
  byId("missing").hidden = false;
}

/** Show and speak a text; it goes away by itself and takes the place of the one before it. */
export function say(text) {
  // While a dialog is open, all else is out of reach, for screen readers too.
  const dialogs = document.querySelectorAll("dialog[open] [data-notices]");
  const place = [...dialogs].at(-1) ?? byId("notices");
  const notice = make("p", {}, text);
  place.replaceChildren(notice);
  setTimeout(() => notice.remove(), STAY_MS);
}

/** Say what went wrong. */
export const sayError = (error) => say(textFor(error));
