// Claims of a door: only that door sends them, and nobody once they are cancelled.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  amountsByState,
  assertAmounts,
  copyOf,
  giverOf,
  operationIn,
  outputIn,
  scansIn,
  throughText,
  walletMeeting,
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

const stateOf = (store, { operation: { key } }) => {
  const { state, code, isCancelled } = operationIn(store, key);
  return { state, code, isCancelled };
};
const CANCELLED = { state: "refused", code: "cancelled", isCancelled: true };

/** Fail unless a scan's units are at the door. */
function assertIsIn(store, scan, state = "done") {
  assert.equal(stateOf(store, scan).state, state);
  assertAmounts(store, { spent: [2], held: [2] });
}

test("what a door has noted for later is sent when it says so, by nobody else", async () => {
  const { door, ticket, store, swaps } = await doorWith();

  const scan = await door.claim(ticket, UNSENT);
  assert.deepEqual(await door.finishBegun(), []);
  await assert.rejects(door.claim(ticket), { code: "busy" });
  assert.deepEqual([scan.operation.state, swaps], ["begun", []]);
  const { operation } = await door.finish(scan.operation.key);

  assert.equal(operation.isUnsent, undefined);
  assertIsIn(store, scan);
  assert.equal(swaps.length, 1);
});

test("a scan that was never sent is cancelled without a network", async () => {
  const { door, ticket, store, swaps, guest } = await doorWith("lost", "lost");
  const scan = await door.claim(ticket, UNSENT);

  await door.cancel(scan.operation.key);
  assert.deepEqual(stateOf(store, scan), CANCELLED);
  await door.finish(scan.operation.key);
  await door.finishBegun();

  assert.deepEqual([swaps, amountsByState(store)], [[], { seen: [2], void: [2] }]);
  assert.equal((await guest.wallet.claim(ticket)).operation.state, "done");
});

for (const fate of ["lost", "late", "busy"]) {
  test(`a cancelled scan is asked about and not sent again: ${fate}`, async () => {
    const { door, ticket, store, swaps, guest, scan } = await cancelledAfter(
      fate,
      "lost",
    );

    const [unanswered] = await door.finishBegun();
    assert.ok(unanswered.problem);
    assert.equal(stateOf(store, scan).state, "begun");
    await door.finishBegun();

    assert.deepEqual(stateOf(store, scan), CANCELLED);
    assert.equal(swaps.length, 1);
    assert.equal((await guest.wallet.claim(ticket)).operation.state, "done");
  });
}

for (const [state, ...fates] of [
  ["done", "answer lost"],
  ["refused", "answer lost", "answered", "refused"],
]) {
  test(`a cancelled scan that was carried out is there, whatever is said of it: ${state}`, async () => {
    const { door, store, scan } = await cancelledAfter(...fates);

    await door.finishBegun();

    assertIsIn(store, scan, state);
    assert.equal(stateOf(store, scan).isCancelled, true);
  });
}

test("a cancelled scan whose ticket somebody else has claimed is refused", async () => {
  const { door, ticket, store, service, scan } = await cancelledAfter("lost");
  service.take(ticket);

  await door.finishBegun();

  assert.deepEqual(stateOf(store, scan), CANCELLED);
  assert.equal(outputIn(store, ticket.key).spentElsewhere, true);
});

test("a cancelled scan that was carried out late is found when the ticket is shown again", async () => {
  const { door, ticket, store, service, scan } = await cancelledAfter("late");
  await door.finishBegun();
  service.deliverLate();

  const again = await door.claim(ticket, AT_DOOR);

  assert.equal(again.operation.code, "spent_input");
  assert.equal(stateOf(store, scan).state, "done");
  const { operation, spentElsewhere } = outputIn(store, ticket.key);
  assert.deepEqual([operation, spentElsewhere], [scan.operation.key, undefined]);
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

  const { state } = stateOf(store, scan);
  assert.equal(state, swaps.length ? "done" : "refused");
});

test("what ended at a door is only asked about when an old file is read", async () => {
  const { door, ticket, store, service } = await doorWith();
  service.take(ticket);
  const scan = await door.claim(ticket, AT_DOOR);
  assert.equal(stateOf(store, scan).code, "spent_input");
  const records = throughText(await door.exportRecords());
  records.outputs.find(({ key }) => key === ticket.key).state = "seen";

  await door.importRecords(records);

  assert.equal(scansIn(store).length, 1);
  await door.finishBegun();
  assert.deepEqual(stateOf(store, scan), CANCELLED);
});
