// Claim links and pasted texts.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  claimLink,
  outputOfFragment,
  readRawOutputs,
} from "../../../../deeds/page/static/js/format/claim_link.js";
import {
  formatRawOutput,
  RawOutputError,
} from "../../../../deeds/page/static/js/format/raw_output.js";

const ORIGIN = "https://deeds.example";
const ID = `deed_${"x".repeat(26)}`;
const MADE = "7zk3f9qx2mw8v5t1rhc6yd4bnj6p7w8s";
const SECRETS = [
  MADE,
  "a",
  "a.b+c d",
  " leading and trailing ",
  "ends with a dot.",
  "(brackets)!*'~_-",
  "#?&=%41%",
  "100%",
  "a\nb\tc\0",
  "+5.deed_x.a",
  "http://a/claim#+5.deed_x.a",
  'quotes "and" <tags>`',
  "é\u0301\u00a0\u2028\ufeff",
  "😀".repeat(32),
];

const outputWith = (secret) => ({ amount: 5, itemId: ID, secret });
const fragmentOf = (link) => new URL(link).hash;

for (const secret of SECRETS) {
  const output = outputWith(secret);

  test(`a link brings its output back: ${JSON.stringify(secret)}`, () => {
    const link = claimLink(ORIGIN, output);

    assert.deepEqual(outputOfFragment(fragmentOf(link)), output);
    assert.match(link.slice(ORIGIN.length), /^\/claim#\+5\.deed_x{26}\.[A-Za-z0-9%]+$/);
  });

  test(`a link is found in a text with others: ${JSON.stringify(secret)}`, () => {
    const link = claimLink(ORIGIN, output);
    const other = outputWith(MADE);

    const found = readRawOutputs(`For you: ${link} and\n${formatRawOutput(other)}\n${link}`);

    assert.deepEqual(found, [output, other, output]);
  });
}

test("every single character makes the round trip", () => {
  for (let code = 0; code < 0x3000; code += 1) {
    const output = outputWith(String.fromCodePoint(code));

    assert.deepEqual(outputOfFragment(fragmentOf(claimLink(ORIGIN, output))), output);
  }
});

const FRAGMENTS = {
  "a secret that nobody escaped": [`#+5.${ID}.a b.c+d`, "a b.c+d"],
  "a percent sign that nobody escaped": [`#+5.${ID}.100%`, "100%"],
  "a percent sign among what the browser escaped": [`#+5.${ID}.%C3%A4%20b%`, "ä b%"],
  "escapes that are no text": [`#+5.${ID}.%FF`, "%FF"],
  "an escaped plus in front": [`#%2B5.${ID}.a`, "a"],
  "no hash sign": [`+5.${ID}.a`, "a"],
};

for (const [name, [fragment, secret]] of Object.entries(FRAGMENTS)) {
  test(`a fragment is tolerated: ${name}`, () => {
    assert.deepEqual(outputOfFragment(fragment), outputWith(secret));
  });
}

for (const fragment of ["", "#", "#x", "#+5", `#+5.${ID}`, `#+5.${ID}.`, "#+0.deed_x.a", "#main"]) {
  test(`a fragment without a deed is refused: ${JSON.stringify(fragment)}`, () => {
    assert.throws(() => outputOfFragment(fragment), RawOutputError);
  });
}

const TEXTS = {
  "one line": [`+5.${ID}.a`, ["a"]],
  "blank lines around": [`\n\n  +5.${ID}.a\r\n\r\n`, ["a"]],
  "several lines": [`+5.${ID}.a\n+5.${ID}.b\r\n+5.${ID}.c`, ["a", "b", "c"]],
  "several in a line": [`+5.${ID}.a +5.${ID}.b\t+5.${ID}.c`, ["a", "b", "c"]],
  "blanks in secrets": [`+5.${ID}.a b +5.${ID}.c  d`, ["a b", "c  d"]],
  "words around": [`Here it is:\n+5.${ID}.${MADE} - take care\nBye`, [MADE]],
  "a blank behind a made secret": [`+5.${ID}.${MADE} `, [MADE]],
  "a blank behind a made-up secret is a part of it": [`+5.${ID}.a `, ["a "]],
  "words in the next line": [`+5.${ID}.a\nhello`, ["a"]],
  "an item id of another length": ["+5.deed_x.a", ["a"], "deed_x"],
};

for (const [name, [text, secrets, itemId = ID]] of Object.entries(TEXTS)) {
  test(`outputs are found in a pasted text: ${name}`, () => {
    const outputs = secrets.map((secret) => ({ amount: 5, itemId, secret }));

    assert.deepEqual(readRawOutputs(text), outputs);
  });
}

for (const text of ["", " \n ", "hello", `+0.${ID}.a`, `+5.${ID}.a\n+5.${ID}.${"b".repeat(33)}`]) {
  test(`a text without outputs, or with a wrong one, is refused: ${JSON.stringify(text)}`, () => {
    assert.throws(() => readRawOutputs(text), RawOutputError);
  });
}
