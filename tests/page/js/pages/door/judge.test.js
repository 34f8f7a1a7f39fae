import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as soon } from "node:timers/promises";
import {
  countText,
  endVerdict,
  makeJudge,
  otherVerdict,
  scanText,
  usedVerdict,
} from "../../../../../deeds/page/static/js/pages/door/judge.js";
import {
  NoAnswerError,
  ProblemError,
} from "../../../../../deeds/page/static/js/wallet/api.js";
import { WalletError } from "../../../../../deeds/page/static/js/wallet/records.js";

const ITEM = itemOf("1", "A ticket");
const KEY = `${ITEM.id}.secret`;
const TICKET = `https://deeds.test/claim/${ITEM.id}#+1.secret`;

function itemOf(digit, name) {
  return {
    id: `deed_${digit.repeat(26)}`,
    total: 9,
    metadata: JSON.stringify({ name }),
  };
}

const done = { state: "done", amount: 1, inputs: [KEY], begunAt: 0 };
const begun = { ...done, state: "begun" };
const claimed = async () => ({ operation: done });
const failing = (code, message) => async () => {
  throw new WalletError(code, message);
};
const known = (operation) => async () => ({ record: { state: "spent" }, operation });
const SCANNED_AT = new Date(2030, 5, 1, 19, 42, 7).getTime();

/**
 * Return a door whose claims end as `claim` says, what it was asked for, and the states
 * of what came late.
 */
function doorOf(claim, more = {}) {
  const asked = [];
  const late = [];
  const wallet = {
    item: async (itemId) => {
      asked.push(itemId);
      throw new NoAnswerError();
    },
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
    ...more,
  });
  const titles = async (...texts) => {
    const found = [];
    for (const text of texts) found.push((await judge(text)).title);
    return found;
  };
  return { titles, judge, judgeLate, asked, late };
}

test("a ticket is claimed for the door, and is valid once the service has said so", async () => {
  const { judge, asked } = doorOf(claimed);

  const { kind, title, key } = await judge(TICKET);

  assert.deepEqual([kind, title, key], ["valid", "Valid", KEY]);
  assert.deepEqual(asked, [ITEM.id]);
});

test("a unit is called what the issuer calls it, whatever the link says", async () => {
  const two = async () => ({ operation: { ...done, amount: 2 } });

  for (const [unit, said] of [
    ["seat", "2 × seat"],
    [undefined, "2 units"],
  ]) {
    const { judge, asked } = doorOf(two, { item: { ...ITEM, unit } });
    const { detail } = await judge(
      `${TICKET.replace("+1", "+2")}&unit=VIP%20%2B%20backstage`,
    );
    assert.equal(detail, said);
    assert.deepEqual(asked, [ITEM.id]);
  }
});

test("of several tickets in one text none is claimed; one that is there twice is one", async () => {
  const { titles, asked } = doorOf(claimed);

  const found = await titles(`${TICKET}\n${TICKET}2`, `${TICKET} <${TICKET}>`);

  assert.deepEqual(found, ["2 tickets: show them one by one.", "Valid"]);
  assert.equal(asked.length, 1);
});

test("who was let in a moment ago and is still in sight is no fraud", async (context) => {
  const operation = { ...done, atDoor: true, endedAt: SCANNED_AT };
  let moment = 0;
  context.mock.method(performance, "now", () => moment);
  const gone = failing("already_spent", "");
  const claim = () => (moment ? gone() : claimed());
  const { judge } = doorOf(claim, { readRecords: known(operation) });
  const said = async (atMs) => {
    moment = atMs;
    const { kind, title } = await judge(TICKET);
    return [kind, title];
  };

  assert.deepEqual(await said(0), ["valid", "Valid"]);
  assert.deepEqual(await said(1600), ["waiting", "Let in 2 s ago, at this door"]);
  assert.deepEqual(await said(9999), ["waiting", "Let in 10 s ago, at this door"]);
  assert.equal((await said(10_001))[0], "refused");
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
    "Another deed",
  ]);
  assert.deepEqual(asked, [other]);
});

test("another deed is named, and one that is called alike is told apart", () => {
  const title = (other) => otherVerdict(other, ITEM).title;

  assert.equal(title(itemOf("2", "Voucher")), "Another deed: “Voucher”");
  const alike = "Another deed of the same name: not one of yours";
  assert.equal(title(itemOf("2", "A ticket")), alike);
  assert.equal(title(itemOf("2", "a\u200b  TICKET")), alike);
  assert.equal(title({ ...itemOf("2"), metadata: null }), "Another deed");
  assert.equal(title(null), "Another deed");
});

const HOLD = "Waiting. Let in only if you trust it, or cancel.";

