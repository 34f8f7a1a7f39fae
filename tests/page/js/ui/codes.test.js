// Where QR codes come from: what the wallet keeps, else the service, which draws many
// at once.

import assert from "node:assert/strict";
import { test } from "node:test";

import { claimLink } from "../../../../parts/pages/static/js/format/claim_link.js";
import { codesOf, keepReady } from "../../../../parts/pages/static/js/ui/link_view.js";

import { memoryStore } from "../wallet/memory_store.js";

const outputs = Array.from({ length: 150 }, (_, place) => ({
  key: `k${place}`,
  n: place,
}));
const link = ({ n }) => `link ${n}`;

/** Return tools whose service refuses the first requests with these errors. */
function makeTools(kept = [], errors = []) {
  const codes = new Map(kept);
  const asked = [];
  const wallet = {
    codes: async (keys) => new Map([...codes].filter(([key]) => keys.includes(key))),
    keepCodes: async (more) => more.forEach(({ key, svg }) => codes.set(key, svg)),
  };
  const api = {
    async qr(texts) {
      if (errors.length) throw errors.shift();
      asked.push(texts.length);
      const bytes = Buffer.byteLength(texts.join(""));
      assert.ok(
        texts.length <= 64 && bytes <= 12_288,
        `${texts.length} of ${bytes} bytes`,
      );
      return texts.map((text) => `code of ${text}`);
    },
  };
  return { tools: { wallet, api }, codes, asked };
}

const refusal = (status, retryAfterS = null) =>
  Object.assign(new Error(), { name: "ProblemError", status, retryAfterS });

test("codes that are not kept are asked for in batches, and kept", async () => {
  const { tools, codes, asked } = makeTools([["k3", "kept"]]);
  const progress = [];

  const found = await codesOf(outputs, tools, {
    link,
    onProgress: (count) => progress.push(count),
  });

  assert.deepEqual(asked, [64, 64, 21]);
  assert.deepEqual(progress, [1, 65, 129, 150]);
  assert.equal(found.get("k3"), "kept");
  assert.equal(found.get("k149"), "code of link 149");
  assert.deepEqual(new Map([...found].sort()), new Map([...codes].sort()));
});

test("the longest links fit into their batches, and a device without room for codes shows them", async () => {
  const { tools, asked } = makeTools();
  tools.wallet.keepCodes = async () => Promise.reject(new Error("full"));
  const itemId = `deed_${"0".repeat(26)}`;
  const secret = "\u{1f600}".repeat(32);
  const unit = "\u{1f600}".repeat(20);
  const output = { itemId, amount: 2 ** 53 - 1, secret };
  const long = claimLink(`https://${"a".repeat(60)}.example`, output, { unit });

  const found = await codesOf(outputs, tools, {
    link: ({ n }) => (n % 2 ? long : "s"),
  });

  assert.equal(found.size, 150);
  assert.deepEqual(asked, [...Array(9).fill(16), 6]);
});

test("a busy service is asked again after as long as it says, and no other refusal is", async () => {
  const { tools, asked } = makeTools([], [refusal(503, 7), refusal(503)]);
  const waited = [];
  const wait = async (milliseconds) => waited.push(milliseconds);

  await codesOf(outputs.slice(0, 2), tools, { link, wait });
  assert.deepEqual([waited, asked], [[7000, 1000], [2]]);

  const refused = makeTools([], [refusal(400)]);
  await assert.rejects(codesOf(outputs, refused.tools, { link, wait }), {
    status: 400,
  });
  assert.deepEqual(refused.asked, []);
});

test("codes that came before an answer was missing are not asked for again", async () => {
  const { tools, asked } = makeTools();
  const ask = tools.api.qr;
  tools.api.qr = async (texts) => {
    if (asked.length === 2) throw new Error("no answer");
    return ask(texts);
  };
  await assert.rejects(codesOf(outputs, tools, { link }));
  tools.api.qr = ask;

  await codesOf(outputs, tools, { link });

  assert.deepEqual(asked, [64, 64, 22]);
});

test("the codes of what others made and is held are fetched, the latest fifty, with what they say", async () => {
  globalThis.location ??= /** @type {any} */ ({ origin: "https://deeds.example" });
  const store = memoryStore();
  const held = (place, more = {}) => {
    const secret = `s${place}`;
    const output = { itemId: "deed_theirs", secret, amount: 1, state: "held", ...more };
    return { key: `${output.itemId}.${secret}`, createdAt: place, ...output };
  };
  const theirs = Array.from({ length: 60 }, (_, place) => held(place, { said: 7 }));
  store.put({
    items: [
      { key: "deed_theirs", unit: "ticket" },
      { key: "deed_mine", isMinted: true },
    ],
    outputs: [
      ...theirs,
      held(99, { state: "spent" }),
      held(98, { collectedAt: 1 }),
      held(97, { itemId: "deed_mine" }),
    ],
  });
  const { tools, codes, asked } = makeTools([[theirs[59].key, "kept"]]);

  await keepReady({ ...tools, store });

  assert.deepEqual(asked, [49]);
  const latest = theirs.slice(10).map(({ key }) => key);
  assert.deepEqual([...codes.keys()].sort(), latest.sort());
  assert.equal(
    codes.get(theirs[10].key),
    `code of ${claimLink(globalThis.location.origin, theirs[10], { unit: "ticket", said: 7 })}`,
  );
});
