// The verbs of the wallet, when nothing goes wrong and when the service refuses.

import assert from "node:assert/strict";
import { test } from "node:test";

import { AmountError } from "../../../../parts/pages/static/js/format/amounts.js";
import { RawOutputError } from "../../../../parts/pages/static/js/format/raw_output.js";
import { summariesOf } from "../../../../parts/pages/static/js/wallet/holdings.js";
import { offersOf } from "../../../../parts/pages/static/js/wallet/offers.js";
import { memoryStore, slicesOf } from "./memory_store.js";
import {
  hasCode,
  heldIn,
  linkFrom,
  makerOn,
  mintAmounts,
  walletHolding,
  walletMeeting,
  walletOf,
  walletOn,
} from "./parts.js";

test("what the service has never had is kept apart until it has it", async () => {
  const { service, store, wallet } = await walletHolding(5, 3);
  const [five] = heldIn(store);
  service.outputs.delete(five.key);

  await wallet.checkStates();

  const [summary] = summariesOf(slicesOf(store.kept));
  assert.deepEqual([summary.sum, summary.unknownSum], [3, 5]);
  const before = structuredClone(store.kept.outputs);
  await wallet.checkStates();
  assert.deepEqual(store.kept.outputs, before);
  service.outputs.set(five.key, { amount: 5, spent: false });
  await wallet.checkStates();
  assert.equal(summariesOf(slicesOf(store.kept))[0].sum, 8);
});

const CLASSES = { AmountError, RawOutputError };

/** By what each is refused with: the code of the wallet's error, or another's class. */
const IMPOSSIBLE = {
  AmountError: {
    "no parts": (wallet) => wallet.mint({}),
    nothing: (wallet, itemId) => wallet.send(itemId, 0),
    "half a unit": (wallet, itemId) => wallet.send(itemId, 0.5),
    "an ask for nothing": (wallet, itemId) =>
      offersOf(wallet).ask({ itemId, amount: 0 }),
    "a mint of too much": (wallet) => mintAmounts(wallet, Number.MAX_SAFE_INTEGER, 1),
  },
  RawOutputError: {
    "a mint with too long a secret": (wallet) =>
      wallet.mint({ outputs: [{ amount: 1, secret: "a".repeat(33) }] }),
  },
};

for (const [expected, attempts] of Object.entries(IMPOSSIBLE)) {
  for (const [name, attempt] of Object.entries(attempts)) {
    test(`what cannot be done changes nothing: ${name}`, async () => {
      const { store, wallet, itemId, service } = await walletHolding(5);
      const [key] = store.kept.outputs.keys();
      const before = structuredClone(store.kept);
      const served = structuredClone(service.outputs);

      const error = CLASSES[expected] ?? hasCode(expected);
      await assert.rejects(attempt(wallet, itemId, key), error);

      assert.deepEqual(store.kept, before);
      assert.deepEqual(service.outputs, served);
    });
  }
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

test("a deed knows best what its unit is called", async () => {
  const metadata = JSON.stringify({ description: "Unit: seat/seats" });
  const item = async () => ({ id: "deed_1", total: 1, metadata, unit: "chair" });

  const { unit } = await walletOn(null, memoryStore(), { item }).item("deed_1");

  assert.equal(unit, "seat/seats");
});

/** Fail unless these are the numbers of new items and changes since the last backup. */
async function assertBehind(wallet, ...counts) {
  const { newCount, changesCount } = await wallet.backup.status();
  assert.deepEqual([newCount, changesCount], counts);
}

async function backUp(wallet) {
  await wallet.exportRecords();
  await wallet.backup.saved(null);
}

test("what becomes of what is in a backup is found, and what comes in is not", async () => {
  const { service, store, wallet, itemId } = await walletHolding(5);
  await assertBehind(wallet, 1, 1);
  await backUp(wallet);
  await assertBehind(wallet, 0, 0);

  await wallet.send(itemId, 2);
  await wallet.makeLinks(itemId, { count: 1, each: 1 });
  await assertBehind(wallet, 0, 2);

  await mintAmounts(wallet, 1);
  const other = makerOn(service);
  const { itemId: otherId } = (await mintAmounts(other.wallet, 3)).operation;
  await wallet.claim(await linkFrom({ ...other, itemId: otherId }, 3));
  await assertBehind(wallet, 2, 4);

  // What is gone again is no loss.
  service.take(
    heldIn(store).find((output) => output.itemId === otherId),
    "x",
  );
  await wallet.checkStates();
  await assertBehind(wallet, 1, 4);
  await backUp(wallet);
  await assertBehind(wallet, 0, 0);
});

test("a backup names what was on its way in, and not what it had only seen", async () => {
  const giver = await walletHolding(3, 4, 5, 6);
  const [one, other, gone, left] = heldIn(giver.store);
  const taker = makerOn(giver.service);
  const { wallet } = taker;
  await walletMeeting(taker, () => "lost").claim(one);

  await backUp(wallet);
  await wallet.finishBegun();

  await assertBehind(wallet, 0, 0);
  await wallet.claim(other);
  await assertBehind(wallet, 0, 1);
  const seen = memoryStore();
  seen.kept.outputs.set(gone.key, {
    ...gone,
    makers: {},
    operation: undefined,
    state: "seen",
  });
  const looker = walletOn(giver.service, seen);
  await backUp(looker);
  await looker.claim(left);
  await assertBehind(looker, 1, 1);
});

test("a file of another wallet is not in this one's, and a look is due", async () => {
  const [mine, theirs] = [await walletHolding(5), await walletHolding(6)];
  await backUp(mine.wallet);
  const file = await theirs.wallet.exportRecords();

  await mine.wallet.importRecords(file);

  await assertBehind(mine.wallet, 1, 1);
  assert.equal(await mine.wallet.isLookDue(), true);
  // A file without a seed cannot find what is done from now on.
  const seedless = { ...file, seeds: [], numbers: [] };
  const { wallet: older } = await walletOf(theirs.service, seedless);
  await assertBehind(older, 0, 0);
  await older.send(theirs.itemId, 2);
  await assertBehind(older, 1, 1);
  // A later file of one's own has all that is here.
  const { wallet: copy } = await walletOf(theirs.service, file);
  await mintAmounts(theirs.wallet, 1);
  await copy.importRecords(await theirs.wallet.exportRecords(), { isOwn: true });
  await assertBehind(copy, 0, 0);
});
