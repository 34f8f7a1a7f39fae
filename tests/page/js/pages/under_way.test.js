// A series of links goes on batch by batch.

import assert from "node:assert/strict";
import { test } from "node:test";

import { seriesMaker } from "../../../../parts/pages/static/js/pages/under_way.js";

test("a batch of links that has no answer is waited for, before any other is asked for", async () => {
  const [asked, woken, listeners] = [[], [], []];
  const operations = new Map([["k", { key: "k", state: "begun" }]]);
  const problem = new Error();
  const wallet = {
    async prepareNext(itemId) {
      asked.push(itemId);
      return asked.length > 1 ? null : { operation: operations.get("k"), problem };
    },
  };
  const store = {
    onChange: (listener) => (listeners.push(listener), () => {}),
    read: async (_wanted, look) => look({ operations }),
  };
  const goOn = seriesMaker(
    { wallet, store, wake: (why) => woken.push(why) },
    () => "a",
  );

  goOn();
  for (let times = 0; times < 5; times += 1) await Promise.resolve();
  const going = goOn();
  assert.deepEqual([asked, woken], [["a"], [problem]]);
  operations.set("k", { key: "k", state: "done" });
  listeners.forEach((listener) => listener());
  await going;

  assert.deepEqual(asked, ["a", "a"]);
});
