// What a hostile service and a hostile file can do to a wallet that looks for its own.

import assert from "node:assert/strict";
import { test } from "node:test";

import { textFor } from "../../../../parts/pages/static/js/texts.js";
import { makeApi, ProblemError } from "../../../../parts/pages/static/js/wallet/api.js";
import { newSeed, NUMBER_MAX } from "../../../../parts/pages/static/js/wallet/seeds.js";
import {
  amountsByState,
  assertAmounts,
  derive,
  endOf,
  fileOf,
  heldIn,
  linkFrom,
  NOTHING,
  outputsIn,
  throughText,
  walletHolding,
  walletOf,
  walletOn,
} from "./parts.js";

/** Return how many units are live. */
const liveSum = ({ live, outputs }) =>
  live().reduce((sum, key) => sum + outputs.get(key).amount, 0);

/** An api that answers find by `lie`, or has offers of all. */
function lyingApi(service, lie) {
  const api = service.api();
  const isOffered = lie === LIES["offered without an end"];
  const findOffered = async (_itemId, secrets) => secrets.map(() => true);
  return {
    ...api,
    ...(isOffered && { findOffered }),
    find: async (itemId, secrets) =>
      lie(await api.find(itemId, secrets), itemId, secrets),
  };
}

/** A wallet of 10 units that has a backup from before it sent 3, and the backup. */
async function ground() {
  const maker = await walletHolding(10);
  const backup = await fileOf(maker);
  const sent = await linkFrom(maker, 3);
  return { ...maker, backup, sent };
}

const LIES = {
  "more in sum than there is": (answers) =>
    answers.map((_, at) => (at ? null : { amount: 3, state: "unspent" })),
  "never null": (answers) =>
    answers.map((each) => each ?? { amount: 1, state: "unspent" }),
  "offered without an end": (answers) => answers,
  "more than there is": (answers) =>
    answers.map((each) => each && { ...each, amount: 11 }),
  "spent of more than there is": (answers) =>
    answers.map((each) => each && { amount: 2 ** 53 - 1, state: "spent" }),
};

for (const [name, lie] of Object.entries(LIES)) {
  test(`a service that answers ${name} is told of, and nothing changes`, async () => {
    const { service, backup, itemId } = await ground();
    const phone = await walletOf(service, backup, lyingApi(service, lie));
    const live = service.live();

    const error = await phone.wallet.look().catch((thrown) => thrown);
    assert.match(textFor(error), /doesn.t add up\. Nothing was changed\.$/);

    assertAmounts(phone.store, { held: [10] });
    assert.deepEqual(service.live(), live);
    // It goes on as soon as the service does.
    const honest = walletOn(service, phone.store);
    assert.equal(await honest.look(), 2);
    await honest.checkStates();
    assert.equal((await honest.send(itemId, 2)).operation.state, "done");
    assert.equal(liveSum(service), 10);
  });
}

test("where the answer about what is gone cannot be true, the next visit looks", async () => {
  const { service, wallet, backup, itemId } = await ground();
  const phone = await walletOf(service, backup);
  await phone.wallet.look();
  assert.equal(await phone.wallet.isLookDue(), false);
  await wallet.send(itemId, 2);

  const lying = lyingApi(service, LIES["more than there is"]);
  await walletOn(service, phone.store, lying).checkStates();

  assert.equal(await phone.wallet.isLookDue(), true);
  // Nor is somebody said to have claimed it.
  const spent = outputsIn(phone.store).filter(({ state }) => state === "spent");
  assert.ok(spent.every(({ isUnclear }) => isUnclear));
});

test("what the service calls spent is not spendable, though find says otherwise", async () => {
  const { service, backup, sent, itemId } = await ground();
  service.take(sent);
  const lie = (answers) => answers.map((each) => each && { ...each, state: "unspent" });
  const phone = await walletOf(service, backup, lyingApi(service, lie));

  await phone.wallet.look();
  await phone.wallet.checkStates();

  assertAmounts(phone.store, { held: [7], spent: [3, 10] });
  assert.equal((await phone.wallet.send(itemId, 7)).operation.state, "done");
});

test("an answer of another form is no answer", async () => {
  const answers = [
    { outputs: [] },
    { outputs: [null, null] },
    { outputs: [{ amount: 5, state: "void" }] },
    { outputs: [{ amount: -5, state: "unspent" }] },
    { outputs: { 0: null, length: 1 } },
    { offered: [1] },
    null,
  ];
  for (const answer of answers) {
    const api = makeApi(async () => Response.json(answer));
    for (const verb of ["find", "findOffered"])
      await assert.rejects(api[verb]("deed_a", ["x"]), { name: "NoAnswerError" });
  }
});

