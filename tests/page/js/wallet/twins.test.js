// Two phones of one person, restored from one file and used in turn and at once, beside
// somebody else: nothing is lost or doubled, and after a look both show the same.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  amountsByState,
  assertAllIsHere,
  copyOf,
  endOf,
  fileOf,
  mintAmounts,
  operationIn,
  outputsIn,
  pass,
  people,
} from "./parts.js";
import { abandonCarts, finishAll, OFFER_S_MAX, OURS, ShopWorld } from "./world.js";

const SEEDS = Array.from({ length: 20 }, (_, place) => 2000 + place);
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
    const records = await fileOf(one);
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

const DONE = ["done", undefined];
const WITHDRAWN = ["refused", "offer_withdrawn"];

// The walk 173219 of two phones came to this.
for (const [paid, held, ends] of [
  ["the first", [3], [DONE, WITHDRAWN]],
  ["the second", [5], [WITHDRAWN, DONE]],
]) {
  for (const isTurned of [false, true]) {
    test(`of two requests with one number, ${paid} is paid: ${isTurned}`, async () => {
      const [shop, customer] = await people([], [5, 3]);
      const { itemId } = customer;
      const phones = [shop, await copyOf(shop)];
      const made = [];
      for (const [place, { offers }] of phones.entries())
        made.push((await offers.ask({ itemId, amount: 3 + 2 * place })).operation);
      const [first, second] = made.map(({ outputs: [{ key }] }) => key);
      assert.equal(first, second);
      const [one, other] = isTurned ? phones.toReversed() : phones;
      for (const [to, from] of [
        [one, other],
        [other, one],
      ]) {
        await to.wallet.importRecords(await fileOf(from), { isOwn: true });
      }

      const { offerId } = made[ends.indexOf(DONE)];
      await customer.offers.complete(await shop.service.api().offer(offerId));
      await finishAll(phones);

      for (const { store, wallet } of phones) {
        await wallet.look({ isWhole: true });
        const operations = made.map(({ key }) => operationIn(store, key));
        assert.deepEqual(
          operations.map((operation) => endOf({ operation })),
          ends,
        );
        assert.deepEqual(amountsByState(store).held, held);
        assertAllIsHere(shop.service, store, customer.store);
      }
    });
  }
}
