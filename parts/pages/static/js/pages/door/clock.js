// The time at a door. The service's time counts, because a phone's clock may be a day
// off.

import { isExpired } from "../../format/about.js";
import { gettext } from "../../format/gettext.js";
import { timeText } from "../../texts.js";
import { CLOCK_OFF_MS } from "../../wallet/api.js";

/**
 * Return the clock of a deed's door.
 * @param {Pick<import("../../format/about.js").About, "validUntil">} about
 * @param {Pick<import("../../wallet/api.js").Api, "time" | "askTime">} api
 */
export function makeClock(about, api, phoneNow = Date.now) {
  return {
    now: api.time,
    /** Return whether the time is known, or the deed does not expire. */
    isKnown: () => !about.validUntil || api.time() !== null,

    /**
     * Return whether a ticket had expired when it was scanned; null if that is unknown.
     */
    async hadExpired({ begunAt }) {
      if (!about.validUntil) return false;
      const time = await api.askTime();
      if (time === null) return null;
      // The phone's clock may have been changed since the scan.
      return isExpired(about, Math.min(begunAt + time - phoneNow(), time));
    },

    /**
     * Return a text if this phone's clock is wrong, with the right time; else an empty
     * text.
     */
    async wrongText() {
      const time = await api.askTime();
      if (time === null || Math.abs(phoneNow() - time) < CLOCK_OFF_MS) return "";
      return gettext(
        "This phone's clock is wrong. The door uses the service's time: {time}.",
        { time: timeText(time) },
      );
    },
  };
}
