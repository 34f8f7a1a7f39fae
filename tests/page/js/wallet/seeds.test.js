// Secrets from a seed, compared with the vectors of all implementations.

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
import { keysOf, walletHolding, walletOn } from "./parts.js";

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

test("a link has the secret of its own number", async () => {
  const { service, store, itemId } = await walletHolding(9);
  const [{ key: seed }] = store.kept.seeds.values();
  const derived = async (number) => {
    const [secret] = await deriveSecrets([{ seed, branch: "series", itemId, number }]);
    return keyOf({ itemId, secret });
  };
  const wallet = walletOn(service, store, service.api(), { derive: deriveSecrets });

  const { operation } = await wallet.makeLinks(itemId, { count: 3, each: 3 });

  const series = [1, 2, 3].map(derived);
  assert.deepEqual(keysOf(operation.outputs), await Promise.all(series));
});

test("a mint's links use up their numbers, although its secrets are random", async () => {
  const { service, store, wallet } = await walletHolding();

  await wallet.mint({ links: { count: 3, each: 1 } });

  const [{ key: _, ...numbers }] = store.kept.numbers.values();
  assert.deepEqual(numbers, { series: 4 });
  assert.equal(service.live().length, 3);
});
