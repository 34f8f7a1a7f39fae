// What a browser must have for secrets to be made and kept.

import assert from "node:assert/strict";
import { test } from "node:test";

import { whatIsMissing } from "../../../../parts/pages/static/js/ui/forms.js";

const ALL = { isSecureContext: true, crypto, indexedDB: {} };

const LACKING = [
  [{}, /^$/],
  [{ isSecureContext: false }, /^This page was.* loaded over https/],
  [{ crypto: {} }, /^This browser is too old for this page/],
  [{ indexedDB: undefined }, /doesn.t let pages store data/],
];

for (const [lack, said] of LACKING) {
  test(`what is missing is said: ${Object.keys(lack)}`, () => {
    assert.match(whatIsMissing({ ...ALL, ...lack }).join(" "), said);
  });
}
