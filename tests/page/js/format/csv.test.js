// Files for spreadsheets.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import {
  csvOf,
  separatorOf,
  statesCsvOf,
} from "../../../../parts/pages/static/js/format/csv.js";

const CELLS = JSON.parse(
  readFileSync(new URL("../../../vectors/csv.json", import.meta.url), "utf8"),
);
for (const separator of [",", ";"]) {
  test(`a file for spreadsheets has the client's cells, between ${separator}`, () => {
    const outputs = CELLS.map(({ cell }) => ({ amount: 5, note: cell }));

    const text = csvOf(outputs, () => "https://a/claim", separator);

    const quoted = (cell) =>
      /[",;\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
    const rows = CELLS.map(({ written }) => [
      "",
      5,
      "https://a/claim",
      quoted(written),
    ]);
    const lines = [["number", "units", "link", "note"], ...rows, [""]];
    const expected = lines.map((row) => row.join(separator)).join("\r\n");
    assert.equal(text, `\ufeff${expected}`);
  });
}

test("spreadsheets take semicolons where a decimal comma is written", () => {
  assert.deepEqual(["en", "de"].map(separatorOf), [",", ";"]);
});

test("a file of states has all that is known of each link, and no link", () => {
  const at = new Date(2030, 5, 1, 19, 42, 7).getTime();
  const output = { number: 4, of: 9, issue: 2, amount: 1, note: " =Anna", secret: "s" };

  const text = statesCsvOf(
    [
      { output: { ...output, issue: 1 }, state: "undone" },
      { output, state: "admitted", at },
      { output: { amount: 5 }, state: "waiting", at: 0 },
      { output: { amount: 3, numbers: [5, 6, 7] }, state: "waiting", at: 0 },
    ],
    ({ state }) => [`is ${state}`, ""],
    { redeemed: 2, made: 6 },
    ",",
  );

  assert.deepEqual(text.slice(1).split("\r\n"), [
    "number,issue,units,state,time,note,said",
    "4,1,0,is undone,,' =Anna,",
    "4,2,1,is admitted,2030-06-01 19:42:07,' =Anna,",
    ",,5,is waiting,,,",
    "5–7,1,3,is waiting,,,",
    ",,-2,redeemed,,,",
    ",,-1,in two rows: claimed and admitted,,,",
    "",
  ]);
});
