// What both screens say of a payment or a trade that was made: the same signs, so that
// who was paid sees that it was by the person before them.

import { gettext } from "../../format/gettext.js";
import { clockText } from "../../texts.js";

const SIGNS_COUNT = 4;

/** Return four signs of an offer, such as "7K2M"; its id is random to its end. */
const signsOf = (offerId) => offerId.slice(-SIGNS_COUNT).toUpperCase();

/** Return for example "Paid ✓ 7K2M 14:05". */
export function receiptText({ offerId = "", endedAt = NaN }, isTrade = false) {
  const values = { signs: signsOf(offerId), time: clockText(endedAt) };
  return isTrade
    ? gettext("Traded ✓ {signs} {time}", values)
    : gettext("Paid ✓ {signs} {time}", values);
}
