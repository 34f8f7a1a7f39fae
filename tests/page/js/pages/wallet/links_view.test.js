import assert from "node:assert/strict";
import { test } from "node:test";

import { isFound } from "../../../../../parts/pages/static/js/pages/wallet/links_view.js";

test("a link is found by its whole number, as rows say it too, or by a part of its note", () => {
  const link = { number: 1017, of: 2000, note: "Anna Müller, Table 4" };

  const numbers = ["1017", " 1 017", "1\u202f017", "1 017 of 2 000"];
  for (const text of ["", ...numbers, "table", "ANNA", "muller", "Mu\u0308ller"])
    assert.ok(isFound(link, text), text);
  for (const text of ["101", "17", "5", "17 of 2000", "Berta"])
    assert.ok(!isFound(link, text), text);
});

test("a link of several tickets is found by each of their numbers", () => {
  const link = { numbers: [2, 3, 4, 200], amount: 4, note: "" };

  for (const text of ["2", "3", "200", "2–4, 200", "2-4,200"])
    assert.ok(isFound(link, text), text);
  for (const text of ["20", "0", "5", "2–4"]) assert.ok(!isFound(link, text), text);
});
