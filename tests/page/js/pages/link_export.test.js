// Which links are chosen for paper or a file, and the name of the file.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  chosenLinks,
  fileName,
  takeBack,
} from "../../../../parts/pages/static/js/pages/link_export.js";
import { WalletError } from "../../../../parts/pages/static/js/wallet/records.js";

const link = (number, state, more = {}) => ({
  output: { key: `k${number}`, number, amount: 1, ...more },
  state,
});
const LINKS = [
  link(1, "here"),
  link(2, "waiting"),
  link(3, "claimed"),
  link(4, "taken back"),
  link(10, "here"),
  link(undefined, "waiting", { amount: 5 }),
];

for (const [choice, chosen] of [
  [{ which: "here" }, [1, 10]],
  [{ which: "waiting" }, [2, 5]],
  [{ which: "numbers", from: " 2", to: "9" }, [2]],
  [{ which: "numbers", from: "1", to: "1 000" }, [1, 10]],
]) {
  test(`links are chosen: ${JSON.stringify(choice)}`, () => {
    const found = chosenLinks(LINKS, choice, 9).map(
      ({ output }) => output.number ?? output.amount,
    );
    assert.deepEqual(found, chosen);
  });
}

for (const [choice, countMax, message] of [
  [
    { which: "numbers", from: "3", to: "4" },
    5,
    /^There are no such links between 3 and 4\.$/,
  ],
  [{ which: "numbers", from: "9", to: "1" }, 5, /between 9 and 1/],
  [{ which: "here" }, 1, /at most 1 link/i],
  [{ which: "numbers", from: "one", to: "2" }, 5, /whole number/],
]) {
  test(`a choice that cannot be carried out is refused: ${JSON.stringify(choice)}`, () => {
    assert.throws(() => chosenLinks(LINKS, choice, countMax), { message });
  });
}

test("a file has the name of the deed and the numbers of its links", () => {
  const item = { metadata: '{"name":"Rock: a/b?"}' };
  const named = (...numbers) =>
    fileName(
      item,
      numbers.map((number) => ({ number })),
    );

  assert.equal(named(120, 101), "Rock a b 101-120");
  assert.equal(named(7, undefined), "Rock a b 7");
});

test("what was claimed meanwhile stays handed out, and the rest comes back", async () => {
  Object.assign(globalThis, { document: { body: { dataset: { arrayMax: "2" } } } });
  const [asked, claimed] = [[], new Set(["k1", "k2"])];
  const wallet = {
    takeBack: async (...keys) => {
      asked.push(keys.join(" "));
      if (keys.every((key) => claimed.has(key)))
        throw new WalletError("not_given", "Already claimed.");
    },
  };
  const tools = { wallet, run: (verb) => verb() };
  const outputs = ["k1", "k2", "k3"].map((key) => ({ key }));

  await takeBack(outputs, tools, () => true);

  assert.deepEqual(asked, ["k1 k2", "k1 k2", "k3"]);
  claimed.add("k3");
  await assert.rejects(
    takeBack(outputs, tools, () => true),
    /Already claimed/,
  );
  await assert.rejects(
    takeBack(outputs, tools, () => false),
    /stay handed out/,
  );
});
