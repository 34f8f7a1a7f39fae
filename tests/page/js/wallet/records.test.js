// What the records prevent, even if a rule of the wallet is wrong.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  Draft,
  WalletError,
} from "../../../../parts/pages/static/js/wallet/records.js";
import { slicesOf } from "./memory_store.js";
import { walletHolding, walletOn } from "./parts.js";

const SPENT = {
  key: "deed_x.a",
  itemId: "deed_x",
  secret: "a",
  amount: 5,
  state: "spent",
  spentElsewhere: true,
  changedAt: 1,
};

function draftWith(record) {
  return new Draft(slicesOf({ outputs: new Map([[record.key, record]]) }), 1);
}

test("a spent output stays spent", () => {
  const draft = draftWith(SPENT);

  assert.throws(
    () => draft.changeOutput(SPENT.key, { spentElsewhere: undefined }),
    /stays spent/,
  );

  draft.changeOutput(SPENT.key, { givenAt: 7 });
  const neverHeld = true;
  assert.deepEqual(
    [...draft.changed.outputs.values()],
    [{ ...SPENT, neverHeld, givenAt: 7 }],
  );
});

test("no output is written over another", () => {
  const draft = draftWith(SPENT);

  assert.throws(() => draft.addOutput(SPENT), WalletError);

  assert.deepEqual(draft.changed, {});
});

test("what was not loaded cannot be looked at, and is not taken for what does not exist", async () => {
  const { store, itemId } = await walletHolding(5, 6);
  const [key] = store.kept.outputs.keys();
  const other = "deed_other.a";
  const look = (wanted, see) =>
    store.read({ outputs: wanted }, ({ outputs }) => see(outputs));
  const allowed = [
    [[key, "none"], (outputs) => [outputs.get(key).key, outputs.get("none")]],
    [[undefined], (outputs) => outputs.get(undefined)],
    ["all", (outputs) => [outputs.list().length, outputs.get("none")]],
    [
      { itemId },
      (outputs) => [outputs.list({ itemId }).length, outputs.get(`${itemId}.none`)],
    ],
    [[{ state: "held" }], (outputs) => outputs.list({ itemId, state: "held" }).length],
  ];
  const forbidden = [
    [[key], (outputs) => outputs.get("none")],
    [[key], (outputs) => outputs.list({ itemId })],
    [{ itemId }, (outputs) => outputs.get(other)],
    [{ itemId }, (outputs) => outputs.list()],
    [{ itemId, state: "held" }, (outputs) => outputs.get(`${itemId}.none`)],
    [{ itemId, state: "held" }, (outputs) => outputs.list({ state: "held" })],
  ];

  const seen = await Promise.all(allowed.map(([wanted, see]) => look(wanted, see)));

  assert.deepEqual(seen, [
    [key, undefined],
    undefined,
    [2, undefined],
    [2, undefined],
    2,
  ]);
  for (const [wanted, see] of forbidden)
    await assert.rejects(look(wanted, see), /not loaded/);
});

test("a claim in a wallet of 10,000 parts reads what it is about alone", async () => {
  const { service, store, itemId } = await walletHolding(10_000);
  const [first] = store.kept.outputs.values();
  for (let number = 1; number <= 10_000; number += 1) {
    const secret = `part-${number}`;
    const key = `${itemId}.${secret}`;
    const found = { makers: {}, operation: undefined, foundAt: 1 };
    store.kept.outputs.set(key, { ...first, ...found, key, secret, amount: 1, number });
  }
  const link = { amount: 10_000, itemId, secret: "somebody's" };
  service.take(first, link.secret);
  store.loaded.length = 0;

  const wallet = walletOn(service, store);
  const { operation } = await wallet.claim(link);
  await wallet.give([`${itemId}.part-7`]);

  assert.equal(operation.state, "done");
  assert.ok(store.loaded.length < 20, `${store.loaded.length} records`);
});
