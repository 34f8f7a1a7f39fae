// A service that says to wait is left alone with all that was begun.

import assert from "node:assert/strict";
import { test } from "node:test";

import { walletHolding, walletMeeting } from "./parts.js";

test("once the service says to wait, nothing more of what was begun is sent", async () => {
  const ground = await walletHolding(5, 6);
  for (const amount of [5, 6])
    await walletMeeting(ground, () => "lost").send(ground.itemId, amount);

  const outcomes = await walletMeeting(ground, () => "busy").finishBegun();

  assert.equal(outcomes.length, 1);
});
