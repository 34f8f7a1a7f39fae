// The time at a door: the service's decides, for a phone's clock may be a day off.

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
    /** Return whether what decides about a ticket's end is known. */
    isKnown: () => !about.validUntil || api.time() !== null,

    /** Return whether a ticket had expired when it was scanned, null where nobody knows. */
    async hadExpired({ begunAt }) {
      if (!about.validUntil) return false;
      const time = await api.askTime();
      if (time === null) return null;
      // Somebody may have set this phone's clock since then.
      return isExpired(about, Math.min(begunAt + time - phoneNow(), time));
    },

    /** Return that this phone's clock is wrong, and the time; nothing where it is right. */
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
