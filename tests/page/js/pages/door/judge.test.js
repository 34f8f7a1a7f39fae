import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as soon } from "node:timers/promises";
import {
  endVerdict,
  makeJudge,
  otherVerdict,
  scanText,
  usedVerdict,
} from "../../../../../parts/pages/static/js/pages/door/judge.js";
import {
  NoAnswerError,
  ProblemError,
} from "../../../../../parts/pages/static/js/wallet/api.js";
import {
  aboutOf,
  untilText,
  whenText,
} from "../../../../../parts/pages/static/js/format/about.js";
import { numberText } from "../../../../../parts/pages/static/js/format/tickets.js";
import { clockText } from "../../../../../parts/pages/static/js/texts.js";
import { WalletError } from "../../../../../parts/pages/static/js/wallet/records.js";

const ITEM = itemOf("1", "A ticket");
const KEY = `${ITEM.id}.secret`;
const TICKET = `https://deeds.test/claim/${ITEM.id}#+1.secret`;

function itemOf(digit, name, description) {
  return {
    id: `deed_${digit.repeat(26)}`,
    metadata: JSON.stringify({ name, description }),
  };
}

const done = { state: "done", amount: 1, inputs: [KEY], begunAt: 0 };
const begun = { ...done, state: "begun" };
const claimed = async () => ({ operation: done });
const waits = async () => ({ operation: begun });
const failing = (code, message) => async () => {
  throw new WalletError(code, message);
};
const gone = failing("already_claimed", "");
const known = (operation) => async () => ({ record: { state: "spent" }, operation });
const SCANNED_AT = new Date(2030, 5, 1, 19, 42, 7).getTime();
const saidOf = ({ kind, title, detail }) => [kind, title, detail];

/**
 * Return a door whose claims end as `claim` says, what it was asked for, and the states
 * of what came late.
 */
function doorOf(claim, more = {}) {
  const value = { onLine: false };
  Object.defineProperty(globalThis, "navigator", { value, configurable: true });
  const asked = [];
  const late = [];
  let scans = 1;
  const wallet = {
    item: async (itemId) => {
      asked.push(itemId);
      throw new NoAnswerError();
    },
    listed: async () => undefined,
    scannedAgain: async () => (scans += 1),
  };
  const { judge, judgeLate } = makeJudge({
    item: ITEM,
    host: "deeds.test",
    wallet,
    claim: (output) => {
      asked.push(output.itemId);
      return claim(output);
    },
    readRecords: async () => /** @type {any} */ ({}),
    onLate: ({ state }) => late.push(state),
    serviceTime: () => Date.now(),
    linkWith: async () => undefined,
    ...more,
  });
  const titles = async (...texts) => {
    const found = [];
    for (const text of texts) found.push((await judge(text)).title);
    return found;
  };
  return { titles, judge, judgeLate, asked, late };
}

test("each verdict has number and note, from the ticket's record or else a list", async () => {
  const named = { number: 17, of: 200, note: "table 4", amount: 2 };
  const told = { number: 17, of: 200, issue: undefined, note: "table 4" };
  const two = async () => ({ operation: { ...done, amount: 2 } });
  const fail = failing("closed", "Reload it.");
  const spent = { ...named, state: "spent", spentElsewhere: true };
  const ofRecord = (record) => ({
    readRecords: async () => ({ record, operation: done }),
  });
  const ofList = {
    wallet: { listed: async () => named, item: fail },
    readRecords: fail,
  };
  const other = TICKET.replace(ITEM.id, itemOf("2").id);
  const expired = itemOf("1", "A ticket", "Valid until: 2020-06-01 19:00 +00:00");

  for (const [title, claim, parts, text = TICKET] of [
    ["Valid, 2", two, ofRecord(named)],
    ["Valid, 2", two, ofList],
    ["You're offline.", waits, ofList],
    ["Already claimed elsewhere", fail, ofRecord(spent)],
    [untilText(aboutOf(expired)), two, { ...ofList, item: expired }],
    ["Ticket for another event", two, ofList, other],
  ]) {
    const verdict = await doorOf(claim, parts).judge(text);
    assert.deepEqual([verdict.title, verdict.ticket], [title, told]);
  }
  const late = await doorOf(two, ofList).judgeLate({ ...done, amount: 2 });
  assert.deepEqual([late.title, late.ticket, late.key], ["Valid, 2", told, KEY]);
  assert.match(late.detail, /^Scanned at /);
});