test("numbers under a prototype's name change nothing else", async () => {
  const { wallet, store, itemId } = await ground();
  const records = await wallet.exportRecords();
  const [{ key: seed }] = records.seeds;
  const names = ["__proto__", "constructor", "toString", "hasOwnProperty"];
  const text = JSON.stringify({
    ...records,
    numbers: names.map((name) => ({ key: `${seed}.${name}`, kept: 7 })),
  }).replaceAll('"kept":7', '"kept":7,"__proto__":{"given":9,"series":9}');

  await wallet.importRecords(throughText(JSON.parse(text)));

  assert.equal({}.given, undefined);
  for (const name of names) {
    const { __proto__: _, ...kept } = store.kept.numbers.get(`${seed}.${name}`);
    assert.deepEqual(kept, { key: `${seed}.${name}`, kept: 7 });
  }
  assert.equal((await wallet.send(itemId, 2)).operation.state, "done");
  await fileOf({ wallet });
});

test("a service that calls every number used is asked a few times, and nothing moves", async () => {
  const { service, wallet, store, itemId } = await ground();
  const before = amountsByState(store);
  let count = 0;
  const swap = async () => {
    count += 1;
    throw new ProblemError({ code: "used_secret", isFinal: true }, 409, null);
  };
  const unlucky = walletOn(service, store, { ...service.api(), swap });

  const outcome = await unlucky.send(itemId, 2);

  assert.deepEqual(endOf(outcome), ["refused", "used_secret"]);
  assert.ok(count <= 4);
  const { void: _, ...rest } = amountsByState(store);
  assert.deepEqual(rest, before);
  assert.equal((await wallet.send(itemId, 2)).operation.state, "done");
});

test("a wrong amount that was answered once does not hide the output for ever", async () => {
  const { service, backup } = await ground();
  let isLying = true;
  const lie = (answers) =>
    answers.map((each) => each && (isLying ? { ...each, amount: 1 } : each));
  const phone = await walletOf(service, backup, lyingApi(service, lie));
  await phone.wallet.look().catch(() => {});
  await phone.wallet.checkStates();
  isLying = false;

  await phone.wallet.look({ isWhole: true });
  await phone.wallet.checkStates();

  const [unspent, ...rest] = heldIn(phone.store).filter(({ unknown }) => !unknown);
  assert.deepEqual([unspent.amount, rest], [7, []]);
});

const OVERFULL = {
  "the numbers of a file": ({ seeds: [{ key }] }, itemId) => ({
    numbers: [{ key: `${key}.${itemId}`, kept: NUMBER_MAX, given: NUMBER_MAX }],
  }),
  "seeds of many files": () => ({
    seeds: Array.from({ length: 8 }, (_, at) => ({
      ...newSeed(0),
      isOwn: at === 0 || undefined,
    })),
    numbers: [],
  }),
};

for (const [name, change] of Object.entries(OVERFULL)) {
  test(`${name} cannot make later backups unreadable`, async () => {
    const { wallet, itemId } = await walletHolding(10);
    await wallet.send(itemId, 1);
    const records = await wallet.exportRecords();
    const file = throughText({ ...records, ...change(records, itemId) });

    await wallet.importRecords(file).catch(() => {});
    await wallet.send(itemId, 1).catch(() => {});

    await fileOf({ wallet });
  });
}

test("numbers of links that another seed has made cannot make later backups unreadable", async () => {
  const { service, wallet, itemId } = await walletHolding(10);
  await wallet.send(itemId, 1);
  const seed = newSeed(0);
  const number = 2 ** 40;
  const numbers = [{ key: `${seed.key}.${itemId}`, series: number }];
  const [secret] = await derive([{ seed: seed.key, branch: "series", itemId, number }]);
  service.outputs.set(`${itemId}.${secret}`, { amount: 1, spent: false });
  await wallet.importRecords(throughText({ ...NOTHING, seeds: [seed], numbers }));

  await wallet.look().catch(() => {});

  await fileOf({ wallet });
});

test("a seed that is in a backup is looked for, although nothing was made from it", async () => {
  const one = await walletHolding(10);
  const backup = await fileOf(one);
  // Another wallet's file is taken in before anything is made.
  const { seeds, numbers } = await fileOf(await walletHolding(5));
  await one.wallet.importRecords({ ...NOTHING, seeds, numbers });
  const phone = await walletOf(one.service, backup);
  await phone.wallet.send(one.itemId, 3);

  await one.wallet.look();
  await one.wallet.checkStates();

  const { held, given } = amountsByState(one.store);
  assert.deepEqual([held, given], [[7], [3]]);
});

test("numbers set ahead are gone on from", async () => {
  const { service, wallet, itemId } = await ground();
  const records = await wallet.exportRecords();
  const numbers = records.numbers.map(({ key }) => ({ key, kept: 2 ** 47 }));
  const phone = await walletOf(service, throughText({ ...records, numbers }));

  assert.equal((await phone.wallet.send(itemId, 2)).operation.state, "done");
  assert.equal(await phone.wallet.look(), 0);
  await fileOf(phone);
});
