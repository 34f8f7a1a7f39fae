import assert from "node:assert/strict";
import { test } from "node:test";
import { untilGone } from "../../../../deeds/page/static/js/ui/scan.js";

/** Return what is told when these texts are in sight, by the moment in milliseconds. */
function told(...looks) {
  const found = [];
  let moment = 0;
  const look = untilGone(
    (text) => found.push(`${moment} ${text}`),
    () => moment,
  );
  for (const [atMs, ...texts] of looks) {
    moment = atMs;
    look(texts);
  }
  return found;
}

test("a code is told once while it stays in sight, a blurred picture or two between", () => {
  const tenLooks = Array.from({ length: 10 }, (_, n) => [n * 200, ...(n % 3 ? ["a"] : [])]);

  assert.deepEqual(told(...tenLooks), ["200 a"]);
});

test("the next one is told at once, and the first again only after it was gone for a while", () => {
  const looks = [[0, "a"], [300, "b"], [600, "a"], [900], [2099], [2101, "a"], [2200, "b"]];

  assert.deepEqual(told(...looks), ["0 a", "300 b", "2101 a", "2200 b"]);
});

test("of several in one picture each is told, one a look", () => {
  assert.deepEqual(told([0, "a", "b"], [150, "a", "b"], [300, "", "a", "b"]), ["0 a", "150 b"]);
});
