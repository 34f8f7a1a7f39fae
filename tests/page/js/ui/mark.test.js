import assert from "node:assert/strict";
import { test } from "node:test";

import { markShape, markText } from "../../../../deeds/page/static/js/ui/card.js";

test("the text of a mark is both ends of the id", () => {
  assert.equal(markText("deed_7kq2aaaaaaaaaaaaaaaaaam9xd"), "7kq2·m9xd");
  assert.equal(markText("anything"), "anyt·hing");
});

test("a letter anywhere in the middle makes another picture, whose halves mirror each other", () => {
  const letters = "0123456789abcdefgh";
  const ids = [letters, ...[...letters].map((letter) => letters.replace(letter, "z"))];
  const shapes = ids.map((middle) => markShape(`deed_aaaa${middle}bbbb`));

  assert.equal(new Set(shapes.map((shape) => JSON.stringify(shape))).size, ids.length);
  for (const { cells, hue } of shapes) {
    const places = new Set(cells.map(String));
    assert.ok(
      cells.every(([x, y]) => x < 5 && y < 5 && places.has(String([4 - x, y]))),
    );
    assert.ok(hue >= 0 && hue < 360);
  }
});
