// What an output is by the operations that name it, as in the Python client.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { unitsOf } from "../../../../parts/pages/static/js/wallet/records.js";
import {
  AT_REST,
  OUTPUT_STATES,
  believed,
  inState,
  stateOf,
  withEnds,
} from "../../../../parts/pages/static/js/wallet/states.js";

const read = (path) =>
  JSON.parse(readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8"));
const CASES = read("vectors/states.json");
/** Records that the page wrote while it stored states, and what else it could. */
const STORED = read("page/store_4.json");

/** Return so many ends of operations, each with a key of its own. */
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

test("what an older page called ours, or spent, stays so", () => {
  const { outputs, operations, becomes } = STORED;
  const rest = ({ state, before = state }) => AT_REST.includes(before);

  const convert = (stored) => withEnds(stored, operations).map(believed).map(inState);

  const converted = convert(outputs);

  assert.deepEqual(new Set(outputs.map(({ state }) => state)), new Set(OUTPUT_STATES));
  for (const [place, output] of converted.entries()) {
    const { key, state } = outputs[place];
    assert.equal(output.state, becomes[key] ?? state, key);
  }
  const count = (all) => unitsOf(all.filter(rest));
  assert.equal(count(converted), count(outputs));
  assert.deepEqual(convert(converted), converted);
});
