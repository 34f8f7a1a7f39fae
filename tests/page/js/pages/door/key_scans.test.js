// Scanners that act as keyboards: which keys are a scan, which are suppressed, and the
// text.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  makeKeyReader,
  textOfScan,
} from "../../../../../parts/pages/static/js/pages/door/key_scans.js";
import { makeStrongSecret } from "../../../../../parts/pages/static/js/format/raw_output.js";

const TWENTY = "x".repeat(20);

/** Return the event of a key. @returns {any} */
const keyAt = (key, timeStamp, more = {}) => ({
  key,
  code: "",
  timeStamp,
  target: { closest: () => null },
  getModifierState: () => false,
  preventDefault: () => {},
  ...more,
});

/**
 * Return the texts that are read from keys at a pace, and the keys that are suppressed.
 * At a place in `pauses` the key comes that many ms later. A busy page handles all keys
 * at once.
 */
function type({ mock }, keys, options = {}) {
  const { gapMs = 50, pauses = {}, waitsMs = 0, isBusy = false, ...more } = options;
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  const read = [];
  const heldBack = [];
  const readKey = makeKeyReader(({ byKey }) => read.push(byKey));
  let timeStamp = 1000;
  for (const [place, key] of keys.entries()) {
    const gap = pauses[place] ?? (typeof gapMs === "function" ? gapMs(place) : gapMs);
    timeStamp += gap;
    if (!isBusy) mock.timers.tick(gap);
    const preventDefault = () => heldBack.push(key);
    readKey(keyAt(key, timeStamp, { preventDefault, ...more }));
  }
  // What is late lets what has come meanwhile go first.
  for (let waited = 0; waited < waitsMs; waited += 1) mock.timers.tick(1);
  return { read, heldBack: heldBack.join(" ") };
}

test("20 quick keys are a scan, which presses nothing, and all else is left alone", (context) => {
  const scan = [TWENTY];
  const ended = [...TWENTY, "Enter"];
  for (const [expected, keys, options] of [
    [scan, ended],
    [scan, [...TWENTY, "Tab"]],
    [scan, [...TWENTY], { waitsMs: 500 }],
    [[], [...TWENTY], { waitsMs: 499 }],
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

const LINK = `https://a.test/claim/deed_${"1".repeat(26)}#+1.secret`;
/** How a person types, by the place of the key. */
const byHand = (place) => 90 + ((place * 37) % 111);

test("a scan is cut by no pause that a radio or a busy page makes", (context) => {
  const ended = [...LINK, "Enter"];
  const pauses = { 3: 130, 25: 380, 40: 60, [LINK.length]: 400 };
  for (const gapMs of [5, 45])
    for (const isBusy of [false, true])
      for (const at of [{}, { 21: 130 }, { 21: 380 }, { 1: 400 }, pauses]) {
        const { read, heldBack } = type(context, ended, { gapMs, isBusy, pauses: at });
        assert.deepEqual(read, [LINK]);
        assert.match(heldBack, /Enter$/);
      }

  // One scan after the other, by a scanner that sends no end.
  const two = type(context, [...LINK, ...LINK], {
    gapMs: 5,
    pauses: { [LINK.length]: 501 },
    waitsMs: 500,
  });
  assert.deepEqual(two.read, [LINK, LINK]);
});

test("what a person types is no scan, and none of it is held back", (context) => {
  const typed = [...LINK, "Enter"];
  for (const options of [
    { gapMs: byHand },
    { gapMs: byHand, waitsMs: 500 },
    { gapMs: byHand, pauses: { 9: 700 } },
  ])
    assert.deepEqual(type(context, typed, options), { read: [], heldBack: "" });
  // Not even when two keys are pressed at once.
  const rolled = type(context, typed, { gapMs: byHand, pauses: { 5: 20 } });
  assert.deepEqual(rolled.read, []);
  assert.doesNotMatch(rolled.heldBack, /Enter/);
  // Soon after a scan.
  const after = [...LINK, "Enter", ..."no", "Enter"];
  const gapMs = (place) => (place < LINK.length ? 5 : 200);
  const { read, heldBack } = type(context, after, { gapMs });
  assert.deepEqual([read, heldBack.match(/Enter/g)?.length], [[LINK], 1]);
});

test("a page that was busy when the time is up handles the keys of the scan first", ({
  mock,
}) => {
  const read = [];
  mock.timers.enable({ apis: ["setTimeout"] });
  const readKey = makeKeyReader(({ byKey }) => read.push(byKey));
  [...TWENTY].forEach((key, place) => readKey(keyAt(key, 1000 + 5 * place)));

  // The page stands still for a second, and its timer comes before the keys.
  mock.timers.tick(400);
  readKey(keyAt("y", 1095 + 300));
  mock.timers.tick(400);
  readKey(keyAt("Enter", 1095 + 305));

  assert.deepEqual(read, [`${TWENTY}y`]);
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
