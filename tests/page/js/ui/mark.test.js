import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { patternOf } from "../../../../parts/pages/static/js/ui/card.js";

const VECTORS = JSON.parse(
  readFileSync(new URL("../../../vectors/patterns.json", import.meta.url), "utf8"),
);

for (const { itemId, hue, lightHue, rows } of VECTORS)
  test(`the pattern of ${itemId} is the one that Python draws`, () => {
    const petals = (bit, draw) =>
      [0, 1, 2, 3, 4, 5, 6, 7].flatMap((x) =>
        rows.flatMap((row, y) => (row[x] === bit ? [draw(x, y)] : [])),
      );
    assert.deepEqual(patternOf(itemId), [
      [`oklch(0.4 0.085 ${hue})`, "M0 0h8v5H0z"],
      [
        `oklch(0.55 0.105 ${hue})`,
        petals("0", (x, y) => `M${x + 1} ${y}a1 1 0 0 0-1 1 1 1 0 0 0 1-1`).join(""),
      ],
      [
        `oklch(0.82 0.115 ${lightHue})`,
        petals("1", (x, y) => `M${x} ${y}a1 1 0 0 1 1 1 1 1 0 0 1-1-1`).join(""),
      ],
    ]);
  });
