// What the list, the page of a deed, its links, the split dialog, the news and the history
// say.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  byDate,
  doorTexts,
  groupsOf,
  historyText,
  newsOf,
  remarkOf,
} from "../../../../../parts/pages/static/js/pages/wallet/lists.js";
import {
  issueText,
  numberText,
} from "../../../../../parts/pages/static/js/format/tickets.js";
import {
  clockText,
  heldText,
  linkText,
  saidText,
} from "../../../../../parts/pages/static/js/texts.js";
import {
  goneText,
  listedOf,
} from "../../../../../parts/pages/static/js/pages/wallet/deed_view.js";
import { overviewOf } from "../../../../../parts/pages/static/js/wallet/holdings.js";
import {
  evenText,
  wholeAmountOf,
} from "../../../../../parts/pages/static/js/pages/wallet/deed_forms.js";
import { isFound } from "../../../../../parts/pages/static/js/pages/wallet/links_view.js";

const nothing = {
  lost: 0,
  unknownSum: 0,
  goneSeen: 0,
  coming: 0,
  leaving: 0,
  waiting: 0,
  claimed: 0,
  mayBeGiven: 0,
  moved: 0,
  back: 0,
  cameBack: 0,
  given: 0,
  sum: 0,
  offered: 0,
  admitted: 0,
};
const dated = (itemId, description) => ({
  itemId,
  item: { metadata: JSON.stringify({ description }) },
});
const TWO = { tint: "bad", short: "Compare" };

test("a row says the one thing that matters, in red only what needs the person", () => {
  const preparing = { ready: 2560, count: 10_000 };
  const [isMinted, item] = [true, { total: 10 }];
  const cases = [
    [{ claimed: 3 }, "", "3 passed on"],
    [{ claimed: 3, waiting: 2 }, "wait", "2 handed out"],
    [{ isMinted, item, given: 5, waiting: 2 }, "wait", "2 handed out · 3 claimed"],
    [{ waiting: 2, coming: 1 }, "wait", "1 ticket on the way"],
    [{ waiting: 3, mayBeGiven: 3, claimed: 1 }, "", "3 counted as handed out"],
    [{ moved: 2 }, "", "2 used or sent elsewhere"],
    [{ waiting: 2, preparing }, "wait", "preparing 2\u202f560 of 10\u202f000"],
    [{ lost: 1, preparing }, "bad", "1 ticket no longer yours"],
    [{ unknownSum: 2 }, "bad", "Not known to the service: 2 × ticket."],
    [
      { isMinted, item, given: 3, sum: 9, back: 2, cameBack: 2 },
      "",
      "1 claimed · 2 came back",
    ],
    [{ origin: TWO, sum: 1 }, "bad", TWO.short],
    [{ origin: TWO }, "", ""],
    [{ unknownSum: 1, lost: 2, goneSeen: 3 }, "", ""],
  ];

  for (const [given, kind, text] of cases) {
    assert.deepEqual(remarkOf({ ...nothing, unit: "ticket", ...given }), {
      kind,
      text,
    });
  }
});

test("a row tells what was shown, and what a door has used, without alarm", () => {
  const soon = new Date();
  const shownAt = soon.getTime();
  const clock = soon.toLocaleTimeString(undefined, { timeStyle: "short" });
  const { item } = dated("a", "Date: 2126-12-05 19:00 +00:00");
  const row = (given) => remarkOf({ ...nothing, item, ...given });
  const used = (given) => doorTexts({ item, sum: 0, used: 2, shownAt: 0, ...given });

  assert.deepEqual(row({ sum: 1, shownAt, claimed: 3 }), {
    kind: "",
    text: `shown ${clock}`,
  });
  const waiting = row({ sum: 1, shownAt, waiting: 1 });
  assert.deepEqual(waiting, { kind: "wait", text: `1 handed out · shown ${clock}` });
  const lastUsed = { shownAt, changedAt: shownAt };
  assert.equal(
    row({ sum: 1, used: 2, lastUsed, waiting: 1 }).text,
    `1 handed out · 2 used at the door ${clock}`,
  );
  assert.deepEqual(used({ lastUsed }), [`Used at the door ${clock}`]);
  assert.deepEqual(used({ lastUsed, sum: 1, shownAt }), [
    `2 used at the door ${clock}`,
    `shown ${clock}`,
  ]);
  // The phone had no network at the door.
  const late = { shownAt, changedAt: shownAt + 3_600_000 };
  const since = [`Used since it was shown, ${clock}`];
  assert.deepEqual(used({ lastUsed: late }), since);
  // What has no date is for no door.
  assert.deepEqual(used({ lastUsed, item: undefined }), since);
});

