// What a door has scanned is sent by that door alone, and not at all once it is
// cancelled.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  amountsByState,
  copyOf,
  fileOf,
  giverOf,
  operationIn,
  outputIn,
  scansIn,
  walletMeeting,
  walletOf,
  walletOn,
} from "./parts.js";
import { memoryStore } from "./memory_store.js";

const AT_DOOR = { atDoor: true };
const UNSENT = { atDoor: true, isUnsent: /** @type {const} */ (true) };

/**
 * Return a guest's ticket of 2 units, and a door whose requests meet these fates, one
 * after the other; `swaps` are those that were sent.
 */
async function doorWith(...fates) {
  const { given: ticket, ...guest } = await giverOf(5, 2);
  const { service } = guest;
  const store = memoryStore();
  const swaps = [];
  const door = walletMeeting({ service, store }, (verb) => {
    if (verb === "swap") swaps.push(verb);
    return fates.shift();
  });
  return { service, ticket, store, door, swaps, guest };
}

/** Return such a door with the ticket scanned, and cancelled before it was answered. */
async function cancelledAfter(...fates) {
  const ground = await doorWith(...fates);
  const scan = await ground.door.claim(ground.ticket, AT_DOOR);
  await ground.door.cancel(scan.operation.key);
  return { ...ground, scan };
}

/** Return how a scan has ended. */
const stateOf = (store, { operation: { key } }) => {
  const { state, code = "", isCancelled } = operationIn(store, key);
  return `${isCancelled ? "cancelled, " : ""}${state} ${code}`.trim();
};
const CANCELLED = "cancelled, refused cancelled";
const CLAIMED = { spent: [2], held: [2] };

test("what a door has noted for later is sent when it says so, by nobody else", async () => {
  const { door, ticket, store, swaps } = await doorWith();

  const scan = await door.claim(ticket, UNSENT);
  assert.deepEqual(await door.finishBegun(), []);
  await assert.rejects(door.claim(ticket), { code: "busy" });
  assert.deepEqual([scan.operation.state, swaps], ["begun", []]);
  const { operation } = await door.finish(scan.operation.key);

  assert.deepEqual([operation.state, operation.isUnsent], ["done", undefined]);
  assert.deepEqual([swaps.length, amountsByState(store)], [1, CLAIMED]);
});

test("a scan that was never sent is cancelled without a network", async () => {
  const { door, ticket, store, swaps, guest } = await doorWith("lost", "lost");
  const scan = await door.claim(ticket, UNSENT);

  await door.cancel(scan.operation.key);
  assert.equal(stateOf(store, scan), CANCELLED);
  await door.finish(scan.operation.key);
  await door.finishBegun();

  assert.deepEqual([swaps, amountsByState(store)], [[], { seen: [2], void: [2] }]);
  assert.equal((await guest.wallet.claim(ticket)).operation.state, "done");
});

for (const fate of ["lost", "late", "busy"]) {
  test(`a cancelled scan is asked about and not sent again: ${fate}`, async () => {
    const ground = await cancelledAfter(fate, "lost");
    const { door, ticket, store, swaps, guest, scan } = ground;

    const [unanswered] = await door.finishBegun();
    assert.ok(unanswered.problem);
    assert.equal(stateOf(store, scan), "cancelled, begun");
    await door.finishBegun();

    assert.equal(stateOf(store, scan), CANCELLED);
    assert.equal(swaps.length, 1);
    assert.equal((await guest.wallet.claim(ticket)).operation.state, "done");
  });
}

test("a cancelled scan that had been carried out is done", async () => {
  const { door, store, scan } = await cancelledAfter("answer lost");

  await door.finishBegun();

  assert.equal(stateOf(store, scan), "cancelled, done");
  assert.deepEqual(amountsByState(store), CLAIMED);
});

test("a cancelled scan that had been carried out is there although nobody says so", async () => {
  const { door, store } = await cancelledAfter("answer lost", "answered", "refused");

  await door.finishBegun();

  assert.deepEqual(amountsByState(store), CLAIMED);
});

test("a cancelled scan whose ticket somebody else has claimed is refused", async () => {
  const { door, ticket, store, service, scan } = await cancelledAfter("lost");
  service.take(ticket);

  await door.finishBegun();

  assert.equal(stateOf(store, scan), CANCELLED);
  assert.equal(outputIn(store, ticket.key).spentElsewhere, true);
});

test("a cancelled scan that was carried out late is found when the ticket is shown again", async () => {
  const { door, ticket, store, service, scan } = await cancelledAfter("late");
  await door.finishBegun();
  service.deliverLate();

  const again = await door.claim(ticket, AT_DOOR);

  assert.equal(again.operation.code, "spent_input");
  assert.equal(stateOf(store, scan), "cancelled, done");
  const { operation, spentElsewhere } = outputIn(store, ticket.key);
  assert.deepEqual([operation, spentElsewhere], [scan.operation.key, undefined]);
});

test("a cancelled scan that was carried out late is done at the next visit", async () => {
  const { door, store, service, scan } = await cancelledAfter("late");
  await door.finishBegun();
  service.deliverLate();

  assert.ok(await door.isLookDue());
  await door.look();

  assert.equal(stateOf(store, scan), "cancelled, done");
  assert.deepEqual(amountsByState(store), CLAIMED);
});

test("a scan that may have been sent since its file was written is asked about", async () => {
  const { door, ticket, service } = await doorWith();
  const scan = await door.claim(ticket, UNSENT);
  const backup = await door.exportRecords();
  await door.finish(scan.operation.key);
  const phone = await walletOf(service, backup);

  await phone.wallet.cancel(scan.operation.key);
  await phone.wallet.finishBegun();

  assert.equal(stateOf(phone.store, scan), "cancelled, done");
});

test("a scan that was cancelled in a copy is not sent here", async () => {
  const { door, ticket, service, store, swaps } = await doorWith("lost");
  const scan = await door.claim(ticket, AT_DOOR);
  const phone = await copyOf({ service, wallet: door });
  await phone.wallet.cancel(scan.operation.key);

  await door.importRecords(await phone.wallet.exportRecords());
  await door.finish(scan.operation.key);

  assert.deepEqual([stateOf(store, scan), swaps.length], [CANCELLED, 1]);
});

test("of two tabs that send and cancel at once, one does", async () => {
  const { door, ticket, store, service, swaps } = await doorWith();
  const scan = await door.claim(ticket, UNSENT);
  const other = walletOn(service, store);

  await Promise.all([
    other.cancel(scan.operation.key),
    door.finish(scan.operation.key),
  ]);

  assert.equal(stateOf(store, scan), swaps.length ? "done" : CANCELLED);
});

test("what ended at a door is only asked about when an old file is read", async () => {
  const { door, ticket, store, service } = await doorWith();
  service.take(ticket);
  const scan = await door.claim(ticket, AT_DOOR);
  assert.equal(stateOf(store, scan), "refused spent_input");
  const records = await fileOf({ wallet: door });
  records.outputs.find(({ key }) => key === ticket.key).state = "seen";

  await door.importRecords(records);

  assert.equal(scansIn(store).length, 1);
  await door.finishBegun();
  assert.equal(stateOf(store, scan), CANCELLED);
});
