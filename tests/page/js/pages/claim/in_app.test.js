// Which browsers are inside an app, and how links are opened outside it.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  isInApp,
  outsideOf,
} from "../../../../../parts/pages/static/js/pages/claim/in_app.js";
import { claimLink } from "../../../../../parts/pages/static/js/format/claim_link.js";

const IPHONE =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)";
const PIXEL =
  "Mozilla/5.0 (Linux; Android 15; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko)";
const VIEW =
  "Mozilla/5.0 (Linux; Android 15; Pixel 8 Build/AP3A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0";
const CHROME = "Chrome/137.0.0.0 Mobile Safari/537.36";
const INSTAGRAM = `${VIEW} ${CHROME} Instagram 382.0.0 Android`;

const OF_APPS = {
  "Facebook on an iPhone": `${IPHONE} Mobile/15E148 [FBAN/FBIOS;FBAV/518.0;FBBV/1]`,
  "Facebook on Android": `${PIXEL} ${CHROME} [FB_IAB/FB4A;FBAV/518.0;]`,
  "Instagram on an iPhone": `${IPHONE} Mobile/15E148 Instagram 382.0.0 (iPhone16,2)`,
  "Instagram on Android": INSTAGRAM,
  Line: `${IPHONE} Mobile/15E148 Safari Line/15.9.0`,
  WeChat: `${IPHONE} Mobile/15E148 MicroMessenger/8.0.60(0x18003c) NetType/WIFI`,
  Snapchat: `${IPHONE} Mobile/15E148 Snapchat/13.45 (like Safari/8620.2, panda)`,
  TikTok: `${IPHONE} Mobile/15E148 BytedanceWebview/d8a21c6 musical_ly_39.9.0`,
  LinkedIn: `${IPHONE} Mobile/15E148 [LinkedInApp]/9.31`,
  Pinterest: `${IPHONE} Mobile/15E148 [Pinterest/iOS]`,
  "any other app on Android": `${VIEW} ${CHROME}`,
};

const OF_PERSONS = {
  "Chrome on Android, and its Custom Tabs": `${PIXEL} ${CHROME}`,
  "Safari on an iPhone": `${IPHONE} Version/18.5 Mobile/15E148 Safari/604.1`,
  "Chrome on an iPhone": `${IPHONE} CriOS/137.0.0 Mobile/15E148 Safari/604.1`,
  "Firefox on Android": "Mozilla/5.0 (Android 15; Mobile; rv:139.0) Gecko/139.0",
  "a desktop": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/137.0.0.0",
};

for (const [browsers, expected] of /** @type {const} */ ([
  [OF_APPS, true],
  [OF_PERSONS, false],
])) {
  for (const [name, userAgent] of Object.entries(browsers)) {
    test(`the browser of ${name} is ${expected ? "" : "not "}an app's own`, () => {
      assert.equal(isInApp(userAgent), expected);
    });
  }
}

/** Return the link that Android makes of an address, as Intent.parseUri does. */
function parsed(intent) {
  const place = intent.lastIndexOf("#Intent;");
  assert.equal(place, intent.lastIndexOf("#"));
  const [, scheme] = /;scheme=(\w+);/.exec(intent.slice(place)) ?? [];
  return `${scheme}:${intent.slice("intent:".length, place)}`;
}

test("on Android an app is asked to open the whole link outside, whatever its secret", () => {
  const itemId = `deed_${"0".repeat(26)}`;
  const output = { amount: 5, itemId, secret: "a#Intent;b:c" };
  const link = claimLink("https://deeds.example.com:8000", output, { unit: "ticket" });

  assert.equal(parsed(outsideOf(link, INSTAGRAM)), link);
  assert.equal(outsideOf(link, OF_APPS.Line), "");
  assert.equal(outsideOf(link, OF_PERSONS["Firefox on Android"]), "");
});
