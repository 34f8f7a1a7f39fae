// Two phones of one person, restored from one file and used in turn and at once, beside
// somebody else: nothing is lost or doubled, and after a look both show the same.

import assert from "node:assert/strict";
import { test } from "node:test";

import { mintAmounts, outputsIn, pass, throughText } from "./parts.js";
import { abandonCarts, finishAll, OFFER_S_MAX, OURS, ShopWorld } from "./world.js";

const SEEDS = Array.from({ length: 40 }, (_, place) => 2000 + place);
const STEPS_COUNT = 60;

class Twins extends ShopWorld {
  /** Neither of the two takes in a file of the other again. */
  actions(tab) {
    return super.actions(tab).slice(0, -2);
  }

  /** Two stores with one wallet in them, which holds two items. */
  async begin() {
    const [one, other] = this.people();
    for (const amounts of [[40], [30, 20]]) {
      await mintAmounts(one.wallet, ...amounts);
    }
    const records = throughText(await one.wallet.exportRecords());
    await other.wallet.importRecords(records, { isOwn: true });
    return records.outputs.map(({ itemId }) => itemId);
  }
}

/** Return what of these items a store holds, as far as a seed has made it. */
function shownIn(store, itemIds) {
  const records = outputsIn(store).filter(
    ({ itemId, secret, state }) =>
      itemIds.includes(itemId) && OURS.test(state) && !secret.startsWith("secret-"),
  );
  return records.map(({ key, amount }) => `${key} ${amount}`).sort();
}

for (const seed of SEEDS) {
  test(`two phones with one wallet come together again: ${seed}`, async () => {
    const world = new Twins(seed, 3);
    const itemIds = await world.begin();
    await world.walk(STEPS_COUNT);
    world.service.deliverLate();
    pass(OFFER_S_MAX);
    const people = world.people();
    await finishAll(people);
    const [{ offers, wallet }] = people;
    for (const itemId of itemIds) {
      await abandonCarts(offers, { itemId, amount: 1 });
      // Behind them it keeps the rest of what it sends.
      await wallet.send(itemId, 1).catch(() => {});
    }
    await finishAll(people);
    for (const each of people) await each.wallet.look({ isWhole: true });
    await world.assertEndsWell();

    const [one, other] = world.stores.map((store) => shownIn(store, itemIds));
    assert.deepEqual(one, other);
  });
}
