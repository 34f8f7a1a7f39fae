// The calendar file of a deed with a date.

import assert from "node:assert/strict";
import { test } from "node:test";

import { calendarOf } from "../../../../parts/pages/static/js/ui/calendar.js";

const PLACE = { origin: "https://deeds.example", host: "deeds.example" };
const NOW = new Date("2026-11-26T18:00:00.123Z");

const calendarSaying = (name, description) =>
  calendarOf(
    { id: "deed_x", total: 1, metadata: JSON.stringify({ name, description }) },
    PLACE,
    NOW,
  );

test("a calendar gets when and where it is, in UTC, with its signs escaped", () => {
  const facts = "Date: 2026-12-05 20:00 +01:00\nPlace: Hall 1; Pier 5, back\\yard";

  assert.equal(
    calendarSaying("Songs, and\nmore", `One.\nTwo.\x07\n\n${facts}`),
    [
      "BEGIN:VCALENDAR",
      "VERSION:2.0",
      "PRODID:-//Deeds//EN",
      "BEGIN:VEVENT",
      "UID:deed_x@deeds.example",
      "DTSTAMP:20261126T180000Z",
      "DTSTART:20261205T190000Z",
      "SUMMARY:Songs\\, and more",
      "LOCATION:Hall 1\\; Pier 5\\, back\\\\yard",
      "DESCRIPTION:One.\\nTwo. ",
      "URL:https://deeds.example/item/deed_x",
      "END:VEVENT",
      "END:VCALENDAR",
      "",
    ].join("\r\n"),
  );
});

test("a calendar gets until when it is good as the end, where that comes after", () => {
  const endsOf = (until) => {
    const facts = `Date: 2026-12-05 20:00 +01:00\nValid until: ${until} +01:00`;
    return calendarSaying("A song", facts).match(/DTEND.*(?=\r)/)?.[0];
  };

  assert.equal(endsOf("2026-12-06 02:00"), "DTEND:20261206T010000Z");
  assert.equal(endsOf("2026-12-05 20:00"), undefined);
});

test("a long line is folded between characters, at 75 octets", () => {
  const text = calendarSaying("😀ä".repeat(30), "Date: 2026-12-05 20:00 +01:00");
  const lines = text.split("\r\n");

  const octets = lines.map((line) => Buffer.byteLength(line));
  assert.equal(Math.max(...octets), 74);
  assert.ok(text.replaceAll("\r\n ", "").includes(`SUMMARY:${"😀ä".repeat(29)}`));
  assert.ok(!text.includes("LOCATION") && !text.includes("DESCRIPTION"));
});