test("a part is told by its number, or else its units", () => {
  const numbered = { amount: 1, number: 17, of: 200 };
  const unit = "ticket/tickets";
  for (const [said, output, word] of [
    ["1 ticket", { amount: 1 }, "ticket"],
    ["4 tickets · No. 2–4, 9", { amount: 4, numbers: [2, 3, 4, 9] }, unit],
    ["Ticket 17 of 200", numbered, unit],
    // Not 17 of 200 euros.
    ["50 euros · No. 17 of 200", { ...numbered, amount: 50 }, "euro/euros"],
    ["Number 17 of 200", numbered],
    // Kept apart from the words around it, on paper too.
    ["\u2068بطاقة\u2069 17 of 200", numbered, "بطاقة/بطاقات"],
  ])
    assert.equal(heldText(output, word), said);
  const noted = { ...numbered, issue: 2, note: "table 4" };
  const said = "Ticket 17 of 200 · 2nd link · table 4";
  assert.equal(linkText(noted, unit), said);
  assert.equal(numberText({ ...noted, issue: 3 }), "17 of 200, 3rd link");
});

test("a whole link is offered to be sent, or one unit of what has no number", () => {
  const voucher = (number, amount = 10) => ({ number, amount });
  for (const [amount, ...parts] of [
    [10, voucher(4, 30), voucher(3)],
    [10, voucher(undefined, 90), voucher(3)],
    [1, voucher(undefined, 90)],
    [1, voucher(7, 1)],
    [1],
  ])
    assert.equal(wholeAmountOf(/** @type {any} */ ({ parts })), amount);
});

test("a number that came back is one row", () => {
  const row = (state, number, more) => ({
    output: { key: "", amount: 1, number, createdAt: 1, ...more },
    state,
  });
  const links = [
    row("taken back", 6),
    row("taken back", 6, { issue: 2, createdAt: 2 }),
    row("waiting", 6, { issue: 3, createdAt: 3 }),
    row("taken back", 7),
    row("moved", 8),
    row("taken back", 8, { issue: 2 }),
    row("taken back", undefined, { numbers: [1, 2] }),
    row("taken back", undefined, { amount: 2 }),
  ];
  const parts = [{ numbers: [1, 2], amount: 2, createdAt: 2 }];

  const rows = listedOf(/** @type {any} */ ({ links, parts }));

  const told = rows.map(
    ({ state, output: { numbers, number, issue } }) =>
      `${numbers ?? number} ${issue ?? 1} ${state}`,
  );
  assert.deepEqual(told, [
    "1,2 1 here",
    "6 3 waiting",
    "7 1 taken back",
    "8 1 moved",
    "8 2 taken back",
    "undefined 1 taken back",
  ]);
});

test("a link tells who said its number at a door", () => {
  const output = /** @type {any} */ ({ number: 12 });
  const at = Date.now();

  const text = saidText({ output, state: "claimed", at, said: { count: 2, at } });

  assert.equal(text, `2 guests who were let in said 12, the last at ${clockText(at)}`);
});

test("the place of a link among those of its number is an ordinal", () => {
  const said = [1, 2, 3, 4, 11, 12, 21, 22, 113].map((issue) => issueText({ issue }));

  const all = ["2nd", "3rd", "4th", "11th", "12th", "21st", "22nd", "113th"];
  assert.deepEqual(said, ["", ...all.map((nth) => `${nth} link`)]);
});

