// A scanner that types: when keys are a scan, what is held back, and which text it is.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  makeKeyReader,
  textOfScan,
} from "../../../../../parts/pages/static/js/pages/door/key_scans.js";
import { makeStrongSecret } from "../../../../../parts/pages/static/js/format/raw_output.js";

const TWENTY = "x".repeat(20);

/**
 * Return the texts that were read of keys at this pace, and those that were held back.
 */
function type({ mock }, keys, { gapMs = 50, waitsMs = 0, ...more } = {}) {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  const read = [];
  const heldBack = [];
  const readKey = makeKeyReader(({ byKey }) => read.push(byKey));
  keys.forEach((key, place) =>
    readKey(
      /** @type {any} */ ({
        key,
        code: "",
        timeStamp: 1000 + place * gapMs,
        target: { closest: () => null },
        getModifierState: () => false,
        preventDefault: () => heldBack.push(key),
        ...more,
      }),
    ),
  );
  mock.timers.tick(waitsMs);
  return { read, heldBack: heldBack.join(" ") };
}

test("20 quick keys are a scan, which presses nothing, and all else is left alone", (context) => {
  const scan = [TWENTY];
  const ended = [...TWENTY, "Enter"];
  for (const [expected, keys, options] of [
    [scan, ended],
    [scan, [...TWENTY, "Tab"]],
    [scan, [...TWENTY], { waitsMs: 200 }],
    [[], [...TWENTY], { waitsMs: 199 }],
    [scan, ["Shift", ...TWENTY, "Shift", "Enter"]],
    [[], ended.slice(1)],
    [[], ended, { gapMs: 51 }],
    [[], ended, { ctrlKey: true }],
    [[], ended, { metaKey: true }],
    // A key that is held down.
    [[], ended, { repeat: true }],
    [[], ended, { target: { closest: () => "a field" } }],
    [scan, ended, { altKey: true, getModifierState: (name) => name === "AltGraph" }],
  ])
    assert.deepEqual(type(context, keys, options).read, expected);

  assert.equal(type(context, [...TWENTY, "Enter", "Enter"]).read.length, 1);
  const held = (...given) => type(context, ...given).heldBack.replaceAll("x ", "");
  assert.equal(held([...TWENTY, "Enter", "Enter"]), "Enter Enter");
  assert.equal(held(["x", " ", "Enter"]), " ");
  assert.equal(held(ended, { gapMs: 51 }), "");
  assert.equal(held([" ", "Enter", "Tab"]), "");
});

test("a scan is read by this layout, then the US one, and capitals only if strong", async () => {
  const strong = await makeStrongSecret();
  const link = (secret) => `https://a.test/claim/deed_${"1".repeat(26)}#+1.${secret}`;
  const [one, other, safe] = ["one", "other", strong].map(link);
  const [loud, louder] = [safe, one].map((each) => each.toUpperCase());

  for (const [expected, byKey, byCode] of [
    [one, one, other],
    [one, "httpsÖ--a", one],
    [one, loud, one],
    [safe, loud, "x"],
    [safe, "x", loud],
    [louder, louder, louder],
    ["Hello", "Hello", "hELLO"],
  ])
    assert.equal(await textOfScan({ byKey, byCode }), expected);
});
