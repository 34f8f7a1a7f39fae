import assert from "node:assert/strict";
import { test } from "node:test";

import { markShape, markText } from "../../../../parts/pages/static/js/ui/card.js";

test("the text of a mark is both ends of the id", () => {
  assert.equal(markText("deed_7kq2aaaaaaaaaaaaaaaaaam9xd"), "7kq2·m9xd");
  assert.equal(markText("anything"), "anyt·hing");
});

test("the picture has a row of cells, or a hue, for each of the letters that follow", () => {
  const all = [0, 1, 2, 3, 4];
  const { cells, hues } = markShape("deed_aaaa0z100gzaaaaaaaaaaaaaaa");

  assert.deepEqual(cells, [...all.map((x) => [x, 1]), [0, 2]]);
  assert.deepEqual(hues, [16, 31]);
});
