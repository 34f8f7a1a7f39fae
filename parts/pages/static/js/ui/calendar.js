// Calendar files with the date of a deed (RFC 5545). They are made in the browser, so
// the service does not learn who saves one.

import { aboutOf, nameOf } from "../format/about.js";
import { shortName } from "../texts.js";
import { download } from "./dom.js";

/** In a line, without its end. */
const OCTETS_MAX = 75;

/** @typedef {import("../wallet/records.js").Item} Item */

/** Download the calendar file of a deed that has a date. */
export function saveDate(/** @type {Item} */ item) {
  const text = calendarOf(item, location, new Date());
  download(text, "text/calendar", `${shortName(nameOf(item))}.ics`);
}

/** Return the calendar file of a deed that has a date. */
export function calendarOf(/** @type {Item} */ item, { origin, host }, now) {
  const { date, place, text, validUntil } = aboutOf(item);
  const texts = {
    SUMMARY: shortName(nameOf(item)),
    LOCATION: place,
    DESCRIPTION: text,
  };
  const facts = Object.entries(texts).filter(([, value]) => value);
  const lines = [
    "BEGIN:VCALENDAR",
    "VERSION:2.0",
    "PRODID:-//Deeds//EN",
    "BEGIN:VEVENT",
    `UID:${item.id}@${host}`,
    `DTSTAMP:${utcOf(now)}`,
    `DTSTART:${utcOf(/** @type {Date} */ (date))}`,
    ...(Number(validUntil) > Number(date)
      ? [`DTEND:${utcOf(/** @type {Date} */ (validUntil))}`]
      : []),
    ...facts.map(([name, value]) => `${name}:${escape(value)}`),
    `URL:${origin}/item/${item.id}`,
    "END:VEVENT",
    "END:VCALENDAR",
  ];
  return lines.map((line) => `${fold(line)}\r\n`).join("");
}

const utcOf = (/** @type {Date} */ time) =>
  time.toISOString().replace(/[-:]|\.\d+/g, "");

function escape(text) {
  const escaped = text.replace(/[\\;,]/g, "\\$&").replace(/\r?\n/g, "\\n");
  return escaped.replace(/\p{Cc}/gu, " ");
}

/** Fold a long line between characters; continuation lines start with a space. */
function fold(line) {
  let folded = "";
  let octetsCount = 0;
  for (const character of line) {
    const { length } = new TextEncoder().encode(character);
    if (octetsCount + length > OCTETS_MAX) {
      folded += "\r\n ";
      octetsCount = 1;
    }
    folded += character;
    octetsCount += length;
  }
  return folded;
}
