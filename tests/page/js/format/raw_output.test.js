// The grammar of raw outputs (contract 2.1), as
// tests/contract/test_raw_output.py holds it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { AMOUNT_MAX } from "../../../../parts/pages/static/js/format/amounts.js";
import {
  formatRawOutput,
  parseRawOutput,
  RawOutputError,
} from "../../../../parts/pages/static/js/format/raw_output.js";

const MARK = "mark-7c1f9e";

const ACCEPTED = {
  "the contract's form": ["+5.deed_x.a", 5, "deed_x", "a"],
  "largest amount": [`+${AMOUNT_MAX}.deed_x.a`, AMOUNT_MAX, "deed_x", "a"],
  "dots in the secret": ["+5.deed_x.a.b..", 5, "deed_x", "a.b.."],
  "pluses in the secret": ["+5.deed_x.+5.deed_x.a", 5, "deed_x", "+5.deed_x.a"],
  "blanks in the secret": ["+5.deed_x.  ", 5, "deed_x", "  "],
  "line end in the secret": ["+5.deed_x.a\nb", 5, "deed_x", "a\nb"],
  "a NUL in the secret": ["+5.deed_x.\0", 5, "deed_x", "\0"],
  "32 characters of two units each": [
    `+5.deed_x.${"😀".repeat(32)}`,
    5,
    "deed_x",
    "😀".repeat(32),
  ],
  "prefix alone": ["+5.deed_.a", 5, "deed_", "a"],
  "odd item id": ["+5.deed_é +.a", 5, "deed_é +", "a"],
};

const REFUSED = {
  empty: "",
  "plus alone": "+",
  "no plus": "5.deed_x.a",
  minus: "-5.deed_x.a",
  "space before": " +5.deed_x.a",
  "two pluses": "++5.deed_x.a",
  "amount missing": "+.deed_x.a",
  zero: "+0.deed_x.a",
  "leading zero": "+05.deed_x.a",
  negative: "+-5.deed_x.a",
  fraction: "+1.5.deed_x.a",
  exponent: "+1e2.deed_x.a",
  hexadecimal: "+0x5.deed_x.a",
  underscore: "+1_0.deed_x.a",
  "space in amount": "+5 .deed_x.a",
  "line end in amount": "+5\n.deed_x.a",
  "digits of another script": "+\u0665.deed_x.a",
  superscript: "+\u00b2.deed_x.a",
  "one too many": "+9007199254740992.deed_x.a",
  "two too many": "+9007199254740993.deed_x.a",
  "17 digits": "+10000000000000000.deed_x.a",
  "endless digits": `+${"9".repeat(100_000)}.deed_x.a`,
  "amount alone": "+5",
  "two parts": "+5.deed_x",
  "item id missing": "+5..a",
  "item id without prefix": "+5.x.a",
  "item id in upper case": "+5.DEED_x.a",
  "space before item id": "+5. deed_x.a",
  "secret missing": "+5.deed_x.",
  "secret of 33": `+5.deed_x.${"a".repeat(33)}`,
  "secret of 33 characters of two units": `+5.deed_x.${"😀".repeat(33)}`,
  "surrogate in secret": "+5.deed_x.\ud800",
  "surrogates in the wrong order": "+5.deed_x.\ude00\ud83d",
  "surrogate in item id": "+5.deed_\udfff.a",
  "surrogate in amount": "+5\ud800.deed_x.a",
};

for (const [name, [text, amount, itemId, secret]] of Object.entries(ACCEPTED)) {
  test(`a raw output is read and written back: ${name}`, () => {
    assert.deepEqual(parseRawOutput(text), { amount, itemId, secret });
    assert.equal(formatRawOutput({ amount, itemId, secret }), text);
  });
}

for (const [name, text] of Object.entries(REFUSED)) {
  test(`another form is refused: ${name}`, () => {
    assert.throws(() => parseRawOutput(text), RawOutputError);
  });
}

test("no message quotes what was refused", () => {
  const texts = [
    `+0.deed_x.${MARK}`,
    `+5.x.${MARK}`,
    `5.deed_x.${MARK}`,
    `+5.deed_x.${MARK.repeat(9)}`,
  ];

  for (const text of texts) {
    assert.throws(
      () => parseRawOutput(text),
      (error) => !String(error).includes(MARK),
    );
  }
});
