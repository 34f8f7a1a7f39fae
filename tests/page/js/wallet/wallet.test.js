// The verbs of the wallet, when nothing goes wrong and when the service refuses.

import assert from "node:assert/strict";
import { test } from "node:test";

import { AmountError } from "../../../../deeds/page/static/js/format/amounts.js";
import { RawOutputError } from "../../../../deeds/page/static/js/format/raw_output.js";
import { summariesOf } from "../../../../deeds/page/static/js/wallet/holdings.js";
import { WalletError } from "../../../../deeds/page/static/js/wallet/records.js";
import { fakeService } from "./fake_service.js";
import { memoryStore, slicesOf } from "./memory_store.js";
import { amountsByState, madeBy, walletHolding, walletOn } from "./parts.js";

const hasCode = (code) => (error) =>
  error instanceof WalletError && error.code === code;

test("what is minted is held", async () => {
  const service = fakeService();
  const store = memoryStore();
  const wallet = walletOn(service, store);

  const { operation } = await wallet.mint({
    outputs: [{ amount: 5 }, { amount: 3, secret: "my own. secret" }],
    metadata: { name: "a shed" },
  });

  const [holding] = summariesOf(slicesOf(store.kept));
  assert.equal(operation.state, "done");
  assert.deepEqual(operation.body.metadata, { name: "a shed" });
  assert.deepEqual(amountsByState(store), { held: [5], given: [3] });
  const secrets = (await wallet.outputsOf(operation)).map(({ secret }) => secret);
  assert.equal(secrets[1], "my own. secret");
  assert.deepEqual(
    [holding.itemId, holding.sum, holding.coming],
    [operation.itemId, 5, 0],
  );
  assert.deepEqual(service.live().sort(), [...store.kept.outputs.keys()].sort());
});

test("a claim takes custody under a fresh secret", async () => {
  const giver = await walletHolding(5);
  const given = madeBy(giver.store, await giver.wallet.send(giver.itemId, 5));
  const store = memoryStore();
  const taker = walletOn(giver.service, store);

  const outcome = await taker.claim(given);

  assert.equal(outcome.operation.state, "done");
  assert.deepEqual(amountsByState(store), { spent: [5], held: [5] });
  assert.deepEqual(giver.service.live(), [madeBy(store, outcome).key]);
  await giver.wallet.checkStates();
  assert.equal(giver.store.kept.outputs.get(given.key).state, "spent");
  assert.equal(giver.store.kept.outputs.get(given.key).spentElsewhere, true);
});

test("what is sent is fresh, and change comes back", async () => {
  const { store, wallet, itemId, service } = await walletHolding(2, 3, 10);

  const outcome = await wallet.send(itemId, 4);

  assert.deepEqual(amountsByState(store), { held: [2, 3, 6], given: [4], spent: [10] });
  assert.equal(madeBy(store, outcome).state, "given");
  assert.equal(service.live().length, 4);
});

const CHOICES = [
  [[1, 2, 3], 2, [2]],
  [[1, 5, 3], 3, [3]],
  [[1, 5, 3], 4, [5]],
  [[1, 5, 3], 8, [3, 5]],
  [[1, 5, 3], 9, [1, 3, 5]],
];

for (const [held, amount, spent] of CHOICES) {
  test(`${amount} of ${held} are paid from ${spent}`, async () => {
    const { store, wallet, itemId } = await walletHolding(...held);

    await wallet.send(itemId, amount);

    assert.deepEqual(amountsByState(store).spent, spent);
    assert.deepEqual(amountsByState(store).given, [amount]);
  });
}

test("a split makes the parts and the rest", async () => {
  const { store, wallet } = await walletHolding(10);
  const [key] = store.kept.outputs.keys();

  await wallet.split(key, [2, 3]);

  assert.deepEqual(amountsByState(store), { spent: [10], held: [2, 3, 5] });
});

test("a split without a rest makes the parts alone", async () => {
  const { store, wallet } = await walletHolding(10);
  const [key] = store.kept.outputs.keys();

  await wallet.split(key, [4, 6]);

  assert.deepEqual(amountsByState(store), { spent: [10], held: [4, 6] });
});

test("a merge joins all that is held", async () => {
  const { store, wallet, itemId } = await walletHolding(1, 2, 3, 4);

  await wallet.merge(itemId);

  assert.deepEqual(amountsByState(store), { spent: [1, 2, 3, 4], held: [10] });
});

test("a merge takes the 256 smallest of more", async () => {
  const { store, wallet, itemId } = await walletHolding(...Array(256).fill(2));
  const [key] = store.kept.outputs.keys();
  await wallet.split(key, [1]);

  await wallet.merge(itemId);

  assert.deepEqual(amountsByState(store).held, [2, 510]);
});

test("a link that was handed out is taken back", async () => {
  const { store, wallet, itemId } = await walletHolding(5);
  const given = madeBy(store, await wallet.send(itemId, 2));

  await wallet.takeBack(given.key);

  assert.deepEqual(amountsByState(store), { spent: [2, 5], held: [2, 3] });
});

test("one's own link, claimed, is taken back", async () => {
  const { store, wallet, itemId } = await walletHolding(5);
  const given = madeBy(store, await wallet.send(itemId, 2));

  const { operation } = await wallet.claim(given);

  assert.equal(operation.kind, "takeBack");
  assert.deepEqual(amountsByState(store), { spent: [2, 5], held: [2, 3] });
});

