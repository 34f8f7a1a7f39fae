// Links: made in series, handed out, kept from every other verb, and claimed at the
// door.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  AMOUNT_MAX,
  AmountError,
} from "../../../../parts/pages/static/js/format/amounts.js";
import {
  amountsByState,
  assertAmounts,
  hasCode,
  heldIn,
  liveNumbers,
  madeBy,
  minted,
  operationsIn,
  outputIn,
  outputsIn,
  swapsMeeting,
  upTo,
  walletHolding,
  walletOn,
} from "./parts.js";

for (const [count, arrayMax, batches] of [
  [4, 4, 0],
  [5, 4, 1],
  [9, 2, 7],
  [1000, 256, 3],
]) {
  test(`${count} links, ${arrayMax} at once, are minted and then split off ${batches} times`, async () => {
    const ground = await minted({ count, each: 3 }, arrayMax);
    let batchesCount = 0;
    while (await ground.wallet.prepareNext(ground.itemId)) batchesCount += 1;

    const sizes = operationsIn(ground.store).map(({ body }) => body.outputs.length);
    assert.equal(batchesCount, batches);
    assert.ok(Math.max(...sizes) <= arrayMax);
    assert.deepEqual(liveNumbers(ground), upTo(count));
    assert.ok(
      heldIn(ground.store).every(({ amount, of }) => amount === 3 && of === count),
    );
  });
}

test("10,000 links may be made", async () => {
  const { itemId, wallet } = await minted({ count: 10_000, each: 1 });

  assert.ok(await wallet.prepareNext(itemId));
});

test("a second series goes on counting, and what was refused has had its numbers", async () => {
  const ground = await walletHolding(50);
  const { store, wallet, itemId } = ground;

  await wallet.makeLinks(itemId, { count: 2, each: 5 });
  await swapsMeeting(ground, "refused").makeLinks(itemId, { count: 3, each: 1 });
  const { operation } = await wallet.makeLinks(itemId, { count: 2, each: 7 });

  const links = heldIn(store).filter(({ number }) => number);
  assert.deepEqual(
    links.map(({ number, of, amount }) => `${number} of ${of}: ${amount}`),
    ["1 of 2: 5", "2 of 2: 5", "6 of 7: 7", "7 of 7: 7"],
  );
  assert.deepEqual(operation.links, { count: 2, each: 7, from: 6 });
  assert.equal(amountsByState(store).held.at(-1), 26);
});

test("links of one unit are handed out once each, whoever asks, the lowest first", async () => {
  const { store, wallet, itemId } = await minted({ count: 4, each: 1 });
  const numbersOf = (given) => given.map(({ number }) => number);

  const both = await Promise.all([
    wallet.giveNext(itemId, 2),
    wallet.giveNext(itemId, 1),
  ]);

  assert.deepEqual(both.flatMap(numbersOf).sort(), [1, 2, 3]);
  assert.deepEqual(numbersOf(await wallet.giveNext(itemId, 9)), [4]);
  await assert.rejects(wallet.giveNext(itemId, 1), hasCode("not_held"));
  assertAmounts(store, { given: [1, 1, 1, 1] });
});

test("why a link cannot be taken back is said", async () => {
  const { service, store, wallet, keys } = await minted({ count: 2, each: 1 });
  const [claimed, here] = keys;
  await wallet.give([claimed]);
  service.take(outputIn(store, claimed));
  await wallet.checkStates();

  await assert.rejects(wallet.takeBack(claimed), { message: "Already claimed." });
  await assert.rejects(wallet.takeBack(here), { message: /not handed out/ });
});

const TOO_MUCH = {
  "no links": [{ count: 0, each: 1 }, AmountError],
  "links of nothing": [{ count: 1, each: 0 }, AmountError],
  "one link more than there may be": [{ count: 10_001, each: 1 }, hasCode("too_many")],
  "one unit more than there can be": [
    { count: 2, each: (AMOUNT_MAX + 1) / 2 },
    AmountError,
  ],
};

for (const [name, [links, expected]] of Object.entries(TOO_MUCH)) {
  test(`what cannot be minted or made is refused with a sentence: ${name}`, async () => {
    const { store, wallet, itemId } = await walletHolding(5);
    const before = structuredClone(store.kept);

    await assert.rejects(wallet.mint({ links }), expected);
    await assert.rejects(wallet.makeLinks(itemId, links), expected);

    assert.deepEqual(store.kept, before);
  });
}

