// What a person reads of operations that an earlier visit began.

import assert from "node:assert/strict";
import { test } from "node:test";

import { NoAnswerError } from "../../../../deeds/page/static/js/wallet/api.js";
import { outcomesText } from "../../../../deeds/page/static/js/texts/operations.js";

const done = (kind, amount = 5) => ({ operation: { kind, amount, state: "done" } });
const begun = {
  operation: { kind: "claim", amount: 5, state: "begun" },
  problem: new NoAnswerError(),
};

test("what is finished is said in one sentence for all", () => {
  const refused = { operation: { kind: "send", amount: 1, state: "refused", code: "spent_input" } };

  assert.equal(
    outcomesText([done("mint"), done("claim", 1000), begun, refused], false),
    "What was begun earlier is finished: 5 units minted; 1\u202f000 units taken; 1 unit refused " +
      "(These units were taken already. The link or secret is worth nothing now). See My deeds.",
  );
});

test("every kind has a word", () => {
  const kinds = ["mint", "claim", "send", "split", "merge", "takeBack"];

  for (const kind of kinds) assert.doesNotMatch(outcomesText([done(kind)], false), /undefined/);
});

test("that there is no answer is said once", () => {
  assert.match(outcomesText([begun], false), /^There was no answer.*It is sent again\.$/);
  assert.equal(outcomesText([begun], true), "");
  assert.equal(outcomesText([], false), "");
});
