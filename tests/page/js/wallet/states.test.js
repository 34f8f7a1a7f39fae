// The states of outputs, derived from operations as in the Python client.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { stateOf } from "../../../../parts/pages/static/js/wallet/states.js";

const FILE = new URL("../../../vectors/states.json", import.meta.url);
const CASES = JSON.parse(readFileSync(FILE, "utf8"));

/** Return states of operations by key, each with a key of its own. */
const endsOf = (role, ends = []) =>
  Object.fromEntries(ends.map((end, place) => [`${role} ${place}`, end]));

for (const { shows, facts, takers, makers, is } of CASES) {
  test(`${shows} is ${is.state}`, () => {
    const ends = {
      takers: endsOf("taker", takers),
      makers: endsOf("maker", makers),
    };

    const { state, before, neverHeld } = stateOf({ ...facts, ...ends });

    const expected = { before: undefined, neverHeld: undefined, ...is };
    assert.deepEqual({ state, before, neverHeld }, expected);
  });
}