test("a note is kept, shortened by nobody, and removed by an empty one", async () => {
  const { store, wallet, keys } = await minted({ count: 1, each: 1 });
  const [key] = keys;
  const note = () => outputIn(store, key).note;

  await wallet.setNotes([key, "  Anna \n B. "]);
  assert.equal(note(), "Anna B.");
  await assert.rejects(wallet.setNotes([key, "a".repeat(81)]), hasCode("too_long"));
  await wallet.setNotes([key, "a".repeat(80)]);
  assert.equal(note(), "a".repeat(80));
  await wallet.setNotes([key, " "]);
  assert.equal(note(), undefined);
});

test("a ticket comes in once, whoever shows it, and what came in is set aside", async () => {
  const { store, wallet, keys, itemId } = await minted({ count: 2, each: 1 });
  await wallet.give([keys[0]]);

  const admit = (link) => wallet.claim(link, { atDoor: true });
  for (const link of outputsIn(store)) {
    const { operation: claim } = await admit(link);
    assert.deepEqual([claim.kind, claim.state, claim.atDoor], ["claim", "done", true]);
    await assert.rejects(admit(link), hasCode("already_claimed"));
  }

  const collected = heldIn(store);
  assert.ok(collected.every(({ collectedAt }) => collectedAt));
  await assert.rejects(admit(collected[0]), hasCode("already_held"));
  await assert.rejects(wallet.send(itemId, 1), hasCode("not_enough"));
});

for (const isKnownFirst of [true, false]) {
  test(`a link's word for a unit is kept, and no other replaces it: ${isKnownFirst}`, async () => {
    const { service, store, itemId } = await minted({ count: 2, each: 1 });
    const [one, other] = outputsIn(store);
    const taker = walletOn(service);

    if (isKnownFirst) await taker.item(itemId);
    await taker.claim(one, { unit: " a ticket\n" });
    assert.equal((await taker.item(itemId)).unit, "a ticket");
    await taker.claim(other, { unit: "worth 1000" });
    assert.equal((await taker.item(itemId)).unit, "a ticket");
  });
}

test("who minted an item names its unit, and no link does", async () => {
  const { wallet, store } = await walletHolding();
  const links = { count: 1, each: 1 };
  for (const unit of ["x".repeat(21), "00 tickets"]) {
    await assert.rejects(wallet.mint({ links, unit }), hasCode("invalid_unit"));
  }
  const { operation } = await wallet.mint({ links });

  await wallet.claim(madeBy(store, { operation }), {
    unit: "a thousand",
    atDoor: true,
  });

  assert.equal((await wallet.item(operation.itemId)).unit, undefined);
});

/**
 * Return a wallet with links that are handed out, and the list of the numbers that each
 * check asks for. The secrets of links with `weak` numbers do not count as strong.
 */
async function waiting(count, weak = []) {
  const ground = await minted({ count, each: 1 });
  for (const key of ground.keys) await ground.wallet.give([key]);
  const secrets = outputsIn(ground.store).map(({ secret }) => secret);
  const numberOf = (secret) => 1 + secrets.indexOf(secret);
  const asked = [];
  const api = ground.service.api((verb, raws) => {
    if (verb === "check")
      asked.push(raws.map((raw) => numberOf(raw.split(".").at(-1))));
  });
  const isStrong = async (secret) => !weak.includes(numberOf(secret));
  const options = { arrayMax: 4, isStrong };
  const wallet = walletOn(ground.service, ground.store, api, options);
  return { ...ground, wallet, asked };
}

test("rounds of checks go from the newest link to the oldest, and begin again", async () => {
  const { wallet, asked } = await waiting(10, [9]);

  for (let round = 0; round < 4; round += 1) await wallet.checkRound();

  assert.deepEqual(asked, [[10, 8, 7, 6], [5, 4, 3, 2], [1], [10, 8, 7, 6]]);
});

test("a code that is shown is asked for alone, and not where its secret is weak", async () => {
  const { service, store, wallet, asked, keys } = await waiting(3, [2]);
  service.take(outputIn(store, keys[0]));

  await wallet.checkShown(keys[0]);
  await wallet.checkShown(keys[1]);
  await wallet.checkShown(keys[0]);

  assert.deepEqual(asked, [[1]]);
  assert.equal(outputIn(store, keys[0]).state, "spent");
});
