// The time at a door: the service's decides, for a phone's clock may be a day off.

import { isExpired } from "../../format/about.js";
import { fill, gettext, LOCALE } from "../../format/gettext.js";
import { CLOCK_OFF_MS } from "../../wallet/api.js";

const UNITS = { day: 86_400_000, hour: 3_600_000, minute: 60_000 };

/**
 * Return the clock of a deed's door.
 * @param {Pick<import("../../format/about.js").About, "validUntil">} about
 * @param {Pick<import("../../wallet/api.js").Api, "time" | "askTime">} api
 */
export function makeClock(about, api, phoneNow = Date.now) {
  return {
    now: api.time,
    /** Return whether what decides about a ticket's end is known. */
    isKnown: () => !about.validUntil || api.time() !== null,

    /** Return whether a ticket had expired when it was scanned, null where nobody knows. */
    async hadExpired({ begunAt }) {
      if (!about.validUntil) return false;
      const time = await api.askTime();
      // Somebody may have set this phone's clock since then.
      const scannedAt = Math.min(begunAt + Number(time) - phoneNow(), Number(time));
      return time === null ? null : isExpired(about, scannedAt);
    },

    /** Return how far this phone's clock is off, in words; nothing where it is right. */
    async offText() {
      const time = await api.askTime();
      return time === null ? "" : offText(phoneNow() - time);
    },
  };
}

/** Return what to say of a clock that is so far ahead of the service's. */
export function offText(aheadMs) {
  const offMs = Math.abs(aheadMs);
  if (offMs < CLOCK_OFF_MS) return "";
  const unit = Object.keys(UNITS).find((each) => UNITS[each] <= offMs) ?? "";
  const format = new Intl.NumberFormat(LOCALE, {
    style: "unit",
    unit,
    unitDisplay: "long",
    maximumFractionDigits: 0,
  });
  const time = format.format(offMs / UNITS[unit]);
  const text =
    aheadMs > 0
      ? gettext(
          "This phone's clock is {time} fast. The door goes by the service's time.",
        )
      : gettext(
          "This phone's clock is {time} slow. The door goes by the service's time.",
        );
  return fill(text, { time });
}