test("what a code says of its number goes to the claim, and stands where none is known", async () => {
  for (const row of [undefined, { note: "table 4" }, { number: 3 }]) {
    const record = {};
    const wallet = { listed: async () => row };
    const claim = async (_, knows) => {
      Object.assign(record, knows);
      return claimed();
    };
    const readRecords = async () => ({ record });
    const { judge } = doorOf(claimed, { claim, readRecords, wallet });

    const { ticket } = await judge(`${TICKET}&n=7`);

    const { note = row ? undefined : "Code says 7" } = row ?? {};
    assert.equal(ticket?.note, note);
  }
});

test("by the service's time a ticket expires; by the phone's alone it is in doubt", async (t) => {
  const item = itemOf("1", "A ticket", "Valid until: 2030-06-01 19:00 +00:00");
  const until = Date.UTC(2030, 5, 1, 19);
  const before = until - 86_400_000;
  const doubt = "Expired, if this phone's clock is right";
  let phoneNow = until;
  t.mock.method(Date, "now", () => phoneNow);
  for (const [time, phone, claim, said] of [
    [until, until + 1, claimed, ["valid", "Valid", 1]],
    [until + 1, before, claimed, ["refused", untilText(aboutOf(item), Infinity), 0]],
    [null, until + 1, waits, ["waiting", doubt, 1]],
    [null, until, waits, ["waiting", "You're offline.", 1]],
  ]) {
    phoneNow = phone;
    const { judge, asked } = doorOf(claim, { item, serviceTime: () => time });
    const { kind, title } = await judge(TICKET);
    const tickets = asked.filter((each) => each === item.id);
    assert.deepEqual([kind, title, Math.min(tickets.length, 1)], said);
  }
  const ended = { ...done, state: "refused", code: "expired" };
  const late = await doorOf(claimed, { item }).judgeLate(ended);
  assert.deepEqual(
    [late.kind, late.title],
    ["refused", untilText(aboutOf(item), Infinity)],
  );
});

test("of several tickets in one text none is claimed; one that is there twice is one", async () => {
  const { titles, asked } = doorOf(claimed);

  const found = await titles(`${TICKET}\n${TICKET}2`, `${TICKET} <${TICKET}>`);

  assert.deepEqual(found, ["2 tickets: show them one by one.", "Valid"]);
  assert.equal(asked.length, 1);
});

test("a ticket that comes again is told by how often and since when, and is no fraud", async (t) => {
  const record = { state: "spent", collectedAt: SCANNED_AT, amount: 2 };
  const operation = { ...done, atDoor: true };
  let moment = SCANNED_AT;
  const readRecords = async () => ({ record, operation });
  t.mock.method(Date, "now", () => moment);
  const { judge } = doorOf(gone, { readRecords });
  const said = async (afterMs) => {
    moment = SCANNED_AT + afterMs;
    return saidOf(await judge(TICKET));
  };

  const guests = "2 guests only.";
  const soon = ["again", "2nd scan", `Let in once, 3 s ago. ${guests}`];
  assert.deepEqual(await said(2500), soon);
  assert.deepEqual((await said(4000)).slice(0, 2), ["again", "3rd scan"]);
  const [kind, title, detail] = await said(3_600_000);
  assert.deepEqual([kind, title], ["again", "4th scan"]);
  assert.match(detail, /^Let in once, .*\b(19|0?7)\D42\b/);
});

test("of what is no ticket of this door nothing is sent but the id of its deed", async () => {
  const { titles, asked } = doorOf(claimed);
  const other = itemOf("2").id;

  const found = await titles(
    "https://example.net/",
    TICKET.replace("deeds.test", "deeds.example.com"),
    TICKET.replace(ITEM.id, other),
  );

  assert.deepEqual(found, [
    "Not a ticket",
    "A link of another service",
    "Ticket for another event",
  ]);
  assert.deepEqual(asked, [other]);
});

