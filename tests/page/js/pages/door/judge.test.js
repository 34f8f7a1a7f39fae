import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { setImmediate as soon } from "node:timers/promises";
import {
  countText,
  endVerdict,
  makeJudge,
  otherVerdict,
  usedVerdict,
} from "../../../../../deeds/page/static/js/pages/door/judge.js";
import { NoAnswerError, ProblemError } from "../../../../../deeds/page/static/js/wallet/api.js";
import { WalletError } from "../../../../../deeds/page/static/js/wallet/records.js";

const ITEM = itemOf("1", "A ticket");
const TICKET = `https://deeds.test/claim/${ITEM.id}#+1.secret`;
mock.timers.enable({ apis: ["setTimeout"] });

function itemOf(digit, name) {
  return { id: `deed_${digit.repeat(26)}`, total: 9, metadata: JSON.stringify({ name }) };
}

/** Return a door before a wallet whose claims end as `claim` says, and what it was asked for. */
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
  const untilEnded = () => new Promise((resolve) => (end.now = resolve));
  const onLate = ({ title }) => late.push(title) && isSeen;
  const parts = { item: ITEM, host: "deeds.test", wallet, untilEnded, onLate, ...more };
  const judge = makeJudge({ readRecords: async () => ({}), ...parts });
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

  const { kind, title, key } = await judge(`${TICKET}&unit=seat`);

  assert.deepEqual([kind, title, key], ["valid", "Valid", `${ITEM.id}.secret`]);
  assert.deepEqual(asked, [[ITEM.id, { unit: "seat", atDoor: true }]]);
});

test("of what is no ticket of this door nothing is sent but the id of its deed", async () => {
  const { titles, asked } = doorOf(claimed);
  const other = itemOf("2").id;

  const found = await titles(
    "https://example.net/",
    TICKET.replace("deeds.test", "deeds.example.com"),
    TICKET.replace(ITEM.id, other),
  );

  assert.deepEqual(found, ["Not a ticket", "A link of another service", "Another deed"]);
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
  const begun = { operation: { state: "begun", amount: 1 }, problem: new NoAnswerError() };
  const { titles, asked, late, end } = doorOf(async () => begun);

  assert.deepEqual(await titles(TICKET, TICKET), Array(2).fill("No connection. Hold on."));
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
    output: { state: "spent" },
    operation: { ...done, atDoor: true, endedAt: 0 },
  });
  const { titles, end } = doorOf(claim, { isSeen: false, readRecords });

  assert.deepEqual(await titles(TICKET), ["The service is busy. Hold on."]);
  end.now(done);
  await soon();

  const [first, second] = await titles(TICKET, TICKET);
  assert.equal(first, "Valid");
  assert.match(second, /^Already used on .*1970/);
});

test("a ticket that an earlier visit has begun to claim is let in by its answer", async () => {
  const claim = async () => {
    throw new WalletError("busy", "On its way.");
  };
  const doorWith = (operation) => doorOf(claim, { readRecords: async () => ({ operation }) });

  const { titles, end, late } = doorWith({ state: "begun", atDoor: true });
  assert.deepEqual(await titles(TICKET), ["No connection. Hold on."]);
  end.now(done);
  await soon();

  assert.deepEqual(late, ["Valid"]);
  const takenBack = doorWith({ state: "begun", kind: "takeBack" });
  assert.deepEqual(await takenBack.titles(TICKET), ["On its way."]);
});

test("a browser that keeps nothing any more says so, for each ticket", async () => {
  const fail = async () => {
    throw new WalletError("closed", "This page is out of date. Reload it.");
  };
  const { titles } = doorOf(fail, { readRecords: fail });

  const text = "This page is out of date. Reload it.";
  assert.deepEqual(await titles(TICKET, TICKET), [text, text]);
});

test("nothing is green while the service is silent", async () => {
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
  assert.deepEqual(said({ ...done, amount: 2 }, "ticket"), ["valid", "Valid", "2 × ticket"]);
  assert.deepEqual(refused("spent_input"), ["refused", "Already claimed by somebody else"]);
  assert.deepEqual(refused("unknown_input"), ["refused", "Not valid"]);
});

test("a ticket that this wallet knows to be spent is told by who spent it, and when", () => {
  const now = new Date(2030, 5, 1, 19, 43).getTime();
  const operation = { state: "done", endedAt: now - 60_000 };
  const title = (more, output = {}) =>
    usedVerdict({ output, operation: { ...operation, ...more } }, now).title;

  assert.match(title({ kind: "claim", atDoor: true }), /^Already used at \D*(19|0?7)\D42/);
  assert.match(title({ kind: "claim" }), /^Already claimed here at/);
  assert.equal(title({}, { spentElsewhere: true }), "Already claimed by somebody else");
});

test("tickets are counted, with their units where these are more", () => {
  assert.equal(countText([]), "0");
  assert.equal(countText([{ amount: 1 }]), "1");
  assert.equal(countText([{ amount: 1 }, { amount: 2 }], "seat"), "2 (3 × seat)");
});
