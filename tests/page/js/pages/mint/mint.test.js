// The hints on secrets and images, and how many units links hold.

import assert from "node:assert/strict";
import { test } from "node:test";

import { sumOfLinks } from "../../../../../deeds/page/static/js/pages/mint/form.js";
import { adviceFor } from "../../../../../deeds/page/static/js/pages/mint/image_field.js";
import { leftCount } from "../../../../../deeds/page/static/js/pages/mint/result.js";
import { hintOf } from "../../../../../deeds/page/static/js/pages/mint/output_rows.js";

const HINTS = [
  [/Easy/, ["a", "1234567890", "aaaaaaaaaaaaaaaaaaaa", "password1", "abcdefghijklmnop", "qwerty12"]],
  [/Could/, ["kanal-turm", "xk29fh3mq", "äöü straße über"]],
  [/Hard/, ["correct horse battery staple", "Zw9!kfQ2#mXp"]],
];

for (const [hint, secrets] of HINTS) {
  for (const secret of secrets) {
    test(`${JSON.stringify(secret)}: ${hint.source}`, () => {
      assert.match(hintOf(secret), hint);
    });
  }
}

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
    assert.equal(adviceFor(width, height), "");
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

test("the sum of links is said with the issuer's word for a unit", () => {
  assert.equal(sumOfLinks({ count: 1, each: 40 }, "").text, "1 link × 40 units = 40");
  assert.equal(sumOfLinks({ count: 200, each: 1 }, "ticket").text, "200 links × 1 ticket = 200");
  assert.throws(() => sumOfLinks({ count: 10_001, each: 1 }, ""), { name: "WalletError" });
});

test("what is left of a series is counted in links, also while a batch is on its way", () => {
  const outputs = [
    { amount: 2, state: "held" },
    { amount: 140, each: 2, state: "leaving" },
    { amount: 78, each: 2, state: "coming" },
    { amount: 200, each: 2, state: "spent" },
  ];

  assert.equal(leftCount(outputs), 70);
});
