// What a till lists, and the sum of its day.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  dayOfRow,
  paymentsOf,
  sumText,
} from "../../../../../parts/pages/static/js/pages/till/request.js";

const NOW = new Date(2026, 10, 26, 12);
const MINUTE_MS = 60_000;

/** Return the operation of a request for units that ended some minutes ago. */
function ask(amount, state = "done", endedMinutesAgo = 0) {
  const at = Number(NOW) - endedMinutesAgo * MINUTE_MS;
  const endedAt = state === "open" ? undefined : at;
  return { kind: "ask", offerId: "offer_a", state, amount, begunAt: at, endedAt };
}

const DAY_MINUTES = 24 * 60;

/** Return the amount of each row, or the sum of its day. */
const saidOf = (all, unit = "") =>
  paymentsOf(all, NOW).rows.map(({ key, amount, payments }) =>
    payments ? sumText(payments, unit, dayOfRow({ key })) : amount,
  );

test("a till sums up the payments of its day, and of no other", () => {
  const all = [ask(3), ask(9, "refused"), ask(4, "open"), ask(2, "done", 60)];

  const { today } = paymentsOf([...all, ask(50, "done", DAY_MINUTES)], NOW);

  assert.equal(sumText(today, "ticket/tickets"), "Today: 5 tickets in 2 payments");
  assert.deepEqual(paymentsOf([], NOW).today, []);
});

test("it lists the latest payments and what can still be paid, the newest first", () => {
  const unsent = { ...ask(7, "begun"), offerId: undefined };
  const sent = { ...ask(6), kind: "withdraw" };
  const old = Array.from({ length: 9 }, () => ask(1, "done", 90));
  const all = [...old, ask(2, "done", 30), ask(3, "open", 5), ask(8, "refused")];

  assert.deepEqual(saidOf([...all, unsent, sent]), [3, 2, 1, 1, 1, 1, 1, 1]);
  assert.equal(paymentsOf(all, NOW).open.length, 1);
});

test("above the payments of each earlier day stands their sum, also of those not listed", () => {
  const daysAgo = (amount, days, state = "done") =>
    ask(amount, state, days * DAY_MINUTES);
  const monday = Array.from({ length: 7 }, () => daysAgo(2, 3));
  const all = [...monday, daysAgo(4, 1), daysAgo(9, 2, "open"), daysAgo(5, 4), ask(3)];

  assert.deepEqual(saidOf(all, "coffee/coffees"), [
    3,
    "Wed, Nov 25: 4 coffees in 1 payment",
    4,
    9,
    "Mon, Nov 23: 14 coffees in 7 payments",
    ...[2, 2, 2, 2, 2],
    "Sun, Nov 22: 5 coffees in 1 payment",
  ]);
  // Those of a week, and today.
  const year = Array.from({ length: 365 }, (_, days) => daysAgo(1, days));
  assert.equal(saidOf(year).filter((each) => each !== 1).length, 7);
});
