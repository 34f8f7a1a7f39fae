// Texts about operations and problems.

import assert from "node:assert/strict";
import { test } from "node:test";

import { NoAnswerError } from "../../../../parts/pages/static/js/wallet/api.js";
import {
  offerStateText,
  operationText,
  outcomesText,
  quoted,
  refusalText,
  textFor,
  waitText,
} from "../../../../parts/pages/static/js/texts.js";

const done = (kind, amount = 5) => ({ operation: { kind, amount, state: "done" } });
const begun = {
  operation: { kind: "claim", amount: 5, state: "begun" },
  problem: new NoAnswerError(),
};

test("what is finished is said in one sentence for all", () => {
  const refused = {
    operation: { kind: "send", amount: 1, state: "refused", code: "spent_input" },
  };

  assert.equal(
    outcomesText([done("mint"), done("claim", 1000), begun, refused], false),
    "Finished since your last visit: Created 5 units; Claimed 1\u202f000 units; " +
      "Making a link of 1 unit was refused " +
      "(It is no longer here: it was used elsewhere). See My deeds.",
  );
});

test("a scan at a door that has ended is named as in the history", () => {
  const scan = { kind: "claim", amount: 1, state: "done", atDoor: true };

  const text = outcomesText([{ operation: scan }], false);

  assert.match(text, /: Collected at the door: 1 unit\. See My deeds\.$/);
});

test("every kind has a word", () => {
  const kinds =
    "mint claim send split merge takeBack ask trade complete withdraw".split(" ");

  for (const kind of kinds)
    assert.doesNotMatch(outcomesText([done(kind)], false), /undefined/);
});

test("only what is sent again is said to be, and no connection is not a wrong answer", () => {
  const [silence, wrong] = [new NoAnswerError(), new NoAnswerError(502)];

  assert.match(textFor(silence), /^You.re offline\./);
  assert.doesNotMatch(textFor(silence), /keep trying/);
  assert.match(textFor(wrong), /^The service can.t be reached/);
  assert.equal(waitText(silence, ""), "You're offline.");
});

test("where the browser is not offline, silence is the service's", (context) => {
  const value = { onLine: true };
  Object.defineProperty(globalThis, "navigator", { value, configurable: true });
  context.after(() => Reflect.deleteProperty(globalThis, "navigator"));

  const text = textFor(new NoAnswerError());
  value.onLine = false;

  assert.equal(text, "The service can't be reached right now. Try again in a moment.");
  assert.match(textFor(new NoAnswerError()), /^You.re offline\./);
});

test("a code that every object has is no text of ours", () => {
  for (const code of ["constructor", "__proto__", "toString"]) {
    assert.equal(refusalText({ code }), "The service refused this.");
    const ended = { kind: "trade", state: "refused", code };
    assert.equal(offerStateText(ended), "The service refused this.");
  }
});

test("the name that a stranger's operation tells is not told", () => {
  const told = { amount: 5, state: "done", body: { metadata: { name: "Choir" } } };

  const texts = ["mint", "claim"].map((kind) =>
    operationText({ ...told, kind }, () => null),
  );

  assert.deepEqual(texts, ["Created 5 units", "Claimed 5 units"]);
});

test("whose units are gone decides what is said of them", () => {
  const said = (kind) => refusalText({ kind, code: "spent_input" });

  assert.match(said("claim"), /Ask the sender/);
  assert.equal(said("takeBack"), "This link was already used.");
  for (const kind of ["send", "split", "merge"])
    assert.match(said(kind), /no longer here/);
  assert.equal(
    refusalText({ kind: "send", code: "unbalanced" }),
    "The amounts don't add up.",
  );
});

test("an operation is told in words, whatever became of it", () => {
  const itemOf = () => ({ metadata: '{"name":"A"}' });
  const told = (kind, state) =>
    operationText({ kind, state, amount: 1, itemId: "deed_a" }, itemOf);
  const kinds = ["mint", "claim", "send", "split", "merge", "takeBack"];

  assert.deepEqual(
    kinds.map((kind) => told(kind, "done")),
    [
      "Created 1 unit of “A”",
      "Claimed 1 unit of “A”",
      "Made a link of 1 unit of “A”",
      "Split 1 unit of “A”",
      "Merged 1 unit of “A”",
      "Took back 1 unit of “A”",
    ],
  );
  assert.equal(told("send", "begun"), "Making a link of 1 unit of “A”");
  assert.equal(told("ask", "open"), "Asking for 1 unit of “A”");
  // A mint has no item before it is answered.
  const minting = { kind: "mint", state: "begun", amount: 2 };
  assert.equal(operationText(minting, itemOf), "Creating 2 units");
  const named = { ...minting, body: { metadata: { name: "A" } } };
  assert.equal(operationText(named, itemOf), "Creating 2 units of “A”");
});

test("a name of any length and form takes one short line", () => {
  assert.equal(quoted(" a\n\n b "), "“a b”");
  assert.equal(quoted("a” and “b"), "“a’ and ’b”");
  assert.equal(quoted("😀".repeat(60)), `“${"😀".repeat(60)}”`);
  assert.equal(quoted("😀".repeat(61)), `“${"😀".repeat(59)}…”`);
});