test("a link that somebody else has taken is refused, and stays known as spent", async () => {
  const { service, store, wallet, itemId } = await walletHolding(5);
  const given = madeBy(store, await wallet.send(itemId, 5));
  service.take(given, "somebody's");
  const taker = { store: memoryStore() };

  const { operation } = await walletOn(service, taker.store).claim(given);

  assert.deepEqual([operation.state, operation.code], ["refused", "spent_input"]);
  assert.deepEqual(amountsByState(taker.store), { spent: [5], void: [5] });
  await assert.rejects(
    walletOn(service, taker.store).claim(given),
    hasCode("spent_elsewhere"),
  );
});

test("a link with a wrong amount is refused, and the right one is claimed after it", async () => {
  const { service, store, wallet, itemId } = await walletHolding(5);
  const given = madeBy(store, await wallet.send(itemId, 5));
  const takers = memoryStore();
  const taker = walletOn(service, takers);

  const wrong = await taker.claim({ ...given, amount: 7 });
  assert.deepEqual(
    [wrong.operation.state, wrong.operation.code],
    ["refused", "unknown_input"],
  );
  assert.deepEqual(amountsByState(takers), { seen: [7], void: [7] });
  const right = await taker.claim(given);

  assert.equal(right.operation.state, "done");
  assert.deepEqual(amountsByState(takers), { spent: [5], void: [7], held: [5] });
});

test("a link that is taken back too late is known as spent", async () => {
  const { service, store, wallet, itemId } = await walletHolding(5);
  const given = madeBy(store, await wallet.send(itemId, 2));
  service.take(given, "somebody's");

  const { operation } = await wallet.takeBack(given.key);

  assert.deepEqual([operation.state, operation.code], ["refused", "spent_input"]);
  assert.deepEqual(amountsByState(store), { spent: [2, 5], held: [3], void: [2] });
});

test("a refused mint keeps what was asked", async () => {
  const service = fakeService();
  const store = memoryStore();

  const { operation } = await walletOn(service, store).mint({
    outputs: [
      { amount: 1, secret: "same" },
      { amount: 2, secret: "same" },
    ],
  });

  assert.deepEqual([operation.state, operation.code], ["refused", "duplicate_secret"]);
  assert.equal(store.kept.operations.get(operation.key).body.outputs[0].secret, "same");
});

test("what the service has never had is kept apart and spent by nothing", async () => {
  const { service, store, wallet, itemId } = await walletHolding(5, 3);
  const five = [...store.kept.outputs.values()].find((output) => output.amount === 5);
  service.outputs.delete(five.key);

  await wallet.checkStates();

  const [summary] = summariesOf(slicesOf(store.kept));
  assert.deepEqual([summary.sum, summary.unknownSum], [3, 5]);
  const before = structuredClone(store.kept.outputs);
  await wallet.checkStates();
  assert.deepEqual(store.kept.outputs, before);
  await assert.rejects(wallet.send(itemId, 4), hasCode("not_enough"));
  service.outputs.set(five.key, { amount: 5, spent: false });
  await wallet.checkStates();
  assert.equal(summariesOf(slicesOf(store.kept))[0].sum, 8);
});

const IMPOSSIBLE = {
  "more than is held": [
    (wallet, itemId) => wallet.send(itemId, 9),
    hasCode("not_enough"),
  ],
  "another item": [(wallet) => wallet.send("deed_other", 1), hasCode("not_enough")],
  nothing: [(wallet, itemId) => wallet.send(itemId, 0), AmountError],
  "half a unit": [(wallet, itemId) => wallet.send(itemId, 0.5), AmountError],
  "parts that are more": [
    (wallet, _, key) => wallet.split(key, [3, 3]),
    hasCode("not_enough"),
  ],
  "a part of nothing": [(wallet, _, key) => wallet.split(key, [0]), AmountError],
  "no parts": [(wallet, _, key) => wallet.split(key, []), hasCode("too_many")],
  "257 parts": [
    (wallet, _, key) => wallet.split(key, Array(257).fill(1)),
    hasCode("too_many"),
  ],
  "a split of what is not there": [
    (wallet) => wallet.split("deed_x.y", [1]),
    hasCode("not_held"),
  ],
  "taking back what was not given": [
    (wallet, _, key) => wallet.takeBack(key),
    hasCode("not_given"),
  ],
  "merging one": [
    (wallet, itemId) => wallet.merge(itemId),
    hasCode("nothing_to_merge"),
  ],
  "claiming what is held": [
    (wallet, itemId, key) =>
      wallet.claim({ itemId, amount: 5, secret: key.slice(itemId.length + 1) }),
    hasCode("already_held"),
  ],
  "a mint of nothing": [(wallet) => wallet.mint({ outputs: [] }), hasCode("too_many")],
  "a mint of too much": [
    (wallet) =>
      wallet.mint({ outputs: [{ amount: Number.MAX_SAFE_INTEGER }, { amount: 1 }] }),
    AmountError,
  ],
  "a mint with too long a secret": [
    (wallet) => wallet.mint({ outputs: [{ amount: 1, secret: "a".repeat(33) }] }),
    RawOutputError,
  ],
};

for (const [name, [attempt, expected]] of Object.entries(IMPOSSIBLE)) {
  test(`what cannot be done changes nothing: ${name}`, async () => {
    const { store, wallet, itemId, service } = await walletHolding(5);
    const [key] = store.kept.outputs.keys();
    const before = structuredClone(store.kept);
    const served = structuredClone(service.outputs);

    await assert.rejects(attempt(wallet, itemId, key), expected);

    assert.deepEqual(store.kept, before);
    assert.deepEqual(service.outputs, served);
  });
}

test("what a deed is can be shown where there is no room to keep it", async () => {
  const item = { id: "deed_1", total: 1, metadata: null };
  const full = {
    ...memoryStore(),
    update: async () => Promise.reject(new Error("no room")),
  };

  assert.deepEqual(
    await walletOn(null, full, { item: async () => item }).item(item.id),
    item,
  );
});
