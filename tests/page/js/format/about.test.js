// The facts in a deed's metadata, which may have any form.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import {
  metadataOf,
  readAbout,
  untilText,
  whenText,
  writeAbout,
} from "../../../../parts/pages/static/js/format/about.js";
import { cutMetadata } from "../../../../parts/pages/static/js/wallet/cutting.js";

for (const metadata of [
  "null",
  "[]",
  "3",
  '"text"',
  "{",
  '{"name":{"a":1}}',
  '{"name":" "}',
  "",
]) {
  test(`metadata of another form has no texts: ${metadata}`, () => {
    assert.deepEqual(metadataOf({ metadata }), {});
  });
}

test("metadata that is not there has no texts, and texts are kept as they are", () => {
  assert.deepEqual(metadataOf({ metadata: null }), {});
  assert.deepEqual(metadataOf({ metadata: '{"name":" a ","image":5}' }), {
    name: " a ",
  });
});

test("what turns the direction of writing, and what nothing is seen of, is left out", () => {
  const metadata = JSON.stringify({
    name: "\u202ea\u2067b\u200f",
    description: "\u2800\u3164",
  });

  assert.deepEqual(metadataOf({ metadata }), { name: "ab" });
});

const EXAMPLES = JSON.parse(
  readFileSync(new URL("../../about.json", import.meta.url), "utf8"),
);
const NOTHING = { date: null, place: "", validUntil: null, unit: "" };

for (const { description, ...said } of EXAMPLES) {
  test(`a description is read: ${JSON.stringify(description).slice(0, 60)}`, () => {
    const { clock: _, ...about } = JSON.parse(JSON.stringify(readAbout(description)));
    const isText = Object.keys(said).length === 0;

    assert.deepEqual(about, {
      ...NOTHING,
      text: isText ? description : "",
      ...said,
    });
  });
}

test("what is written is read back, in the time of this device", () => {
  const about = {
    text: "Songs.\n\nPlace: none",
    date: new Date(2026, 6, 5, 20, 30),
    place: "Moonlight Club",
    validUntil: new Date(2026, 11, 6, 2),
    unit: "ticket/tickets",
  };

  const { clock: _, ...read } = readAbout(writeAbout(about));
  assert.deepEqual(read, about);
  assert.match(writeAbout(about), /^Songs\.\n\nPlace: none\n\nDate: 2026-07-05 20:30 /);
  assert.equal(writeAbout({ text: " a " }), "a");
});

test("a time is told as clocks show it where it is, wherever it is read", () => {
  const said = (year) => {
    const times = `Date: ${year}-12-05 20:00 +09:30\nValid until: ${year}-12-06 02:00 -08:00`;
    const about = readAbout(times);
    return [whenText(about), untilText(about)].map((text) =>
      text.replace(/[\u202f\u00a0]/g, " "),
    );
  };

  assert.deepEqual(said(2126), [
    "Thu, Dec 5, 2126 · 8:00 PM",
    "Valid until Fri, Dec 6, 2126 · 2:00 AM",
  ]);
  assert.equal(said(2025)[1], "Expired on Sat, Dec 6, 2025 · 2:00 AM");
  assert.equal(untilText(readAbout("")), "");
});

test("facts of a long description are text, and it is read in no time", () => {
  for (const part of ["\n", " ", "\n ", "Place: a\n", "Unit: a/"]) {
    const description = `${part.repeat(1_000_000)}x`;

    assert.equal(readAbout(description).text, description);
  }
});

const VECTORS = new URL("../../../vectors/metadata.json", import.meta.url);
const textOf = (pieces) =>
  pieces && pieces.map(([text, count]) => text.repeat(count)).join("");

for (const { name, metadata, kept } of JSON.parse(readFileSync(VECTORS, "utf8"))) {
  test(`of metadata a wallet file keeps what is read offline: ${name}`, () => {
    assert.equal(cutMetadata(textOf(metadata)), textOf(kept));
  });
}
