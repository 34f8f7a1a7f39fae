// How many units links hold.

import assert from "node:assert/strict";
import { test } from "node:test";

import { sumOfLinks } from "../../../../../deeds/page/static/js/pages/mint/form.js";

test("the sum of links is said with the issuer's word for a unit", () => {
  assert.equal(sumOfLinks({ count: 1, each: 40 }, "").text, "1 link × 40 units = 40");
  assert.equal(sumOfLinks({ count: 200, each: 1 }, "ticket").text, "200 links × 1 ticket = 200");
  assert.throws(() => sumOfLinks({ count: 10_001, each: 1 }, ""), { name: "WalletError" });
});
