// Requests and answers that were lost, late, or refused although they had been carried
// out.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  NoAnswerError,
  ProblemError,
} from "../../../../parts/pages/static/js/wallet/api.js";
import { memoryStore } from "./memory_store.js";
import {
  amountsByState,
  assertAmounts,
  giverOf,
  linkFrom,
  madeBy,
  operationIn,
  pass,
  people,
  swapsMeeting,
  walletHolding,
  walletMeeting,
  walletOn,
} from "./parts.js";

/** What is there when a send of 2 units of 5 is begun, and when it was carried out. */
const BEGUN = { leaving: [5], coming: [2, 3] };

for (const [place, states] of [
  [0, { spent: [2, 5], held: [3] }],
  [1, { spent: [3, 5], given: [2] }],
]) {
  test(`a refusal of what had been carried out, and taken since, is not believed: ${place}`, async () => {
    const ground = await walletHolding(5);
    const begun = await swapsMeeting(ground, "answer lost").send(ground.itemId, 2);
    ground.service.take(madeBy(ground.store, begun, place));

    const [{ operation }] = await swapsMeeting(ground, "refused").finishBegun();

    assert.equal(operation.state, "done");
    assertAmounts(ground.store, states);
    assert.equal(madeBy(ground.store, begun, place).spentElsewhere, true);
  });
}

test("a refusal is not believed until the service has been asked", async () => {
  const ground = await walletHolding(5);
  const silent = walletMeeting(ground, (verb) =>
    verb === "swap" ? "refused" : "lost",
  );

  const { operation, problem } = await silent.send(ground.itemId, 2);

  assert.equal(operation.state, "begun");
  assert.ok(problem instanceof NoAnswerError);
  assertAmounts(ground.store, BEGUN);
  await assert.rejects(ground.wallet.send(ground.itemId, 1), {
    message: "It is on its way, in this tab or another.",
  });
});

/**
 * A send that is refused at its second try, and whose first try is carried out after
 * that.
 */
async function carriedOutLate() {
  const ground = await walletHolding(5, 4);
  const begun = await swapsMeeting(ground, "late").send(ground.itemId, 2);
  await swapsMeeting(ground, "refused").finishBegun();
  assertAmounts(ground.store, { held: [4, 5], void: [2, 3] });
  ground.service.deliverLate();
  return { ...ground, begun };
}

test("nothing is refused before what was carried out late has been looked for", async () => {
  const { wallet, store, service, itemId, begun } = await carriedOutLate();
  let checksCount = 0;
  const silent = walletMeeting({ service, store }, (verb) =>
    verb === "check" && (checksCount += 1) === 3 ? "lost" : "answered",
  );

  const { operation, problem } = await silent.send(itemId, 5);

  assert.deepEqual([operation.state, problem.name], ["begun", "NoAnswerError"]);
  await wallet.finishBegun();
  assertAmounts(store, {
    spent: [5],
    held: [3, 4],
    given: [2],
    void: [5],
  });
  assert.equal(operationIn(store, begun.operation.key).state, "done");
});

/**
 * A claim that was sent twice and refused at its third try, while both first tries are
 * under way still. `asked` are the requests that the claiming wallet makes from then on.
 */
async function claimedLate() {
  const { service, given } = await giverOf(5, 2);
  const store = memoryStore();
  const unlucky = swapsMeeting({ service, store }, "late", "late", "refused");
  await unlucky.claim(given);
  for (const code of [undefined, "unknown_input"]) {
    const [{ operation }] = await unlucky.finishBegun();
    assert.equal(operation.code, code);
  }
  assertAmounts(store, { seen: [2], void: [2] });
  const asked = [];
  const wallet = walletMeeting({ service, store }, (verb) => void asked.push(verb));
  return { service, store, wallet, asked };
}

const CLAIMED = { spent: [2], held: [2] };

test("a claim that was carried out after its refusal is found by a check", async () => {
  const { service, store, wallet, asked } = await claimedLate();
  service.deliverLate();

  await wallet.checkStates();

  assertAmounts(store, CLAIMED);
  // It was spent before: to send it once more moves nothing.
  assert.equal(asked.filter((verb) => verb === "swap").length, 1);
});

