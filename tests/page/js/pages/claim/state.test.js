// What the Claim page says of an output, for all that a wallet and a service may know
// of it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { originAs } from "../../../../../parts/pages/static/js/ui/origin.js";
import {
  NoAnswerError,
  ProblemError,
} from "../../../../../parts/pages/static/js/wallet/api.js";
import {
  claimState,
  headingOf,
  isKept,
  isOver,
  offerOf,
} from "../../../../../parts/pages/static/js/pages/claim/state.js";

const record = (state, fields = {}) => ({ key: "k", state, ...fields });
const operation = (kind, state, inputs = ["k"]) => ({ kind, state, inputs });

const UNCLEAR = { spentElsewhere: true, isUnclear: true };

/** By what the service and the wallet know: what the page says. */
const CASES = [
  ["asking"],
  ["free", "unspent"],
  ["spent", "spent"],
  ["unknown", "unknown"],
  ["free", "unspent", record("seen")],
  ["spent", "spent", record("seen")],
  ["busy", undefined, record("leaving"), operation("claim", "begun")],
  ["busy", "spent", record("leaving")],
  ["busy", "unknown", record("coming")],
  ["taken", "unspent", record("spent"), operation("claim", "done")],
  ["back", undefined, record("spent"), operation("takeBack", "done")],
  ["used", undefined, record("spent"), operation("merge", "done")],
  ["spent", undefined, record("spent"), operation("claim", "refused")],
  ["spent", undefined, record("spent"), operation("mint", "done", [])],
  ["spent", undefined, record("spent", { spentElsewhere: true })],
  ["mine", undefined, record("held")],
  ["past", "spent", record("held")],
  ["own", "unspent", record("given")],
  ["past", "spent", record("given")],
  ["gone", undefined, record("spent", { spentElsewhere: true, givenAt: 1 })],
  ["past", undefined, record("spent", { ...UNCLEAR, givenAt: 1 })],
  ["past", undefined, record("spent", UNCLEAR), operation("send", "done")],
  ["unasked", "unspent", undefined, undefined, false],
].map(([kind, found, record, operation, isAsked]) => {
  return [kind, { found, record, operation, isAsked }];
});
const SPENT = { record: record("spent") };
/** What became of what was claimed. */
const MADE = [
  ["used", { record: record("given", { givenAt: 1 }) }],
  ["used", { ...SPENT, operation: operation("send", "done") }],
  ["part", { ...SPENT, operation: operation("merge", "done") }],
  ["part", { record: record("spent", { amount: 2 }), operation: { amount: 1 } }],
  ["past", { ...SPENT, operation: operation("complete", "done") }],
  ["past", { record: record("spent", { spentElsewhere: true }) }],
].map(([kind, made]) => {
  return [kind, { ...SPENT, operation: operation("claim", "done"), made }];
});

for (const [kind, known] of [...CASES, ...MADE]) {
  test(`${kind}: ${JSON.stringify(known)}`, () => {
    const state = claimState(known);

    assert.equal(state.kind, kind);
    assert.equal(state.canTake, ["free", "own"].includes(kind));
    assert.match(state.text, /^([A-Z].*\.)?$/);
  });
}

test("what was refused and can still be taken says why it was refused", () => {
  const refused = { ...operation("claim", "refused"), code: "body_too_large" };
  const state = claimState({
    record: record("seen"),
    operation: refused,
    found: "unspent",
  });

  assert.equal(state.canTake, true);
  assert.match(state.text, /too large/);
});

test("what keeps the service from answering is said while it is waited for", () => {
  const busy = new ProblemError({ code: "overloaded" }, 503, 1);
  const waiting = [
    [
      { record: record("leaving"), problem: new NoAnswerError() },
      /You.re offline.*keep trying/,
    ],
    [{ record: record("leaving"), problem: busy }, /busy.*keep trying/],
    [{ problem: busy }, /busy/],
  ];

  for (const [known, text] of waiting) assert.match(claimState(known).text, text);
  assert.doesNotMatch(claimState({ found: "unspent", problem: busy }).text, /busy/);
});

test("what is over may make room, and what the wallet has needs no other place", () => {
  const kinds = [...new Set(CASES.map(([kind]) => kind))];
  const those = (test_) => kinds.filter((kind) => test_({ kind })).sort();
  const kept = ["back", "mine", "taken", "used"];

  assert.deepEqual(those(isKept), kept);
  assert.deepEqual(those(isOver), [...kept, "gone", "past", "spent", "unknown"].sort());
});

const stateOf = (kind) => claimState(CASES.find(([each]) => each === kind)[1]);
const row = (kind, origin = "new") => ({
  output: { amount: 1 },
  state: stateOf(kind),
  origin: originAs(origin),
});

