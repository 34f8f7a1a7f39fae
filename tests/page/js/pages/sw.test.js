import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { runInNewContext } from "node:vm";

const TEXT = readFileSync(
  new URL("../../../../parts/pages/static/sw.js", import.meta.url),
  "utf8",
);
const ORIGIN = "https://deeds.test";
const RELEASE = { pages: ["/", "/claim", "/offer", "/wallet"] };
const KEPT = { text: "kept" };

/** Return what asks a worker; `undefined` is what it leaves to the browser. */
function workerWith({ fetch, isKept = true }) {
  const listeners = {};
  const timers = [];
  const self = {
    location: { origin: ORIGIN },
    addEventListener: (kind, listener) => (listeners[kind] = listener),
  };
  const caches = {
    keys: async () => ["deeds-pages-a"],
    match: async (page, { cacheName }) =>
      isKept && RELEASE.pages.includes(page) && cacheName ? KEPT : undefined,
  };
  const setTimeout = (resolve, milliseconds, value) =>
    timers.push([milliseconds, resolve, value]);
  runInNewContext(TEXT, { RELEASE, self, caches, fetch, setTimeout, URL });
  const ask = (path, { mode = "navigate", method = "GET" } = {}) => {
    let answer;
    const request = { url: new URL(path, ORIGIN).href, mode, method };
    listeners.fetch({ request, respondWith: (promise) => (answer = promise) });
    return answer;
  };
  return { ask, timers };
}

test("nothing but pages and their files goes through the worker", () => {
  const { ask } = workerWith({ fetch: () => assert.fail("asked") });

  for (const path of [
    "/item/deed_x",
    "/docs",
    "/v1/info",
    "/claim/a/b",
    "/web/qr",
    "/sw.js",
  ]) {
    assert.equal(ask(path), undefined, path);
    assert.equal(ask(path, { mode: "cors" }), undefined, path);
  }
  for (const path of ["/web/0123456789abcdef/a.js", "https://example.net/wallet"]) {
    assert.equal(ask(path, { mode: "cors", method: "POST" }), undefined, path);
    assert.equal(ask(path), undefined, path);
  }
});

const FROM_NETWORK = {
  "a page": [async () => ({ status: 200, text: "now" }), "now"],
  "a refusal": [async () => ({ status: 404, text: "none" }), "none"],
  "a proxy without its service": [async () => ({ status: 502, text: "bad" }), "kept"],
  "no network": [async () => Promise.reject(new TypeError("Failed to fetch")), "kept"],
};

for (const [name, [fetch, shown]] of Object.entries(FROM_NETWORK)) {
  test(`of what comes for a page, this is shown: ${name}`, async () => {
    const { ask } = workerWith({ fetch });

    for (const path of ["/wallet", "/claim/deed_x?utm=a", "/offer/offer_x", "/"]) {
      assert.equal((await ask(path)).text, shown);
    }
  });
}

test("a page that has not come after four seconds is the one that is kept", async () => {
  const { ask, timers } = workerWith({ fetch: () => new Promise(() => {}) });

  const answer = ask("/wallet");
  while (!timers.length) await new Promise(setImmediate);
  const [[milliseconds, resolve, value]] = timers;
  resolve(value);

  assert.equal(milliseconds, 4000);
  assert.equal((await answer).text, "kept");
});

test("where nothing is kept the network alone answers", async () => {
  const { ask, timers } = workerWith({
    fetch: async () => ({ status: 503 }),
    isKept: false,
  });

  assert.equal((await ask("/wallet")).status, 503);
  assert.deepEqual(timers, []);
});
