import assert from "node:assert/strict";
import { test } from "node:test";

import { isFound } from "../../../../../deeds/page/static/js/pages/wallet/links_view.js";

test("a link is found by its whole number or by a part of its note", () => {
  const link = { number: 1017, note: "Anna, Table 4" };

  for (const text of ["", "1017", " 1 017", "1\u202f017", "table", "ANNA"])
    assert.ok(isFound(link, text), text);
  for (const text of ["101", "17", "5", "Berta"]) assert.ok(!isFound(link, text), text);
});