test("another deed is named, and one that is called alike is a forgery or is made here", () => {
  const night = (day, name = "A ticket") =>
    itemOf("2", name, `Date: 2030-06-0${day} 20:00 +00:00\nPlace: Club`);
  const own = night(1);
  const ask = "Don't let in. Ask where it was bought.";
  const facts = (day) => `${whenText(aboutOf(night(day)))} · “Club”.`;

  for (const [other, title, detail] of [
    [null, "Ticket for another event", ""],
    [night(2, "Play"), "Ticket for another event", `“Play” · ${facts(2)}`],
    [own, "Forged ticket", `Made by somebody else, or another batch. ${ask}`],
    [
      night(1, "a\u200b  TICKET"),
      "Forged ticket",
      `Made by somebody else, or another batch. ${ask}`,
    ],
    // Whoever forges it chooses its date.
    [
      night(2),
      "Not for this door: another ticket of the same name",
      `${facts(2)} ${ask}`,
    ],
    [
      { ...night(2), doorList: "l" },
      "Ticket for Sun, Jun 2",
      `“A ticket” · ${facts(2)} It belongs to another door.`,
    ],
    [
      { ...itemOf("2", "A ticket", "Place: Club"), isMinted: true },
      "Ticket for another event",
      "“A ticket” · “Club”. It belongs to another door.",
    ],
    [
      { ...own, isMinted: true },
      "Ticket of another batch",
      `“A ticket” · ${facts(1)} It belongs to another door.`,
    ],
  ])
    assert.deepEqual(saidOf(otherVerdict(other, own)), ["refused", title, detail]);
});

const HOLD = "Waiting. Let the guest in only if you trust it, or cancel.";

test("a ticket without an answer waits, and the person at the door decides", async () => {
  const busy = new ProblemError({ code: "overloaded" }, 503, 1);
  for (const [problem, title] of [
    [new NoAnswerError(), "You're offline."],
    [undefined, "You're offline."],
    [busy, "The service is busy."],
  ]) {
    const { judge, late } = doorOf(async () => ({ operation: begun, problem }));

    const { ticket, ...verdict } = await judge(TICKET);

    const expected = { kind: "waiting", title, detail: HOLD, isPending: true };
    assert.deepEqual(verdict, { ...expected, key: KEY });
    assert.equal(numberText(ticket), "");
    await soon();
    assert.deepEqual(late, []);
  }
});

test("a ticket that waits is told by what lists say of it, or that none names it", async () => {
  const seen = { amount: 1, state: "leaving", before: "seen" };
  const ours = { ...seen, before: "given" };
  const listing = { ...ITEM, doorList: "a list" };
  const listed = (letter) => ({ letter, at: Date.now() - 3_600_000 });
  const unknown = "waiting: You're offline. Not on this door's list. Let";
  const expected = "waiting: You're offline. On the list, not in yet. Let";

  for (const [said, item, record, row] of [
    ["waiting: You're offline. Waiting. Let", ITEM, seen],
    [unknown, listing, seen],
    [unknown, { ...ITEM, isMinted: true }, seen],
    [expected, ITEM, ours],
    // The new link of an admission that was undone knows of that.
    [expected, ITEM, { ...ours, givenAt: 1, undoneAt: 1 }],
    ["refused: Not let in after all, ", ITEM, { ...ours, undoneAt: 1 }],
    [expected, listing, seen, listed("n")],
    ["refused: Taken back by the organiser Ask", listing, seen, listed("b")],
    ["again: In at another door Let in once, ", listing, seen, listed("a")],
  ]) {
    const wallet = { item: async () => item, listed: async () => row };
    const readRecords = async () => ({ record, operation: begun });
    const { judge } = doorOf(waits, { wallet, readRecords });

    const { kind, title, detail, isPending } = await judge(TICKET);

    assert.ok(isPending);
    assert.ok(`${kind}: ${title} ${detail}`.startsWith(said), said);
  }
});

test("a ticket that waits already lets one guest in, and is told by when it came", async () => {
  const busy = failing("busy", "On its way.");
  const said = async (operation) => {
    const readRecords = async () => ({ record: { amount: 1 }, operation });
    return saidOf(await doorOf(busy, { readRecords }).judge(TICKET));
  };
  const atDoor = { state: "begun", atDoor: true, begunAt: Date.now() };

  const [kind, title, detail] = await said(atDoor);
  assert.deepEqual([kind, title], ["again", "2nd scan"]);
  assert.match(detail, /^Already waiting, \d+:\d\d:\d\d.*\. One guest only\.$/);
  const cancelled = await said({ ...atDoor, isCancelled: true });
  assert.match(cancelled[1], /^Scanned at \d+:\d\d:\d\d/);
  assert.match(cancelled[2], /^May have been admitted already/);
  assert.deepEqual(await said({ state: "begun" }), ["waiting", "On its way.", ""]);
});

