// What the Claim page says of an output, for all that a wallet and a service may know of it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { NoAnswerError, ProblemError } from "../../../../../deeds/page/static/js/wallet/api.js";
import {
  claimState,
  isKept,
  isOver,
} from "../../../../../deeds/page/static/js/pages/claim/state.js";

const record = (state, fields = {}) => ({ key: "k", state, ...fields });
const operation = (kind, state, inputs = ["k"]) => ({ kind, state, inputs, code: "spent_input" });

const CASES = [
  ["asking", {}],
  ["free", { found: "unspent" }],
  ["spent", { found: "spent" }],
  ["unknown", { found: "unknown" }],
  ["free", { record: record("offered"), found: "unspent" }],
  ["spent", { record: record("offered"), found: "spent" }],
  ["busy", { record: record("leaving"), operation: operation("claim", "begun") }],
  ["busy", { record: record("leaving"), found: "spent" }],
  ["busy", { record: record("coming"), found: "unknown" }],
  ["taken", { record: record("spent"), operation: operation("claim", "done"), found: "unspent" }],
  ["taken", { record: record("spent"), operation: operation("takeBack", "done") }],
  ["used", { record: record("spent"), operation: operation("send", "done") }],
  ["used", { record: record("spent"), operation: operation("merge", "done") }],
  ["spent", { record: record("spent"), operation: operation("claim", "refused") }],
  ["spent", { record: record("spent"), operation: operation("mint", "done", []) }],
  ["spent", { record: record("spent", { spentElsewhere: true }) }],
  ["mine", { record: record("held"), found: "unspent" }],
  ["mine", { record: record("held") }],
  ["spent", { record: record("held"), found: "spent" }],
  ["free", { record: record("given"), found: "unspent" }],
  ["spent", { record: record("given"), found: "spent" }],
  ["unasked", { found: "unspent", isAsked: false }],
];

for (const [kind, known] of CASES) {
  test(`${kind}: ${JSON.stringify(known)}`, () => {
    const state = claimState(known);

    assert.equal(state.kind, kind);
    assert.equal(state.canTake, kind === "free");
    assert.match(state.text, /^[A-Z].*[.?]$/);
  });
}

test("a link of one's own is said to be so", () => {
  const { text } = claimState({ record: record("given"), found: "unspent" });

  assert.match(text, /You made this link yourself/);
});

test("what was refused and can still be taken says why it was refused", () => {
  const refused = { ...operation("claim", "refused"), code: "body_too_large" };
  const state = claimState({ record: record("offered"), operation: refused, found: "unspent" });

  assert.equal(state.canTake, true);
  assert.match(state.text, /This is more than the service takes at once/);
});

test("what keeps the service from answering is said while it is waited for", () => {
  const busy = new ProblemError({ code: "overloaded" }, 503, 1);
  const waiting = [
    [{ record: record("leaving"), problem: new NoAnswerError() }, /no answer.*It is sent again/],
    [{ record: record("leaving"), problem: busy }, /busy.*It is sent again/],
    [{ problem: busy }, /busy/],
  ];

  for (const [known, text] of waiting) assert.match(claimState(known).text, text);
  assert.doesNotMatch(claimState({ found: "unspent", problem: busy }).text, /busy/);
});

test("what is over may make room, and what the wallet has needs no other place", () => {
  const kinds = ["unasked", "asking", "free", "spent", "unknown", "busy", "taken", "mine", "used"];
  const those = (test_) => kinds.filter((kind) => test_({ kind }));

  assert.deepEqual(those(isOver), ["spent", "unknown", "taken", "mine", "used"]);
  assert.deepEqual(those(isKept), ["taken", "mine", "used"]);
});
