// The token that a service may require for a mint. This browser keeps it beside the
// wallet, not in it, so it is in no backup, file or merge.

import { inBrowser } from "./store.js";

const NAME = "deeds-mint-token";

/** Characters that a header can carry (docs/minting.md). */
const TOKEN = /^[!-~]+$/;

/** Whether the service has refused this page's token, or a mint without one. */
let isRefused = false;

/** Return the stored token, or an empty text. */
export const readToken = () => inBrowser.read(NAME);

export const keepToken = (token) => inBrowser.write(NAME, token);

/**
 * Forget a token that the service refused, unless a tab has stored another one since.
 */
export function refuseToken(token) {
  isRefused = true;
  if (readToken() === token) inBrowser.write(NAME, "");
}

/**
 * Return whether the service requires a token and none is stored. The page says that
 * one `isNeeded`, or the service has refused a request since.
 */
export const isTokenMissing = (isNeeded) => (isNeeded || isRefused) && !readToken();

export const isToken = (text) => TOKEN.test(text);
