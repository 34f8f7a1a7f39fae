// The token that a service may ask for before it mints. This browser keeps it beside
// the wallet and not in it: no backup, file or merge has it.

import { inBrowser } from "./store.js";

const NAME = "deeds-mint-token";

/** What a header can carry (docs/settings.md). */
const TOKEN = /^[!-~]+$/;

/** Whether the service has refused what this page had. */
let isRefused = false;

/** Return the token that is kept, or nothing. */
export const readToken = () => inBrowser.read(NAME);

export const keepToken = (token) => inBrowser.write(NAME, token);

/** Forget a token that the service refuses, unless a tab has kept another by now. */
export function refuseToken(token) {
  isRefused = true;
  if (readToken() === token) inBrowser.write(NAME, "");
}

/**
 * Return whether there is none, and the service asks for one, as it said to this page
 * or has shown since.
 */
export const isTokenMissing = (isNeeded) => (isNeeded || isRefused) && !readToken();

export const isToken = (text) => TOKEN.test(text);
