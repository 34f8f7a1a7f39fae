// What a deed says of itself. Its metadata was written by strangers: what is not text is
// left out, and so is what makes one text look like another. The last paragraph of a
// description may say, one fact a line, when and where it is good for something:
//
//     Date: 2026-12-05 20:00 +01:00
//     Place: Moonlight Club
//     Valid until: 2026-12-06 02:00 +01:00
//     Unit: ticket/tickets
//
// It counts only if all of its lines are such facts, each once; else it is text like the
// rest. parts/pages/card.py reads the same.

import { isUnit } from "./amounts.js";
import { gettext, isolated, joinTexts, LOCALE } from "./gettext.js";

/** Longer descriptions are text alone: all pages read them. */
const DESCRIPTION_LENGTH_MAX = 5_000;

// What turns the direction of writing makes one name look like another;
// parts/pages/card.py too leaves it out, and texts of which nothing is seen.
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
 * }} About `text` is the description without its facts; what it does not say is empty, or null;
 *   `clock` has the times as they are written, which clocks show where the deed is good
 */

/** Return what of a registry item's metadata is text. @returns {Metadata} */
export function metadataOf(item) {
  const { name = "", description = "", image = "" } = textsOf(item?.metadata);
  const texts = Object.entries({ name, description, image }).map(([key, text]) => [
    key,
    text.replace(TURNS, ""),
  ]);
  return Object.fromEntries(texts.filter(([, text]) => !BLANK.test(text)));
}

/** Return all of metadata that is text, as it is. @returns {{[name: string]: string}} */
export function textsOf(/** @type {string | null | undefined} */ metadata) {
  try {
    const fields = Object.entries({ ...JSON.parse(metadata ?? "{}") });
    return Object.fromEntries(fields.filter(([, value]) => typeof value === "string"));
  } catch {
    return {};
  }
}

const ALPHABETS = [/\p{Script=Latin}/u, /\p{Script=Greek}/u, /\p{Script=Cyrillic}/u];

/** Return whether a word of a name mixes letters of alphabets that look alike. */
export const isMixed = (/** @type {string} */ name) =>
  (name.match(/[\p{L}\p{M}]+/gu) ?? []).some(
    (word) => ALPHABETS.filter((letters) => letters.test(word)).length > 1,
  );

/** Return the name of a registry item, which may not be known. */
export function nameOf(item) {
  const { name = gettext("A deed without a name") } = metadataOf(item);
  return item ? name : gettext("A deed");
}

/** Return what the description of a registry item says; the item may not be known. */
export const aboutOf = (item) => readAbout(metadataOf(item).description ?? "");

/** Return what a description says. @returns {About} */
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
  const found = Object.fromEntries(facts.map(([, name, value]) => [name, value]));
  const {
    Date: date,
    Place: place = "",
    "Valid until": until,
    Unit: unit = "",
  } = found;
  const [from, to] = [date, until].map((time) => time && readTime(time));
  const isRight = from !== null && to !== null && (!unit || isUnit(unit));
  if ("" in found || Object.keys(found).length < facts.length || !isRight) return about;
  const text = lines.slice(0, start).join("\n").trim();
  const clock = { date, validUntil: until };
  return { text, place, unit, date: from || null, validUntil: to || null, clock };
}

/** Return whether a deed is no longer good for anything. */
export function isExpired(
  /** @type {Pick<About, "validUntil">} */ { validUntil },
  now = Date.now(),
) {
  return validUntil !== null && Number(validUntil) < now;
}

/** An event is over so long after its date, unless it says until when it is good. */
const OVER_MS = 12 * 3_600_000;

/** Return whether an event is over, or what it was good for. */
export const isPast = (/** @type {About} */ about, now = Date.now()) =>
  about.validUntil
    ? isExpired(about, now)
    : about.date !== null && Number(about.date) + OVER_MS < now;

/** Return the day that its own clock shows; nothing where it has no date. */
export const dayOf = (/** @type {About} */ { clock }) => clock.date?.slice(0, 10) ?? "";

/** How a day is written in short, for example "Sat, Nov 28". @type {Intl.DateTimeFormatOptions} */
const DAY = { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" };

/** Return its day in short. */
export const dayText = (/** @type {About} */ about) =>
  new Date(dayOf(about)).toLocaleDateString(LOCALE, DAY);

/** Return when it is, with the weekday. */
export const whenText = (/** @type {About} */ { clock }) =>
  clock.date ? clockText(clock.date) : "";

/** Return when, or until when it was; nothing where that is not said. */
export const whenOrUntilText = (/** @type {About} */ about) =>
  isExpired(about) || !about.date ? untilText(about) : whenText(about);

/** Return the same, and in a line below where; nothing where neither is said. */
export const whenAndWhereText = (/** @type {About} */ about) =>
  joinTexts([whenOrUntilText(about), isolated(about.place)], "\n");

/** Return until when a deed is good for something, or when that has ended. */
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
 * Return a time that clocks show, in words of the page's language, with its year where
 * that is not this one, or where it is to be `isWhole`, on paper. parts/pages/card.py
 * writes the same.
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
  // Browsers break a line before "PM" where they write a common space, and before a dot;
  // a day stays in one line.
  return `${day.replaceAll(" ", "\u00a0")}\u00a0· ${clock.replace(" ", "\u202f")}`;
}

/** Return the description that says this. */
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

/** Return the moment that is written, or null if there is no such day or hour. */
function readTime(written) {
  const [, day, time, offset] = TIME.exec(written) ?? [];
  const asUtc = new Date(`${day}T${time}Z`);
  const isThere = Number(asUtc) && asUtc.toISOString().startsWith(`${day}T${time}`);
  return isThere ? new Date(`${day}T${time}${offset}`) : null;
}

/** Return a moment as the clocks of this device show it, and how far they are from UTC. */
function timeText(/** @type {Date} */ moment) {
  const offset = -moment.getTimezoneOffset();
  const hours = new Date(Math.abs(offset) * 60_000).toISOString().slice(11, 16);
  const local = moment.toLocaleString("sv").slice(0, 16);
  return `${local} ${offset < 0 ? "-" : "+"}${hours}`;
}