test("a ticket without an answer waits, and the person at the door decides", async () => {
  const busy = new ProblemError({ code: "overloaded" }, 503, 1);
  for (const [problem, title] of [
    [new NoAnswerError(), "No connection."],
    [undefined, "No connection."],
    [busy, "The service is busy."],
  ]) {
    const { judge, late } = doorOf(async () => ({ operation: begun, problem }));

    const { kind, ...said } = await judge(TICKET);

    assert.deepEqual([kind, said], ["waiting", { title, detail: HOLD, key: KEY }]);
    await soon();
    assert.deepEqual(late, []);
  }
});

test("a ticket that waits already is told by when it was scanned", async () => {
  const busy = failing("busy", "On its way.");
  const said = async (operation) => {
    const { judge } = doorOf(busy, { readRecords: async () => ({ operation }) });
    const { kind, title, detail } = await judge(TICKET);
    return [kind, title, detail];
  };
  const atDoor = { state: "begun", atDoor: true, begunAt: SCANNED_AT };

  const [kind, title, detail] = await said(atDoor);
  assert.match(title, /^Scanned at \D*(19|0?7)\D42\D07/);
  assert.deepEqual([kind, detail], ["waiting", HOLD]);
  const cancelled = await said({ ...atDoor, isCancelled: true });
  assert.match(cancelled[2], /^May have been admitted already/);
  assert.deepEqual(await said({ state: "begun" }), ["waiting", "On its way.", ""]);
});

test("a late answer says when the ticket was scanned", async () => {
  const { judgeLate } = doorOf(claimed);

  const { kind, title, detail, key } = await judgeLate({ ...done, amount: 2 });

  assert.deepEqual([kind, title, key], ["valid", "Valid", KEY]);
  assert.match(detail, /^2 units Scanned at /);
});

test("what was cancelled too late is no admission, and counts", async () => {
  const operation = { ...done, key: "its key", isCancelled: true };
  const gone = failing("already_spent", "");
  const { judge, judgeLate } = doorOf(gone, { readRecords: known(operation) });

  const late = await judgeLate(operation);
  const again = await judge(TICKET);

  const said = [late, again].map(({ kind, title }) => [kind, title]);
  assert.deepEqual(said, Array(2).fill(["waiting", "Cancelled too late"]));
  assert.deepEqual([late.operation, late.amount], ["its key", 1]);
});

test("a ticket that was used here before the network came back is told by when", async () => {
  const operation = { ...done, atDoor: true, endedAt: 0 };
  const { judgeLate } = doorOf(claimed, { readRecords: known(operation) });
  const refusal = { ...done, state: "refused", code: "spent_input" };

  const { kind, title } = await judgeLate(refusal);

  assert.equal(kind, "refused");
  assert.match(title, /^Already used on /);
  const { judgeLate: elsewhere } = doorOf(claimed);
  assert.equal((await elsewhere(refusal)).title, "Already claimed elsewhere");
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
  const refused = (code) => {
    const { kind, title } = endVerdict({ state: "refused", code });
    return [kind, title];
  };

  assert.deepEqual(refused("unknown_input"), ["refused", "Not valid"]);
  assert.deepEqual(refused("used_secret"), ["waiting", "Scan it again"]);
});

test("a ticket that this wallet knows to be spent is told by who spent it, and when", () => {
  const now = new Date(2030, 5, 1, 19, 43).getTime();
  const operation = { state: "done", endedAt: now - 60_000 };
  const title = (more, record = {}) =>
    usedVerdict({ record, operation: { ...operation, ...more } }, now).title;

  assert.match(
    title({ kind: "claim", atDoor: true }),
    /^Already used at \D*(19|0?7)\D42\D00/,
  );
  assert.match(title({ kind: "claim" }), /^Already claimed here at/);
  assert.match(
    title({ kind: "claim", atDoor: true, endedAt: 0 }),
    /^Already used on .*1970/,
  );
  assert.equal(title({}, { spentElsewhere: true }), "Already claimed elsewhere");
});

test("tickets are counted, with their units where these are more", () => {
  assert.equal(countText([]), "0");
  assert.equal(countText([{ amount: 1 }]), "1");
  assert.equal(countText([{ amount: 1 }, { amount: 2 }], "seat"), "2 (3 × seat)");
});

test("a scan that waits is told by its time, and its number or its units", () => {
  const begunAt = Date.now();
  const time = new Date(begunAt).toLocaleTimeString();
  for (const [ticket, said] of [
    [{ amount: 5 }, "5 × seat"],
    [{ amount: 1, number: 17, of: 200 }, "Seat 17 of 200"],
  ])
    assert.equal(scanText({ begunAt, ticket }, "seat"), `${time} · ${said}`);
});
