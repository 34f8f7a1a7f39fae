// What a person reads of an offer: a request to be paid, or a trade. Pure.

import { unitsText } from "../format/amounts.js";
import { countText, quoted, refusalText, timeText } from "./operations.js";

/**
 * @typedef {{itemId: string, amount: number}} Units
 * @typedef {{
 *   nameOf: (itemId: string) => string, unitOf: (itemId: string) => string | undefined,
 * }} Namer what this browser calls deeds and their units
 */

/** How many deeds of one side are named; deeds/page/card.py names as many. */
const NAMED_MAX = 2;

/** How an offer of ours ended without being taken, by the code of its operation. */
const ENDINGS = {
  offer_expired: "Expired. Nobody took it.",
  offer_void: "No longer valid: its units were used elsewhere.",
  offer_withdrawn: "Withdrawn.",
};

/** Return for example "2 units of “A ticket” and 1 unit of “A drink”". */
export function sideText(units, /** @type {Namer} */ { nameOf, unitOf }) {
  const all = [units ?? []].flat();
  const text = ({ itemId, amount }) =>
    `${unitsText(amount, unitOf(itemId))} of ${quoted(nameOf(itemId))}`;
  const more = all.length - NAMED_MAX;
  const named = all.slice(0, NAMED_MAX).map(text);
  return [...named, ...(more > 0 ? [countText(more, "more deed")] : [])].join(" and ");
}

/**
 * Return what an offer means to the person who reads it, without a full stop: "Ask for …" where
 * nothing is given, "Pay …" where nothing comes back, else "You give … and get …".
 * @param {{give?: Units | Units[] | null, want?: Units | Units[] | null}} sides
 */
export function offerText({ give = null, want = null }, namer) {
  const [given, wanted] = [give, want].map((side) => sideText(side, namer));
  if (!given) return `Ask for ${wanted}`;
  return wanted ? `You give ${given} and get ${wanted}` : `Pay ${given}`;
}

/** Return what has become of an offer of ours. */
export function offerStateText({ kind, state, code = "", expiresAt = NaN }) {
  const isAsk = kind === "ask";
  if (state === "done") return isAsk ? "Paid." : "Traded.";
  if (state === "refused") return ENDINGS[code] ?? refusalText({ code, kind });
  return `${isAsk ? "Can be paid" : "Open"} until ${timeText(expiresAt)}.`;
}