test("a claim that was carried out after a look is found by the next one", async () => {
  const { service, store, wallet } = await claimedLate();
  await wallet.look();
  pass(60);
  service.deliverLate();

  assert.ok(await wallet.isLookDue());
  await wallet.look();

  assertAmounts(store, CLAIMED);
  assert.ok(!(await wallet.isLookDue()));
});

test("what was refused is asked for no more once it cannot be under way", async () => {
  const { store, wallet, asked } = await claimedLate();
  await wallet.look();
  await wallet.checkStates();
  pass(24 * 60 * 60);

  await wallet.look();

  assert.ok(!(await wallet.isLookDue()));
  asked.length = 0;
  await wallet.checkStates();
  await wallet.finishBegun();
  assert.deepEqual([asked, amountsByState(store)], [[], { seen: [2], void: [2] }]);
});

test("a look forgets nothing that another tab asks for meanwhile", async () => {
  const [{ service, store, wallet }, giver] = await people([5], [5]);
  const given = await linkFrom(giver, 2);
  const tab = swapsMeeting({ service, store }, "late", "refused");
  const acts = [() => tab.claim(given), () => tab.finishBegun()];
  const api = service.api();
  const find = async (...asked) => {
    for (const act of acts.splice(0)) await act();
    return api.find(...asked);
  };

  await walletOn(service, store, { ...api, find }).look({ isWhole: true });
  pass(60 * 60);
  service.deliverLate();

  assert.ok(await wallet.isLookDue());
  await wallet.look();
  assertAmounts(store, { spent: [2], held: [2, 5] });
});

test("a refused operation costs no question for what the service does not know", async () => {
  const ground = await walletHolding(500);
  const asked = [];
  const wallet = walletMeeting(ground, (verb, given) => {
    if (verb === "check") asked.push(...given);
    return verb === "swap" ? "refused" : "answered";
  });

  await wallet.makeLinks(ground.itemId, { count: 200, each: 1 });

  assert.equal(asked.length, 1);
});

for (const [code, state] of [
  ["invalid_request", "begun"],
  ["body_too_large", "begun"],
  ["idempotency_key_reused", "begun"],
  ["mint_token_wrong", "begun"],
  ["duplicate_secret", "refused"],
]) {
  test(`a mint that may have been carried out is ${state} after a refusal: ${code}`, async () => {
    const ground = await walletHolding();
    const outputs = [{ amount: 5 }];
    const problem = new ProblemError({ code, isFinal: true }, 400, null);
    const refusing = walletOn(ground.service, ground.store, {
      ...ground.service.api(),
      mint: async () => Promise.reject(problem),
    });
    const first = await refusing.mint({ outputs });
    assert.equal(first.operation.state, "refused");
    await walletMeeting(ground, () => "answer lost").mint({ outputs });

    const [again] = await refusing.finishBegun();

    assert.equal(again.operation.state, state);
    await ground.wallet.finishBegun();
    assertAmounts(ground.store, state === "begun" ? { held: [5] } : {});
  });
}

test("an operation that has ended is not sent again", async () => {
  const ground = await walletHolding(5);
  const done = await ground.wallet.send(ground.itemId, 2);
  const refused = await swapsMeeting(ground, "refused").send(ground.itemId, 1);
  const deaf = walletOn(ground.service, ground.store, {});

  for (const { operation } of [done, refused]) {
    assert.deepEqual(await deaf.finish(operation.key), { operation });
  }
  assert.deepEqual(await deaf.finishBegun(), []);
});

for (const fates of [["refused"], ["lost", "refused"]]) {
  test(`a mint's outputs that a link has named before are there in the end: ${fates}`, async () => {
    const ground = await walletHolding();
    const lost = walletMeeting(ground, () => "answer lost");
    await lost.mint({ outputs: [{ amount: 5, secret: "a" }] });
    const unlucky = swapsMeeting(ground, ...fates);
    const [itemId] = ground.service.live()[0].split(".");
    await unlucky.claim({ itemId, amount: 7, secret: "a" });

    await unlucky.finishBegun();

    assertAmounts(ground.store, { given: [5], void: [7] });
  });
}

test("once the service says to wait, nothing more of what was begun is sent", async () => {
  const ground = await walletHolding(5, 6);
  for (const amount of [5, 6])
    await walletMeeting(ground, () => "lost").send(ground.itemId, amount);

  const outcomes = await walletMeeting(ground, () => "busy").finishBegun();

  assert.equal(outcomes.length, 1);
});
