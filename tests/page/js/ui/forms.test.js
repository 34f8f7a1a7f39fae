// What a browser must have to create and store secrets, and buttons that act once at a
// time.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  onceAtATime,
  whatIsMissing,
} from "../../../../parts/pages/static/js/ui/forms.js";

const ALL = { isSecureContext: true, crypto, indexedDB: {} };

const LACKING = [
  [{}, /^$/],
  [{ isSecureContext: false }, /^This page was.* loaded over https/],
  [{ crypto: {} }, /^This browser is too old for this page/],
  [{ indexedDB: undefined }, /doesn.t let pages store data/],
];

for (const [lack, sentence] of LACKING) {
  test(`the page says what the browser lacks: ${Object.keys(lack)}`, () => {
    assert.match(whatIsMissing({ ...ALL, ...lack }).join(" "), sentence);
  });
}

test("a button can be pressed again after its action has failed", async () => {
  const button = { disabled: false };

  await assert.rejects(onceAtATime(button, () => Promise.reject(new Error("no"))));

  assert.equal(button.disabled, false);
});
