// Scans without an answer: they wait, are sent one by one, and can be cancelled.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as soon } from "node:timers/promises";

import { makeClock } from "../../../../../parts/pages/static/js/pages/door/clock.js";
import { makeQueue } from "../../../../../parts/pages/static/js/pages/door/queue.js";
import { timeText } from "../../../../../parts/pages/static/js/texts.js";
import { memoryStore } from "../../wallet/memory_store.js";
import {
  keysOf,
  linkFrom,
  now,
  walletHolding,
  walletMeeting,
} from "../../wallet/parts.js";

const network = { onLine: true };

/**
 * Return guests with tickets, and `openDoor`, which opens a door for them with a new
 * store, or with that of another door.
 */
async function party({ mock }, ticketsCount, about = { validUntil: null }) {
  mock.timers.enable({ apis: ["setTimeout"] });
  Object.defineProperty(globalThis, "navigator", {
    value: network,
    configurable: true,
  });
  network.onLine = true;
  const guests = await walletHolding(50);
  const { service, itemId } = guests;
  const tickets = [];
  for (let place = 0; place < ticketsCount; place += 1)
    tickets.push(await linkFrom(guests, 1));

  function openDoor(kept = memoryStore()) {
    const door = {
      fate: "answered",
      sentCount: 0,
      ended: [],
      next: () => {},
      time: null,
    };
    const time = () => door.time;
    const clock = makeClock(about, { time, askTime: async () => time() }, now);
    const its = walletMeeting({ service, store: kept }, (verb) => {
      door.sentCount += verb === "swap" ? 1 : 0;
      return door.fate;
    });
    const onEnd = ({ inputs: [key], state, code }) => {
      door.ended.push([tickets.findIndex((each) => each.key === key), code ?? state]);
      return new Promise((resolve) => (door.next = () => resolve(true)));
    };
    const onError = (error) => assert.fail(error);
    const queue = makeQueue({
      itemId,
      store: kept,
      wallet: its,
      clock,
      onEnd,
      onError,
    });
    return Object.assign(door, { queue, store: kept, wallet: its });
  }

  /** Let so much time pass, and everything happen that was waiting for it. */
  async function pass(milliseconds) {
    mock.timers.tick(milliseconds);
    for (let turns = 0; turns < 60; turns += 1) await soon();
  }

  return { tickets, openDoor, door: openDoor(), pass };
}

/** Scan these tickets, one after the other. */
async function scan({ queue }, tickets) {
  for (const ticket of tickets) await queue.claim(ticket);
}

const waiting = async ({ queue }) =>
  (await queue.list()).map(({ isUnsent, isCancelled }) => [
    isUnsent ? "unsent" : "sent",
    ...(isCancelled ? ["cancelled"] : []),
  ]);

test("without a network nothing is sent; once it is back each has its own answer", async (context) => {
  const { tickets, door, pass } = await party(context, 3);
  network.onLine = false;
  await scan(door, tickets);
  await pass(60_000);
  assert.deepEqual(await waiting(door), Array(3).fill(["unsent"]));
  const scans = await door.queue.list();
  assert.deepEqual(keysOf(scans.map(({ ticket }) => ticket)), keysOf(tickets));
  assert.deepEqual([door.sentCount, door.ended], [0, []]);

  network.onLine = true;
  door.queue.wake();
  for (const place of [0, 1, 2]) {
    await pass(0);
    // The next one is sent once this one was seen.
    assert.equal(door.sentCount, place + 1);
    assert.deepEqual(door.ended.slice(place), [[place, "done"]]);
    door.next();
  }
  assert.deepEqual(await waiting(door), []);
});

test("after one that was lost no other is sent until there is an answer", async (context) => {
  const { tickets, door, pass } = await party(context, 3);
  door.fate = "lost";

  await scan(door, tickets);
  await pass(0);
  assert.deepEqual(await waiting(door), [["sent"], ["unsent"], ["unsent"]]);
  await pass(2000);
  door.fate = "answered";
  await pass(60_000);

  assert.deepEqual(door.ended, [[0, "done"]]);
  assert.deepEqual(await waiting(door), [["unsent"], ["unsent"]]);
});

test("a busy service is asked no sooner than it said", async (context) => {
  const { tickets, door, pass } = await party(context, 2);
  door.fate = "busy";
  await door.queue.claim(tickets[0]);
  door.fate = "answered";

  await door.queue.claim(tickets[1]);
  await pass(900);
  assert.equal(door.sentCount, 1);
  await pass(2000);

  assert.deepEqual(door.ended, [[0, "done"]]);
});

