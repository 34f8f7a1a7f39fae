// How many units links hold.

import assert from "node:assert/strict";
import { test } from "node:test";

import { sumOfLinks } from "../../../../../deeds/page/static/js/pages/mint/form.js";

test("the sum of links is said with the issuer's word for a unit", () => {
  assert.equal(sumOfLinks({ count: 1, each: 40 }, "").text, "1 link, 40 units");
  const text = (count, each) => sumOfLinks({ count, each }, "ticket").text;
  assert.equal(text(200, 1), "200 links, 1 ticket each: 200 in all");
  assert.equal(text(3, 2), "3 links, 2 × ticket each: 6 in all");
  assert.throws(() => sumOfLinks({ count: 10_001, each: 1 }, ""), {
    name: "WalletError",
  });
});
