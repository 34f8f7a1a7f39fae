// What the My deeds page says of operations.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  operationText,
  quoted,
  timeText,
} from "../../../../deeds/page/static/js/texts/operations.js";
test("an operation is told in words, whatever became of it", () => {
  const told = (kind, state) => operationText({ kind, state, amount: 1, itemId: "deed_a" }, "A");
  const kinds = ["mint", "claim", "send", "split", "merge", "takeBack"];

  assert.deepEqual(
    kinds.map((kind) => told(kind, "done")),
    [
      "Minted 1 unit of “A”",
      "Claimed 1 unit of “A”",
      "Made a link of 1 unit of “A”",
      "Split 1 unit of “A”",
      "Merged 1 unit of “A”",
      "Took back 1 unit of “A”",
    ],
  );
  assert.equal(told("send", "begun"), "Making a link of 1 unit of “A”");
  // A mint has no item before it is answered.
  assert.equal(operationText({ kind: "mint", state: "begun", amount: 2 }, ""), "Minting 2 units");
});

test("a name of any length and form takes one short line", () => {
  assert.equal(quoted(" a\n\n b "), "“a b”");
  assert.equal(quoted("😀".repeat(60)), `“${"😀".repeat(60)}”`);
  assert.equal(quoted("😀".repeat(61)), `“${"😀".repeat(59)}…”`);
});

test("a time that is none is not told", () => {
  assert.deepEqual([1e300, NaN, Infinity].map(timeText), ["", "", ""]);
  assert.match(timeText(0), /19(?:70|69)/);
});
