// The token that a service may ask for before it mints. This browser keeps it beside
// the wallet and not in it: no backup, file or merge has it.

import { inSession } from "./store.js";

const NAME = "deeds-mint-token";

/** What a header can carry (docs/settings.md). */
const TOKEN = /^[!-~]+$/;

const kept = (act) => inSession(act, () => localStorage);

/** Return the token, "" since the service has asked for another one, or null. */
export const readToken = () => kept((storage) => storage.getItem(NAME));

export const keepToken = (token) => kept((storage) => storage.setItem(NAME, token));

/** The service asks for another one than this, unless a tab has kept that by now. */
export function refuseToken(token) {
  if (readToken() === token) keepToken("");
}

export const isToken = (text) => TOKEN.test(text);
