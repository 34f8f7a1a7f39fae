import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as soon } from "node:timers/promises";
import {
  countText,
  endVerdict,
  makeJudge,
  otherVerdict,
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
const OPENED_AT = 1000;

function itemOf(digit, name) {
  return {
    id: `deed_${digit.repeat(26)}`,
    total: 9,
    metadata: JSON.stringify({ name }),
  };
}

/**
 * Return a door before a wallet whose claims end as `claim` says, and what it was asked
 * for.
 */
function doorOf(claim, { isSeen = true, ...more } = {}) {
  const asked = [];
  const late = [];
  const end = {};
  const wallet = {
    claim: (output, options) => {
      asked.push([output.itemId, options]);
      return claim(output);
    },
    item: async (itemId) => {
      asked.push(itemId);
      throw new NoAnswerError();
    },
  };
  const untilEnded = async ({ operation }) =>
    operation.state === "begun"
      ? new Promise((resolve) => (end.now = resolve))
      : operation;
  const onLate = ({ title }) => late.push(title) && isSeen;
  const parts = {
    item: ITEM,
    host: "deeds.test",
    wallet,
    untilEnded,
    onLate,
    openedAt: OPENED_AT,
  };
  const judge = makeJudge({ readRecords: async () => ({}), ...parts, ...more });
  const titles = async (...texts) => {
    const found = [];
    for (const text of texts) found.push((await judge(text)).title);
    return found;
  };
  return { titles, judge, asked, late, end };
}

const done = { state: "done", amount: 1 };
const claimed = async () => ({ operation: done });

test("a ticket is claimed for the door, and is valid once the service has said so", async () => {
  const { judge, asked } = doorOf(claimed);

  const { kind, title, key } = await judge(TICKET);

  assert.deepEqual([kind, title, key], ["valid", "Valid", KEY]);
  assert.deepEqual(asked, [[ITEM.id, { atDoor: true }]]);
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
    assert.deepEqual(asked, [[ITEM.id, { atDoor: true }]]);
  }
});

test("of several tickets in one text none is claimed; one that is there twice is one", async () => {
  const { titles, asked } = doorOf(claimed);

  const found = await titles(`${TICKET}\n${TICKET}2`, `${TICKET} <${TICKET}>`);

  assert.deepEqual(found, ["2 tickets: show them one by one.", "Valid"]);
  assert.equal(asked.length, 1);
});

test("who was let in a moment ago and is still in sight is no fraud", async (context) => {
  const endedAt = new Date(2030, 5, 1, 19, 42, 7).getTime();
  const operation = { ...done, atDoor: true, endedAt };
  let moment = 0;
  context.mock.method(performance, "now", () => moment);
  const claims = [claimed, () => Promise.reject(new WalletError("already_spent", ""))];
  const claim = () => (moment ? claims[1]() : claims[0]());
  const readRecords = async () => ({ record: { state: "spent" }, operation });
  const { judge } = doorOf(claim, { readRecords });
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

test("a ticket that waits for its answer is claimed once, and is valid when it is there", async () => {
  const begun = {
    operation: { state: "begun", amount: 1 },
    problem: new NoAnswerError(),
  };
  const { titles, asked, late, end } = doorOf(async () => begun);

  assert.deepEqual(
    await titles(TICKET, TICKET),
    Array(2).fill("No connection. Hold on."),
  );
  end.now(done);
  await soon();

  assert.deepEqual(late, ["Valid"]);
  assert.equal(asked.length, 1);
});

test("who did not see the answer that came late is let in once when they show it again", async () => {
  const problem = new ProblemError({ code: "overloaded" }, 503, 1);
  let count = 0;
  const claim = async () => {
    if ((count += 1) > 1) throw new WalletError("already_spent", "");
    return { operation: { state: "begun" }, problem };
  };
  const readRecords = async () => ({
    record: { state: "spent" },
    operation: { ...done, atDoor: true, endedAt: 0 },
  });
  const { titles, end } = doorOf(claim, { isSeen: false, readRecords });

  assert.deepEqual(await titles(TICKET), ["The service is busy. Hold on."]);
  end.now(done);
  await soon();

  const [first, second] = await titles(TICKET, TICKET);
  assert.equal(first, "Valid");
  assert.match(second, /^Let in/);
});

const busy = async () => {
  throw new WalletError("busy", "On its way.");
};

test("a ticket that an earlier visit has begun to claim is let in by its answer", async () => {
  const doorWith = (operation) =>
    doorOf(busy, { readRecords: async () => ({ operation }) });
  const begun = { state: "begun", atDoor: true, begunAt: OPENED_AT - 1 };

  const { titles, end, late } = doorWith(begun);
  assert.deepEqual(await titles(TICKET), ["No connection. Hold on."]);
  end.now(done);
  await soon();

  assert.deepEqual(late, ["Valid"]);
  const takenBack = doorWith({
    state: "begun",
    kind: "takeBack",
    begunAt: OPENED_AT - 1,
  });
  assert.deepEqual(await takenBack.titles(TICKET), ["On its way."]);
});

test("a ticket that another door of this browser is claiming is let in there alone", async () => {
  const operation = { state: "begun", atDoor: true, begunAt: OPENED_AT };
  const { titles } = doorOf(busy, { readRecords: async () => ({ operation }) });

  assert.deepEqual(await titles(TICKET), ["Being checked at another door."]);
});

test("what an earlier visit began and this one ended is let in once", async () => {
  const gone = () => Promise.reject(new WalletError("already_spent", ""));
  const doorAfter = (endedAt) => {
    const operation = { ...done, atDoor: true, begunAt: OPENED_AT - 2, endedAt };
    return doorOf(gone, {
      readRecords: async () => ({ record: { state: "spent" }, operation }),
    });
  };

  const found = await doorAfter(OPENED_AT + 1).titles(TICKET, TICKET);
  assert.deepEqual(found, ["Valid", "Let in 1 s ago, at this door"]);
  assert.match((await doorAfter(OPENED_AT - 1).titles(TICKET))[0], /^Already used/);
});

test("a browser that keeps nothing any more says so, for each ticket", async () => {
  const fail = async () => {
    throw new WalletError("closed", "This page is out of date. Reload it.");
  };
  const { titles } = doorOf(fail, { readRecords: fail });

  const text = "This page is out of date. Reload it.";
  assert.deepEqual(await titles(TICKET, TICKET), [text, text]);
});

test("nothing is green while the service is silent", async ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { titles } = doorOf(() => new Promise(() => {}));

  const said = titles(TICKET);
  await soon();
  mock.timers.tick(800);
  assert.deepEqual(await said, ["No answer yet. Hold on."]);
});

test("an end is told by why, and by how many units", () => {
  const said = (operation, unit) => {
    const { kind, title, detail } = endVerdict(operation, unit);
    return [kind, title, detail];
  };
  const refused = (code) => said({ state: "refused", code }).slice(0, 2);

  assert.deepEqual(said(done), ["valid", "Valid", ""]);
  assert.deepEqual(said({ ...done, amount: 2 }, "ticket"), [
    "valid",
    "Valid",
    "2 × ticket",
  ]);
  assert.deepEqual(refused("spent_input"), ["refused", "Already claimed elsewhere"]);
  assert.deepEqual(refused("unknown_input"), ["refused", "Not valid"]);
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