test("what is lost is said in its number", () => {
  for (const [said, sums] of [
    ["", {}],
    ["1 unit was used or sent from another device.", { lost: 1 }],
    ["Not known to the service: 3 units.", { unknownSum: 3 }],
    ["5 × ticket were used or sent from another device.", { moved: 5, unit: "ticket" }],
  ])
    assert.equal(goneText({ lost: 0, unknownSum: 0, ...sums }), said);
});

test("the units of an overview add up to those that were made", () => {
  const nowhere = { given: 0, claimed: 0, counted: 0, away: 0, back: 0, here: 0 };
  const sums = nothing;

  for (const [given, expected] of [
    [
      { given: 98, waiting: 98, mayBeGiven: 98, moved: 2 },
      { counted: 98, away: 2 },
    ],
    // One of those claimed came in at this browser's own door.
    [
      { given: 7, waiting: 5, mayBeGiven: 3, claimed: 1, sum: 91, admitted: 1 },
      { given: 2, claimed: 1, counted: 3, away: 2, here: 91, admitted: 1 },
    ],
    // Nobody has asked for one of those let in yet, and a list names more than there are.
    [
      { given: 5, waiting: 4, sum: 95, admitted: 2 },
      { given: 3, here: 95, admitted: 2 },
    ],
    [
      { given: 5, waiting: 5, sum: 95, admitted: 9 },
      { here: 95, admitted: 5 },
    ],
    // Two are being made into a link.
    [
      { leaving: 2, sum: 98 },
      { given: 2, here: 98 },
    ],
    // After a trade of 10, of which 4 are in an open offer; and once 3 were paid back.
    [
      { given: 30, waiting: 30, sum: 56, offered: 4 },
      { given: 30, away: 10, here: 60 },
    ],
    [
      { given: 30, waiting: 30, sum: 73, back: 3, cameBack: 3 },
      { given: 27, back: 3, here: 70 },
    ],
    [
      { given: 30, waiting: 20, sum: 82, back: 12, cameBack: 12 },
      { given: 18, back: 12, here: 70 },
    ],
    [
      { given: 30, waiting: 20, sum: 73, back: 3, cameBack: 3 },
      { given: 20, claimed: 7, back: 3, here: 70 },
    ],
    // What came back was handed out again.
    [
      { given: 33, waiting: 23, sum: 70, cameBack: 3 },
      { given: 23, claimed: 7, here: 70 },
    ],
  ]) {
    const overview = overviewOf({ ...sums, item: { total: 100 }, ...given });
    const counts = Object.values(overview);
    assert.equal(
      counts.reduce((one, other) => one + other),
      100,
    );
    assert.deepEqual(overview, { ...nowhere, admitted: 0, ...expected });
  }
});

test("before a split it is said what becomes of the units", () => {
  const most = "9007199254740991";
  for (const [said, count, each, unit] of [
    ["3 links of 2 units each, 1 unit left.", "3", "2"],
    ["1 link of 6 × Ticket each, 1 Ticket left.", "1", "6", "Ticket"],
    ["1 link of 7 units each, nothing left.", "1", "7"],
    ["You only have 7 units.", "4", "2"],
    ["You only have 7 units.", most, most],
    ["", "x", "2"],
  ])
    assert.equal(evenText(count, each, 7, unit), said);
});

const operation = { kind: "claim", state: "done", itemId: "a", amount: 1 };
const called = (name) => ({ metadata: JSON.stringify({ name }) });

test("350 links that were claimed at once are one entry of the history", () => {
  const history = Array.from({ length: 350 }, (_, n) => ({
    ...operation,
    key: `k${n}`,
    begunAt: 1e6 - 100 * n,
  }));

  const [group, ...others] = groupsOf(history);

  assert.deepEqual(others, []);
  assert.deepEqual([group.key, group.count, group.amount], ["k0", 350, 350]);
});

