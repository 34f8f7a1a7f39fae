// Secrets from a seed: the vectors that all implementations are checked with, and that
// no number is taken twice.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import {
  BRANCHES,
  deriveSecrets,
  isSeed,
  newSeed,
} from "../../../../parts/pages/static/js/wallet/seeds.js";
import { isStrongSecret } from "../../../../parts/pages/static/js/format/raw_output.js";
import { keyOf } from "../../../../parts/pages/static/js/wallet/records.js";
import { keysOf, outputsIn, swapsMeeting, walletHolding, walletOn } from "./parts.js";

const VECTORS = JSON.parse(
  readFileSync(
    new URL("../../../support/wallet_vectors.json", import.meta.url),
    "utf8",
  ),
);

test("secrets are those of the vectors", async () => {
  const branches = new Set(VECTORS.map(({ branch }) => branch));

  assert.deepEqual([...branches].sort(), [...BRANCHES].sort());
  assert.deepEqual(
    await deriveSecrets(VECTORS),
    VECTORS.map(({ secret }) => secret),
  );
  for (const { secret } of VECTORS) assert.ok(await isStrongSecret(secret));
});

test("each new seed is another one", () => {
  const [one, other] = [newSeed(), newSeed()];

  assert.ok([one, other].every(({ key, isOwn }) => isSeed(key) && isOwn));
  assert.notEqual(one.key, other.key);
});

/** Return the next numbers of an item that a store keeps. */
const numbersOf = ({ store, itemId }) => {
  const [seed] = store.kept.seeds.keys();
  const { key: _, ...numbers } = store.kept.numbers.get(`${seed}.${itemId}`) ?? {};
  return numbers;
};

test("a number is taken when an operation is written down, and never again", async () => {
  const ground = await walletHolding(5);
  const unlucky = swapsMeeting(ground, "lost", "refused");

  await unlucky.send(ground.itemId, 2);
  const taken = numbersOf(ground);
  await unlucky.finishBegun();
  await ground.wallet.send(ground.itemId, 2);

  assert.deepEqual(taken, { kept: 1, given: 1 });
  assert.deepEqual(numbersOf(ground), { kept: 2, given: 2 });
  const secrets = outputsIn(ground.store).map(({ secret }) => secret);
  assert.equal(new Set(secrets).size, secrets.length);
});

test("a link has the secret of its own number, and a second issue another one", async () => {
  const { service, store, itemId } = await walletHolding(9);
  const [{ key: seed }] = store.kept.seeds.values();
  const derived = async (branch, number) => {
    const [secret] = await deriveSecrets([{ seed, branch, itemId, number }]);
    return keyOf({ itemId, secret });
  };
  const wallet = walletOn(service, store, service.api(), { derive: deriveSecrets });

  const { operation } = await wallet.makeLinks(itemId, { count: 3, each: 3 });
  const keys = keysOf(operation.outputs);
  await wallet.give([keys[1]]);
  await wallet.takeBack(keys[1]);

  const again = outputsIn(store).find(({ issue }) => issue);
  const series = [1, 2, 3].map((number) => derived("series", number));
  assert.deepEqual(keys, await Promise.all(series));
  assert.equal(again?.key, await derived("given", 0));
});

test("a mint's links use up their numbers, although its secrets are random", async () => {
  const { service, store, wallet } = await walletHolding();

  const { operation } = await wallet.mint({ links: { count: 3, each: 1 } });
  const { itemId } = operation;

  assert.deepEqual(numbersOf({ store, itemId }), { series: 4 });
  assert.equal(service.live().length, 3);
});
