// The facts in a deed's metadata. Strangers write metadata: fields that are not text
// are left out, and so are characters that make one text look like another. The last
// paragraph of a description may state, one fact per line, when and where the deed is
// valid:
//
//     Date: 2026-12-05 20:00 +01:00
//     Place: Moonlight Club
//     Valid until: 2026-12-06 02:00 +01:00
//     Unit: ticket/tickets
//
// They count only if each line of the paragraph is such a fact and no fact repeats.
// Otherwise the paragraph is ordinary text. parts/pages/card.py applies the same rules.

import { isUnit } from "./amounts.js";
import { gettext, isolated, joinTexts, LOCALE } from "./gettext.js";

/**
 * In characters. Every page parses descriptions, so longer ones are not searched for
 * facts.
 */
const DESCRIPTION_LENGTH_MAX = 5_000;

// Bidirectional control characters can make one name look like another.
// parts/pages/card.py removes them too, and drops texts without a visible character.
const TURNS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const BLANK = /^[\p{M}\p{C}\p{Z}\p{DI}\s\u2800]*$/u;

/** A line that may be a fact. */
export const FACT = /^(Date|Place|Valid until|Unit): (.+)$/s;
const TIME = /^([12]\d{3}-\d\d-\d\d) (\d\d:\d\d) ([+-](?:0\d|1[0-4]):[0-5]\d)$/;

/**
 * @typedef {{name?: string, description?: string, image?: string}} Metadata
 * @typedef {{
 *   text: string, date: Date | null, place: string, validUntil: Date | null, unit: string,
 *   clock: {date?: string, validUntil?: string},
 * }} About `text` is the description without its facts; a missing fact is empty or
 *   null; `clock` holds the times as written, in local time at the place
 */

/**
 * Return the texts of a registry item that pages show, without bidirectional controls.
 * @returns {Metadata}
 */
export function metadataOf(item) {
  const { name = "", description = "", image = "" } = textsOf(item?.metadata);
  const texts = Object.entries({ name, description, image }).map(([key, text]) => [
    key,
    text.replace(TURNS, ""),
  ]);
  return Object.fromEntries(texts.filter(([, text]) => !BLANK.test(text)));
}

/**
 * Return all text fields of metadata, unchanged.
 * @returns {{[name: string]: string}}
 */
export function textsOf(/** @type {string | null | undefined} */ metadata) {
  try {
    const fields = Object.entries({ ...JSON.parse(metadata ?? "{}") });
    return Object.fromEntries(fields.filter(([, value]) => typeof value === "string"));
  } catch {
    return {};
  }
}

const ALPHABETS = [/\p{Script=Latin}/u, /\p{Script=Greek}/u, /\p{Script=Cyrillic}/u];

/**
 * Return whether a word of a name mixes Latin, Greek and Cyrillic letters. Invisible
 * characters do not end a word.
 */
export const isMixed = (/** @type {string} */ name) =>
  (name.match(/[\p{L}\p{M}\p{DI}]+/gu) ?? []).some(
    (word) => ALPHABETS.filter((letters) => letters.test(word)).length > 1,
  );

/**
 * Return the name of a registry item, or a placeholder if the item or its name is
 * missing.
 */
export function nameOf(item) {
  const { name = gettext("A deed without a name") } = metadataOf(item);
  return item ? name : gettext("A deed");
}

/** Return the facts of a registry item's description; `item` may be null. */
export const aboutOf = (item) => readAbout(metadataOf(item).description ?? "");

/** Return the facts of a description. @returns {About} */
export function readAbout(/** @type {string} */ description) {
  /** @type {About} */
  const about = {
    text: description,
    date: null,
    place: "",
    validUntil: null,
    unit: "",
    clock: {},
  };
  if (description.length > DESCRIPTION_LENGTH_MAX) return about;
  const lines = description
    .trim()
    .split("\n")
    .map((line) => line.trim());
  const start = lines.lastIndexOf("") + 1;
  const facts = lines.slice(start).map((line) => FACT.exec(line) ?? ["", "", ""]);
  const values = Object.fromEntries(facts.map(([, name, value]) => [name, value]));
  const {
    Date: date,
    Place: place = "",
    "Valid until": until,
    Unit: unit = "",
  } = values;
  const [from, to] = [date, until].map((time) => time && readTime(time));
  const isValid = from !== null && to !== null && (!unit || isUnit(unit));
  const isPlain = "" in values || Object.keys(values).length < facts.length;
  if (isPlain || !isValid) return about;
  const text = lines.slice(0, start).join("\n").trim();
  const clock = { date, validUntil: until };
  return { text, place, unit, date: from || null, validUntil: to || null, clock };
}