test("what is cancelled is not sent, and once that is sure the next scan is, at once", async (context) => {
  const { tickets, door, pass } = await party(context, 3);
  const [next, ...cancelled] = tickets;
  door.fate = "lost";
  await scan(door, cancelled);
  for (const { key } of await door.queue.list()) await door.wallet.cancel(key);
  door.queue.wake();
  await pass(0);
  assert.deepEqual(await waiting(door), [["sent", "cancelled"]]);
  const sentBefore = door.sentCount;

  door.fate = "answered";
  await pass(60_000);

  assert.deepEqual([door.sentCount, door.ended], [sentBefore, [[1, "cancelled"]]]);
  assert.equal((await door.queue.claim(next)).operation.state, "done");
});

test("a closed door sends nothing, nor does the next one before it is told to", async (context) => {
  const { tickets, openDoor, door, pass } = await party(context, 2);
  network.onLine = false;
  await scan(door, tickets);
  door.queue.pause();
  network.onLine = true;
  door.queue.wake();
  await pass(60_000);

  const next = openDoor(door.store);
  await pass(60_000);
  assert.deepEqual([door.sentCount, next.sentCount], [0, 0]);
  assert.deepEqual(await waiting(next), Array(2).fill(["unsent"]));

  // It is sent, too, once it is scanned again.
  await assert.rejects(next.queue.claim(tickets[1]), { code: "busy" });
  await pass(0);
  assert.deepEqual(next.ended, [[1, "done"]]);
  next.next();
  next.queue.allow(await next.queue.list());
  await pass(0);
  assert.deepEqual(next.ended.slice(1), [[0, "done"]]);
});

test("while a claim is under way the next scans wait, and go out after it", async (context) => {
  const { tickets, door, pass } = await party(context, 2);
  const first = door.queue.claim(tickets[0]);

  const second = await door.queue.claim(tickets[1]);

  assert.equal(second.operation.isUnsent, true);
  assert.equal((await first).operation.state, "done");
  await pass(0);
  assert.deepEqual(door.ended, [[1, "done"]]);
});

test("nothing is sent before the service's time is known, nor what had expired by it", async (context) => {
  // This phone's clock begins near 0.
  const until = 5_000_000;
  const about = { validUntil: new Date(until) };
  const { tickets, openDoor, pass } = await party(context, 2, about);
  for (const [place, time, ended] of [
    [0, until - 100_000, "done"],
    [1, until + 100_000, "expired"],
  ]) {
    const door = openDoor();
    await door.queue.claim(tickets[place]);
    await pass(60_000);
    assert.deepEqual([await waiting(door), door.sentCount], [[["unsent"]], 0]);

    Object.assign(door, { time });
    door.queue.wake();
    await pass(0);

    assert.deepEqual(door.ended, [[place, ended]]);
    assert.equal(door.sentCount, ended === "done" ? 1 : 0);
    assert.deepEqual(await waiting(door), []);
  }
});

test("what counts is when a ticket was scanned, and never later than now", async () => {
  const about = { validUntil: new Date(10_000) };
  const hadExpired = (begunAt, time) =>
    makeClock(
      about,
      { time: () => time, askTime: async () => time },
      () => 0,
    ).hadExpired({ begunAt });

  assert.equal(await hadExpired(-5000, 15_000), false);
  assert.equal(await hadExpired(-5000, 15_001), true);
  // The phone was a day ahead by then.
  assert.equal(await hadExpired(86_400_000, 9000), false);
  assert.equal(await hadExpired(0, null), null);
});

test("a clock that is off by 2 minutes and more is told to be wrong", async () => {
  const time = Date.UTC(2026, 10, 28, 19, 41);
  for (const [aheadMs, isTold] of [
    [119_999, false],
    [-119_999, false],
    [120_000, true],
    [-7_200_000, true],
  ]) {
    const api = { time: () => time, askTime: async () => time };
    const text = await makeClock(
      { validUntil: null },
      api,
      () => time + aheadMs,
    ).wrongText();
    assert.equal(
      text.endsWith(
        `clock is wrong. The door uses the service's time: ${timeText(time)}.`,
      ),
      isTold,
    );
  }
});
