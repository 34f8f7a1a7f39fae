// Strong secrets: the browser makes and recognizes the same as the service.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import {
  isStrongSecret,
  makeStrongSecret,
} from "../../../../parts/pages/static/js/format/raw_output.js";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

const vectors = JSON.parse(
  readFileSync(
    new URL("../../../support/strong_secrets.json", import.meta.url),
    "utf-8",
  ),
);

async function strongOnes(secrets) {
  const found = await Promise.all(secrets.map((secret) => isStrongSecret(secret)));
  return secrets.filter((_secret, place) => found[place]);
}

test("known secrets are strong", async () => {
  assert.deepEqual(await strongOnes(vectors.strong), vectors.strong);
});

test("other forms are not strong", async () => {
  const others = Object.values(vectors.not_strong);

  assert.equal(others.length, 13);
  assert.deepEqual(await strongOnes(others), []);
});

test("no known secret with another character is strong", async () => {
  const [secret] = vectors.strong;
  const changed = [...secret].flatMap((original, place) =>
    [...ALPHABET]
      .filter((other) => other !== original)
      .map((other) => secret.slice(0, place) + other + secret.slice(place + 1)),
  );

  assert.equal(changed.length, 32 * 31);
  assert.deepEqual(await strongOnes(changed), []);
});

test("made secrets are strong, different and of the alphabet", async () => {
  const made = await Promise.all(
    Array.from({ length: 1000 }, () => makeStrongSecret()),
  );

  assert.deepEqual(await strongOnes(made), made);
  assert.equal(new Set(made).size, made.length);
  assert.deepEqual(new Set(made.join("")), new Set(ALPHABET));
});