test("what was cancelled too late is said so, also where it is scanned again", async () => {
  const operation = { ...done, isCancelled: true };
  const { judge, judgeLate } = doorOf(gone, { readRecords: known(operation) });

  const late = await judgeLate(operation);
  const again = await judge(TICKET);

  const said = [late, again].map(({ kind, title }) => [kind, title]);
  assert.deepEqual(said, Array(2).fill(["waiting", "Cancelled too late"]));
});

test("a browser that keeps nothing any more says so, for each ticket", async () => {
  const text = "This page is out of date. Reload it.";
  const fail = failing("closed", text);
  const { titles } = doorOf(fail, { readRecords: fail });

  assert.deepEqual(await titles(TICKET, TICKET), [text, text]);
});

for (const [state, told] of [
  ["done", ["done"]],
  ["begun", []],
]) {
  test(`nothing is green while the service is silent, and an answer is told: ${state}`, async ({
    mock,
  }) => {
    mock.timers.enable({ apis: ["setTimeout"] });
    let answer;
    const answered = new Promise((resolve) => (answer = resolve));
    const { judge, late } = doorOf(() => answered);

    const judging = judge(TICKET);
    await soon();
    mock.timers.tick(800);
    const { kind, title } = await judging;
    assert.deepEqual([kind, title], ["waiting", "No answer yet"]);
    answer({ operation: { ...done, state } });
    await soon();

    assert.deepEqual(late, told);
  });
}

test("a refusal is told by why", () => {
  const refused = (code) => saidOf(endVerdict({ state: "refused", code }));

  const none =
    "The service doesn't know this ticket. Don't let in. Ask where it was bought.";
  assert.deepEqual(refused("unknown_input"), ["refused", "Not valid", none]);
  assert.deepEqual(refused("used_secret"), ["waiting", "Scan it again", ""]);
});

test("a spent ticket is told by who spent it, and what the guest can do", (t) => {
  t.mock.method(Date, "now", () => SCANNED_AT + 60_000);
  const causes =
    "It was let in at another door, claimed at home, or taken back. Ask for the code in My deeds.";
  const elsewhere = ["refused", "Already claimed elsewhere", causes];
  const undone = ["refused", "Not let in after all", "Ask for the new code."];
  const back = ["refused", "Taken back by the organiser"];
  const once = "Let in once, … One guest only.";
  const inOnce = ["again", "In at another door", once];
  const spent = { state: "spent", amount: 1 };
  const away = { ...spent, spentElsewhere: true };
  const here = { ...spent, collectedAt: SCANNED_AT - 1 };
  const atDoor = { atDoor: true };
  const listed = (letter, more = {}) => ({ letter, at: SCANNED_AT, ...more });

  for (const [expected, record, more, row] of [
    [elsewhere, away],
    [
      ["refused", "Already claimed here", "Ask for the code in My deeds."],
      spent,
      { kind: "claim" },
    ],
    [
      [...back, "Ask for the 3rd link."],
      { ...spent, number: 17, issue: 2 },
      { kind: "takeBack" },
    ],
    [[...back, "Ask the organiser."], away, {}, listed("b")],
    [[...back, "Ask the organiser."], { ...away, takenBackAt: 1 }],
    [[...back, "Ask for the 2nd link."], away, {}, listed("b", { number: 17 })],
    [inOnce, away, {}, listed("a")],
    [inOnce, { ...away, admittedAt: SCANNED_AT - 1 }],
    [undone, away, {}, listed("u")],
    [["again", "2nd scan", once], here, atDoor],
    [undone, { ...here, undoneAt: SCANNED_AT + 1 }, atDoor],
  ]) {
    const operation = { state: "done", endedAt: SCANNED_AT, ...more };
    const found = /** @type {any} */ ({ record, operation, row });

    const { kind, title, detail } = usedVerdict(found);

    const words = title.replace(/, \D*\d.*/, "");
    const said = [kind, words, detail.replace(/, \D*\d.*\. /, ", … ")];
    assert.deepEqual(said, expected);
  }
});

test("a scan that waits is told by its time, its number and note, or its units", () => {
  const begunAt = Date.now();
  const time = clockText(begunAt, "medium");
  for (const [ticket, said] of [
    [{ amount: 5 }, "5 × seat"],
    [{ amount: 1, number: 17, of: 200, note: "Bob" }, "Seat 17 of 200 · Bob"],
  ])
    assert.equal(scanText({ begunAt, ticket }, "seat"), `${time} · ${said}`);
});
