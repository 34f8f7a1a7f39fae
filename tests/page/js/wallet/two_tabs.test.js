// Two tabs on one store, or two people with one link, in every order of what they do.

import assert from "node:assert/strict";
import { test } from "node:test";

import { WalletError } from "../../../../parts/pages/static/js/wallet/records.js";
import { memoryStore } from "./memory_store.js";
import { inEveryOrder, inSomeOrders, Turns } from "./turns.js";
import {
  assertAmounts,
  assertAllIsHere,
  fatesOf,
  giverOf,
  keysOf,
  minted,
  operationsIn,
  outputIn,
  outputsIn,
  tabOf,
  walletHolding,
  walletMeeting,
} from "./parts.js";

/** Return a wallet that does one thing after another when it is its turn. */
const tab = (turns, who, ground, fate) =>
  tabOf(ground, turns, who, fate, { arrayMax }).wallet;

/** Let two tabs on a store do something at once; return how each ended. */
function both(ground, choose, one, other = one, fate = undefined) {
  const turns = new Turns();
  const acts = [
    one(tab(turns, "a", ground), ground),
    other(tab(turns, "b", ground, fate), ground),
  ];
  return turns.run(acts, choose);
}

/** How many parts one swap makes. */
const arrayMax = 4;

/** Fail unless all that is live is held or given here, and nothing else is. */
function assertIsWhole({ service, store }) {
  assertAllIsHere(service, store);
  const outputs = outputsIn(store);
  for (const { state, spentElsewhere } of outputs)
    assert.ok(!spentElsewhere && !/leaving|coming|offered/.test(state));
  const numbers = outputs
    .filter(({ state }) => state !== "spent")
    .flatMap((each) => each.number ?? []);
  assert.equal(new Set(numbers).size, numbers.length);
}

const send =
  (amount) =>
  (wallet, { itemId }) =>
    wallet.send(itemId, amount);
const takeBack = (wallet, { given }) => wallet.takeBack(given.key);
const finishBegun = (wallet) => wallet.finishBegun();
const prepare = (wallet, { itemId }) => wallet.prepareNext(itemId);
const makeLinks = (wallet, { itemId }) =>
  wallet.makeLinks(itemId, { count: 2, each: 2 });

const eightLinks = () => minted({ count: 8, each: 1 }, arrayMax);
const PAIRS = {
  "both send all": [() => walletHolding(5), send(5), send(5)],
  "both send a part": [() => walletHolding(5), send(2), send(2)],
  "both send, and there is enough for two": [
    () => walletHolding(5, 6),
    send(5),
    send(6),
  ],
  "one sends, one merges": [
    () => walletHolding(5, 6),
    send(5),
    (wallet, { itemId }) => wallet.merge(itemId),
  ],
  "one sends, one checks": [
    () => walletHolding(5),
    send(2),
    (wallet) => wallet.checkStates(),
  ],
  "one sends, one finishes": [() => walletHolding(5), send(2), finishBegun],
  "both take back": [() => giverOf(5, 2), takeBack, takeBack],
  "one takes back, one claims the link": [
    () => giverOf(5, 2),
    takeBack,
    (wallet, { given }) => wallet.claim(given),
  ],
  "both make the next links": [eightLinks, prepare, prepare],
  "both make series": [() => walletHolding(9), makeLinks, makeLinks],
  "one makes the next links, one finishes": [eightLinks, prepare, finishBegun],
  "one makes the next links, one sends": [eightLinks, prepare, send(1)],
  "one takes back, one takes in an old copy": [
    () => giverOf(5, 2),
    takeBack,
    (wallet, { old }) => wallet.importRecords(old),
  ],
};

for (const [name, [begin, one, other]] of Object.entries(PAIRS)) {
  test(`two tabs spend nothing twice and lose nothing: ${name}`, async () => {
    const ordersCount = await inEveryOrder(async (choose) => {
      const ground = await begin();
      ground.old = await ground.wallet.exportRecords();

      const ended = await both(ground, choose, one, other);

      for (const { reason } of ended)
        assert.ok(!reason || reason instanceof WalletError, reason);
      assertIsWhole(ground);
    });
    assert.ok(ordersCount > 1);
  });
}

test("two tabs that claim one link make one claim and both say so", async () => {
  await inEveryOrder(async (choose) => {
    const { service, given } = await giverOf(5);
    const ground = { service, store: memoryStore() };

    const ended = await both(ground, choose, (wallet) => wallet.claim(given));

    // A tab that comes late hears that the link was claimed, by this wallet.
    const outcomes = ended.map(
      ({ value, reason }) => value?.operation.state ?? reason.code,
    );
    assert.match(outcomes.sort().join(), /^(already_claimed|done),done$/);
    assert.equal(ground.store.kept.operations.size, 1);
    assertAmounts(ground.store, { spent: [5], held: [5] });
  });
});

test("two tabs that finish one operation settle it alike", async () => {
  for (const isTaken of [false, true]) {
    // Both look for what another copy may have made of it: in too many orders to try all.
    const inOrders = isTaken ? (run) => inSomeOrders(100, run) : inEveryOrder;
    await inOrders(async (choose) => {
      const ground = await giverOf(5);
      const lost = walletMeeting(ground, () => "lost");
      await lost.takeBack(ground.given.key);
      if (isTaken) ground.service.take(ground.given);

      const ended = await both(ground, choose, finishBegun);

      const states = ended.flatMap(({ value }) =>
        value.map(({ operation }) => operation.state),
      );
      assert.deepEqual([...new Set(states)], [isTaken ? "refused" : "done"]);
      const made = isTaken ? { void: [5] } : { held: [5] };
      assertAmounts(ground.store, { spent: [5, 5], ...made });
    });
  }
});

test("a tab that is refused without a reason does not undo what the other has done", async () => {
  await inSomeOrders(500, async (choose) => {
    const ground = await walletHolding(5);
    await walletMeeting(ground, () => "lost").send(ground.itemId, 2);

    await both(ground, choose, finishBegun, finishBegun, fatesOf("swap", "refused"));
    const isDone = ground.service.live().length === 2;
    await ground.wallet.checkStates();

    assertIsWhole(ground);
    const [, operation] = operationsIn(ground.store);
    assert.deepEqual(
      [operation.state, operation.code],
      isDone ? ["done", undefined] : ["refused", "unknown_input"],
    );
  });
});

test("what one tab hands out is sent by no other", async () => {
  await inEveryOrder(async (choose) => {
    const ground = await minted({ count: 3, each: 1 }, arrayMax);
    const { store } = ground;
    const give = (wallet) => wallet.give([...store.kept.outputs.keys()]);

    const [given, sent] = await both(ground, choose, give, send(1));

    const links = keysOf(given.value);
    assert.equal(links.length, sent.value ? 2 : 3);
    assert.ok(!sent.value || !links.includes(sent.value.operation.inputs[0]));
    assert.ok(links.every((key) => outputIn(store, key).state === "given"));
    assertIsWhole(ground);
  });
});