test("the heading says what a link is now", () => {
  const seen = new Set();
  for (const kind of [
    "free",
    "own",
    "spent",
    "gone",
    "unknown",
    "busy",
    "taken",
    "back",
    "mine",
    "past",
  ]) {
    const [title, lead] = headingOf([row(kind)]);

    assert.ok(title && lead.endsWith("."));
    seen.add(title);
  }

  assert.equal(seen.size, 10);
  assert.match(headingOf([row("asking")])[1], /Loading/);
});

test("what can be claimed is called by its units, where they have a word", () => {
  const titles = [
    [1, "Ticket/Tickets"],
    [5, "coffee/coffees"],
    [1, ""],
  ].map(
    ([amount, unit]) => headingOf([{ ...row("free"), output: { amount, unit } }])[0],
  );

  assert.deepEqual(titles, [
    "You've got a ticket",
    "You've got 5 coffees",
    "Yours to claim",
  ]);
});

test("nothing is called ready before it is known what it is, or in a browser without a wallet", () => {
  assert.match(headingOf([{ state: stateOf("free") }])[1], /Loading/);
  for (const origin of ["unknown", "lookalike"]) {
    assert.equal(headingOf([row("free", origin)])[0], "Check before you claim");
  }
  for (const kind of ["free", "unasked", "asking"]) {
    assert.match(headingOf([row(kind)], { canClaim: false })[1], /stays good/);
  }
  assert.match(headingOf([row("spent")], { canClaim: false })[0], /already used/);
});

test("of a link that is used, only what this wallet knows is said to be claimed", () => {
  const saidOf = (known) => headingOf([{ state: claimState(known) }]).join(" ");
  const past = { record: record("spent", UNCLEAR) };

  assert.match(
    saidOf({ found: "spent" }),
    /perhaps by you in another app or on another phone/,
  );
  assert.doesNotMatch(saidOf(past), /claim/i);
  assert.match(saidOf({ found: "unknown" }), /cut off or forged/);
});

test("what comes late is said to, and claimed by a quiet button", () => {
  const late = (fact) => ({
    ...row("free"),
    item: { metadata: JSON.stringify({ name: "Concert", description: fact }) },
  });
  const [expired, over, coming] = [
    "Date: 2126-12-05 20:00 +01:00\nValid until: 2020-12-06 02:00 +01:00",
    "Date: 2020-12-05 20:00 +01:00",
    "Date: 2126-12-05 20:00 +01:00",
  ].map(late);

  assert.equal(headingOf([expired])[0], "Expired");
  assert.equal(headingOf([over])[0], "The event is over");
  assert.match(headingOf([over])[1], /may not be accepted/);
  assert.equal(headingOf([coming])[0], "Yours to claim");
  assert.equal(offerOf([expired]).isQuiet, true);
  assert.equal(offerOf([over, coming]).isQuiet, false);
});

const alike = row("free", "lookalike");
const SEVERAL = [
  [["taken", "taken", "free"], "You can claim 1 of 3"],
  [["taken", alike], "Check before you claim"],
  [["free", alike], "You can claim 1 of 2"],
  [["own", "spent"], "Nothing to claim"],
  [["taken", "busy"], "On their way"],
  [["taken", "back", "spent"], "2 of 3 claimed"],
  [["spent", "unknown"], "Nothing to claim"],
  [["free", "asking"], "Claim"],
  [[], "Claim"],
];

for (const [kinds, title] of SEVERAL) {
  test(`the heading of several: ${kinds.map((each) => each.origin?.kind ?? each)}`, () => {
    const rows = kinds.map((kind) => (kind === alike ? alike : row(kind)));

    assert.equal(headingOf(rows)[0], title);
  });
}

test("one tap claims what is surely wanted, and what may not be what it seems by itself", () => {
  const [free, own, spent, unknown] = [
    row("free"),
    row("own"),
    row("spent"),
    row("free", "unknown"),
  ];
  const named = { ...own, item: { metadata: '{"name":"A ticket"}' } };
  const loading = { state: stateOf("free") };

  const offers = [
    [[free, alike, own, spent], [free], "Claim", false],
    [[free, free, alike], [free, free], "Claim all 2", false],
    [[own], [own], "Take it back", true],
    [[alike, named], [named], "Take back “A ticket”", true],
    [[alike, spent], [alike], "Claim anyway", true],
    [[unknown], [unknown], "Claim anyway", true],
    [[alike, unknown], [alike, unknown], "Claim all 2 anyway", true],
    [[alike, alike, alike], [alike, alike, alike], "Claim all 3 anyway", true],
    [[loading], [], "Claim anyway", true],
    [[spent], [], "Claim anyway", true],
  ];
  for (const [rows, wanted, text, isQuiet] of offers) {
    assert.deepEqual(offerOf(rows), { rows: wanted, text, isQuiet });
  }
});
