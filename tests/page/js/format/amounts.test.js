// Amounts as people write and read them.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  AMOUNT_MAX,
  AmountError,
  parseAmount,
  isUnit,
  sumOf,
  unitsText,
} from "../../../../parts/pages/static/js/format/amounts.js";
import { formatAmount } from "../../../../parts/pages/static/js/format/gettext.js";

const READ = [
  ["1", 1],
  [" 5 ", 5],
  ["007", 7],
  ["1 000", 1000],
  ["1\u202f000\u202f000", 1_000_000],
  ["10,000", 10_000],
  ["9,007,199,254,740,991", AMOUNT_MAX],
  ["9007199254740991", AMOUNT_MAX],
];

const REFUSED = [
  "",
  " ",
  "0",
  "000",
  "-1",
  "+1",
  "1.5",
  "1,00",
  "1000,000",
  ",000",
  "1,000,",
  "1,000.5",
  "1e3",
  "0x10",
  "1  000",
  "1_000",
  "\u0665",
  "five",
  "Infinity",
  "9007199254740992",
  "9007199254740993",
  "9".repeat(400),
];

for (const [text, amount] of READ) {
  test(`${JSON.stringify(text)} is the amount ${amount}`, () => {
    assert.equal(parseAmount(text), amount);
  });
}

for (const text of REFUSED) {
  test(`${JSON.stringify(text.slice(0, 20))} is no amount`, () => {
    assert.throws(() => parseAmount(text), AmountError);
  });
}

test("digits are grouped and read back", () => {
  const amounts = [1, 12, 123, 1234, 123456, 1234567, AMOUNT_MAX];

  assert.deepEqual(amounts.map(formatAmount).slice(2, 6), [
    "123",
    "1\u202f234",
    "123\u202f456",
    "1\u202f234\u202f567",
  ]);
  assert.deepEqual(amounts.map(formatAmount).map(parseAmount), amounts);
});

test("units are counted in the issuer's words, as far as there are any", () => {
  const said = (unit) => [1, 1000].map((amount) => unitsText(amount, unit));

  assert.deepEqual(said(""), ["1 unit", "1\u202f000 units"]);
  assert.deepEqual(said("ticket"), ["1 ticket", "1\u202f000 × ticket"]);
  assert.deepEqual(said("€"), ["1 €", "1\u202f000 €"]);
  assert.deepEqual(said("ticket/tickets"), ["1 ticket", "1\u202f000 tickets"]);
});

test("a unit has a word for one, and may have one for several", () => {
  const longest = "\u{1d538}".repeat(20);

  assert.ok(["ticket", "ticket/tickets", "€", `${longest}/${longest}`].every(isUnit));
  for (const text of ["", "/", "a/", "/a", "a/b/c", "a/ b", `a/${longest}x`])
    assert.equal(isUnit(text), false);
});

test("a sum is exact up to what an item can hold, and refused above", () => {
  assert.equal(sumOf([]), 0);
  assert.equal(sumOf([AMOUNT_MAX - 1, 1]), AMOUNT_MAX);
  assert.throws(() => sumOf([AMOUNT_MAX, 1]), AmountError);
  assert.throws(() => sumOf([AMOUNT_MAX, AMOUNT_MAX]), AmountError);
});