test("only what is alike and no more than a minute apart is one entry", () => {
  const at = (begunAt, fields = {}) => ({ ...operation, begunAt, ...fields });

  const groups = groupsOf([
    at(200_000),
    at(140_000),
    at(79_999),
    at(79_998, { itemId: "b" }),
    at(79_997, { state: "refused" }),
    at(79_996, { kind: "send" }),
    at(79_995, { kind: "trade" }),
    at(79_994, { kind: "trade" }),
  ]);

  assert.deepEqual(
    groups.map(({ count }) => count),
    [2, 1, 1, 1, 1, 1, 1],
  );
});

test("a trade is told with what was given and what came in", () => {
  const itemOf = (id) => called(id.at(-1));
  const [give, want] = ["a", "b"].map((end) => `deed_${"0".repeat(25)}${end}.s`);
  const body = { inputs: [`+5.${give}`], outputs: [`+3.${want}`, `+1.${give}`] };
  const told = (kind, state) =>
    historyText({ kind, state, body, itemId: "deed_x" }, itemOf);

  assert.equal(told("trade", "done"), "Traded 4 units of “a” for 3 units of “b”");
  assert.equal(told("complete", "begun"), "Paying 4 units of “a” for 3 units of “b”");
  assert.equal(told("merge", "done"), "Merged 0 units of “x”");
});

test("what comes next is first, then what has no date, and what is over last", () => {
  const now = Date.parse("2026-12-05T20:00Z");
  const summaries = [
    dated("over", "Date: 2026-12-04 20:00 +00:00"),
    dated("plain", "A drink"),
    dated("expired", "Valid until: 2026-12-05 19:59 +00:00"),
    dated("later", "Date: 2026-12-07 20:00 +00:00"),
    { itemId: "unknown", item: null },
    dated("begun", "Date: 2026-12-05 19:00 +00:00"),
    dated(
      "long",
      "Date: 2026-12-01 19:00 +00:00\nValid until: 2027-12-05 19:59 +00:00",
    ),
  ];

  const sorted = byDate(/** @type {any} */ (summaries), now);

  assert.deepEqual(
    sorted.map(({ itemId }) => itemId),
    ["long", "begun", "later", "plain", "unknown", "over", "expired"],
  );
});

test("a claim is said in neutral words, and a deed that is new is no news", () => {
  const before = new Map([["a", { ...nothing, itemId: "a", claimed: 2 }]]);
  const after = [
    {
      ...nothing,
      itemId: "a",
      claimed: 5,
      lost: 1,
      item: { ...called("A"), unit: "ticket" },
    },
    { ...nothing, itemId: "b", claimed: 7, item: called("B") },
  ];

  assert.deepEqual(newsOf(before, after), [
    "Claimed: 3 × ticket of “A”.",
    "Used elsewhere: 1 ticket of “A”.",
  ]);
  assert.deepEqual(newsOf(new Map(), after), []);
});

test("of much news the first is said", () => {
  const ids = ["a", "b", "c", "d", "e"];
  const before = new Map(ids.map((itemId) => [itemId, { ...nothing, itemId }]));
  const after = ids.map((itemId) => ({
    ...nothing,
    itemId,
    claimed: 1,
    item: called(itemId),
  }));

  const news = newsOf(before, after);

  assert.deepEqual(news.slice(2), ["Claimed: 1 unit of “c”.", "And 2 more."]);
});

test("a link is found by its whole number, as rows say it too, or by a part of its note", () => {
  const link = { number: 1017, of: 2000, note: "Anna Müller, Table 4" };

  const numbers = ["1017", " 1 017", "1\u202f017", "1 017 of 2 000"];
  for (const text of ["", ...numbers, "table", "ANNA", "muller", "Mu\u0308ller"])
    assert.ok(isFound(link, text), text);
  for (const text of ["101", "17", "5", "17 of 2000", "Berta"])
    assert.ok(!isFound(link, text), text);
});

test("a link of several tickets is found by each of their numbers", () => {
  const link = { numbers: [2, 3, 4, 200], amount: 4, note: "" };

  for (const text of ["2", "3", "200", "2–4, 200", "2-4,200"])
    assert.ok(isFound(link, text), text);
  for (const text of ["20", "0", "5", "2–4"]) assert.ok(!isFound(link, text), text);
});
