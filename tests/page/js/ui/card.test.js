// What a card shows of metadata, which may have any form.

import assert from "node:assert/strict";
import { test } from "node:test";

import { metadataOf } from "../../../../deeds/page/static/js/ui/card.js";

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
