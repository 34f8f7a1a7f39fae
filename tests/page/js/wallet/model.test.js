// Random walks: two people, one with two tabs, lose nothing.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  SUMMARIES_PLAN,
  summariesOf,
} from "../../../../parts/pages/static/js/wallet/holdings.js";
import { assertAllIsHere, makerOn, throughText, walletOn } from "./parts.js";
import { finishAll, ShopWorld } from "./world.js";

const SEEDS = Array.from({ length: 20 }, (_, place) => 1000 + place);
const STEPS_COUNT = 60;

/**
 * Return a wallet with files of one person read in some order, with checks in between.
 */
async function restored({ random, service, stores, exports }) {
  const { store, wallet } = makerOn(service);
  const files = [
    throughText(await walletOn(service, stores[0]).exportRecords()),
    ...exports,
  ];
  while (files.length) {
    const [file] = files.splice(random.below(files.length), 1);
    await wallet.importRecords(file, { isOwn: true });
    if (random.chance(60)) await wallet.checkStates();
  }
  await finishAll([{ wallet, store }]);
  return store;
}

for (const seed of SEEDS) {
  test(`nothing is lost in the random walk ${seed}`, async () => {
    const world = new ShopWorld(seed);
    await world.walk(STEPS_COUNT);
    await world.assertEndsWell();
  });
}

for (const seed of SEEDS) {
  test(`one person's files are one wallet in whatever order they are read: ${seed}`, async () => {
    const world = new ShopWorld(seed, 1);
    await world.walk(STEPS_COUNT);
    world.service.deliverLate();

    const store = await restored(world);

    assertAllIsHere(world.service, store);
    for (const { lost, claimed, ...here } of await store.read(
      SUMMARIES_PLAN,
      summariesOf,
    )) {
      assert.deepEqual([lost, claimed], [0, 0]);
      const { total = 0 } = here.item ?? {};
      assert.equal(here.sum + here.waiting + here.collected + here.offered, total);
    }
  });
}
