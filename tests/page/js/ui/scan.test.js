import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { startScan, untilGone } from "../../../../parts/pages/static/js/ui/scan.js";

/** Return which of these texts in sight are reported, each with its time in ms. */
function told(looks, isAgain = () => false) {
  const found = [];
  let moment = 0;
  const seen = new Map();
  performance.now = () => moment;
  const look = untilGone((text) => found.push(`${moment} ${text}`), seen);
  for (const [atMs, ...texts] of looks) {
    moment = atMs;
    if (isAgain(moment)) seen.clear();
    look(texts);
  }
  return found;
}

const LOOKS = {
  "a code is told once while it stays in sight, a blurred picture or two between": [
    ["200 a"],
    Array.from({ length: 10 }, (_, n) => [n * 200, ...(n % 3 ? ["a"] : [])]),
  ],
  "the next one is told at once, and the first again only after it was gone for a while":
    [
      ["0 a", "300 b", "2101 a", "2200 b"],
      [[0, "a"], [300, "b"], [600, "a"], [900], [2099], [2101, "a"], [2200, "b"]],
    ],
  "what stays in sight is told again when that is wanted": [
    ["0 a", "400 a"],
    [0, 200, 400, 600].map((atMs) => [atMs, "a"]),
    (moment) => moment === 400,
  ],
  "of several in one picture each is told, one a look": [
    ["0 a", "150 b"],
    [
      [0, "a", "b"],
      [150, "a", "b"],
      [300, "", "a", "b"],
    ],
  ],
};

for (const [name, [expected, looks, isAgain]] of Object.entries(LOOKS)) {
  test(name, () => assert.deepEqual(told(looks, isAgain), expected));
}

/**
 * Stand in for a page whose camera sees these texts; return what counts looks, and what
 * hides it.
 */
function fakePage(texts) {
  const page = new EventTarget();
  const seen = { looksCount: 0 };
  const track = { stop: () => {} };
  const stream = () => ({ getTracks: () => [track], getVideoTracks: () => [track] });
  class BarcodeDetector {
    static getSupportedFormats = async () => ["qr_code"];
    async detect() {
      seen.looksCount += 1;
      return texts.map((rawValue) => ({ rawValue }));
    }
  }
  const document = Object.assign(page, { hidden: false, body: { dataset: {} } });
  const navigator = { mediaDevices: { getUserMedia: async () => stream() } };
  const globals = { document, navigator, BarcodeDetector, isSecureContext: true };
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, configurable: true });
  }
  const turn = (hidden) => {
    document.hidden = hidden;
    page.dispatchEvent(new Event("visibilitychange"));
  };
  return { seen, turn };
}

test("a page that was hidden for a moment tells of a code once", async () => {
  const inSight = [];
  const { seen, turn } = fakePage(inSight);
  const video = { srcObject: null, play: async () => {} };
  const found = [];
  const looks = async (count) => {
    const wanted = seen.looksCount + count;
    while (seen.looksCount < wanted) await pause(5);
  };
  await startScan(video, (text) => found.push(text));
  await looks(1);
  turn(true);
  turn(false);
  const stop = await startScan(video, (text) => found.push(text));
  inSight.push("a");
  await looks(4);
  stop();

  assert.deepEqual(found, ["a"]);
});