/** Return whether a deed's "Valid until" has passed. */
export function isExpired(
  /** @type {Pick<About, "validUntil">} */ { validUntil },
  now = Date.now(),
) {
  return validUntil !== null && Number(validUntil) < now;
}

/** How long after its date an event counts as over if it has no "Valid until". */
const OVER_MS = 12 * 3_600_000;

/** Return whether a deed has expired or its event is over. */
export const isPast = (/** @type {About} */ about, now = Date.now()) =>
  about.validUntil
    ? isExpired(about, now)
    : about.date !== null && Number(about.date) + OVER_MS < now;

/**
 * Return the day of a deed's date in its own time zone, `YYYY-MM-DD`; empty without a
 * date.
 */
export const dayOf = (/** @type {About} */ { clock }) => clock.date?.slice(0, 10) ?? "";

/**
 * Options for a short day, for example "Sat, Nov 28".
 * @type {Intl.DateTimeFormatOptions}
 */
const DAY = { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" };

/** Return the short day of a deed's date. */
export const dayText = (/** @type {About} */ about) =>
  new Date(dayOf(about)).toLocaleDateString(LOCALE, DAY);

/** Return a deed's date with the weekday; empty without a date. */
export const whenText = (/** @type {About} */ { clock }) =>
  clock.date ? clockText(clock.date) : "";

/**
 * Return a deed's date, or its expiry if it has expired or has no date; empty without
 * both.
 */
export const whenOrUntilText = (/** @type {About} */ about) =>
  isExpired(about) || !about.date ? untilText(about) : whenText(about);

/** Return `whenOrUntilText` and the place on a second line; either may be empty. */
export const whenAndWhereText = (/** @type {About} */ about) =>
  joinTexts([whenOrUntilText(about), isolated(about.place)], "\n");

/** Return until when a deed is valid, or when it expired; empty if it does not say. */
export function untilText(
  /** @type {About} */ about,
  now = Date.now(),
  isWhole = false,
) {
  if (!about.validUntil) return "";
  const date = clockText(about.clock.validUntil, isWhole);
  return isExpired(about, now)
    ? gettext("Expired on {date}", { date })
    : gettext("Valid until {date}", { date });
}

/**
 * Return a time in words of the page's language, in the time zone in which it was
 * written. The current year is left out unless `isWhole`, as on paper.
 * parts/pages/card.py writes the same.
 */
function clockText(written, isWhole = false) {
  const time = new Date(`${written.slice(0, 10)}T${written.slice(11, 16)}Z`);
  const isThisYear = time.getUTCFullYear() === new Date().getFullYear();
  const year = isThisYear && !isWhole ? undefined : "numeric";
  const day = time.toLocaleDateString(LOCALE, { ...DAY, year });
  const clock = time.toLocaleTimeString(LOCALE, {
    timeStyle: "short",
    timeZone: "UTC",
  });
  // Prevent line breaks within the day, before the dot, and before "PM", where browsers
  // write an ordinary space.
  return `${day.replaceAll(" ", "\u00a0")}\u00a0· ${clock.replace(" ", "\u202f")}`;
}

/** Return the description that states these facts. */
export function writeAbout(/** @type {Partial<About>} */ about) {
  const { text = "", date, place, validUntil, unit } = about;
  const facts = {
    Date: date && timeText(date),
    Place: place,
    "Valid until": validUntil && timeText(validUntil),
    Unit: unit,
  };
  const lines = Object.entries(facts).map(
    ([name, value]) => value && `${name}: ${value}`,
  );
  return joinTexts([text.trim(), joinTexts(lines, "\n")], "\n\n");
}

/** Return the moment that a text names, or null if there is no such day or hour. */
function readTime(written) {
  const [, day, time, offset] = TIME.exec(written) ?? [];
  const asUtc = new Date(`${day}T${time}Z`);
  const isThere = Number(asUtc) && asUtc.toISOString().startsWith(`${day}T${time}`);
  return isThere ? new Date(`${day}T${time}${offset}`) : null;
}

/** Return a moment in this device's time zone, with its offset from UTC. */
function timeText(/** @type {Date} */ moment) {
  const offset = -moment.getTimezoneOffset();
  const hours = new Date(Math.abs(offset) * 60_000).toISOString().slice(11, 16);
  const local = moment.toLocaleString("sv").slice(0, 16);
  return `${local} ${offset < 0 ? "-" : "+"}${hours}`;
}
