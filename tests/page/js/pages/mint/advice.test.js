// The hints on secrets and images.

import assert from "node:assert/strict";
import { test } from "node:test";

import { adviceFor } from "../../../../../deeds/page/static/js/pages/mint/image_field.js";
import { hintOf } from "../../../../../deeds/page/static/js/pages/mint/secret_hint.js";

const LEVELS = {
  weak: [
    "",
    "a",
    "1234567890",
    "aaaaaaaaaaaaaaaaaaaa",
    "password1",
    "abcdefghijklmnop",
    "qwerty12",
  ],
  fair: ["kanal-turm", "xk29fh3mq"],
  good: ["correct horse battery staple", "Zw9!kfQ2#mXp", "äöü straße über"],
};

for (const [level, secrets] of Object.entries(LEVELS)) {
  for (const secret of secrets) {
    test(`${JSON.stringify(secret)} is ${level}`, () => {
      assert.equal(hintOf(secret, false).level, level);
    });
  }
}

test("a machine's secret is strong, and every level has a text of its own", () => {
  const hints = [hintOf("", false), hintOf("kanal-turm", false), hintOf("", true)];
  hints.push(hintOf("correct horse battery staple", false));

  assert.deepEqual(
    hints.map((hint) => hint.level),
    ["weak", "fair", "strong", "good"],
  );
  assert.equal(new Set(hints.map((hint) => hint.text)).size, 4);
});

const FITTING = [
  [320, 320],
  [320, 400],
  [1080, 1080],
  [1080, 1350],
  [764, 400],
  [1080, 566],
];

for (const [width, height] of FITTING) {
  test(`${width} x ${height} needs no advice`, () => {
    assert.equal(adviceFor(width, height), null);
  });
}

const ADVISED = [
  [319, 319, /^It is 319 pixels wide: from 320 on it looks sharp\.$/],
  [1081, 1081, /^It is 1081 pixels wide: 1080 are enough\.$/],
  [320, 401, /^It is very tall/],
  [765, 400, /^It is very wide/],
  [2000, 100, /1080 are enough\. It is very wide/],
  [0, 0, /no size/],
];

for (const [width, height, advice] of ADVISED) {
  test(`${width} x ${height} gets advice`, () => {
    assert.match(adviceFor(width, height), advice);
  });
}
