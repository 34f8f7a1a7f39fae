// Texts about offers.

import assert from "node:assert/strict";
import { test } from "node:test";

import { offerStateText, offerText } from "../../../../parts/pages/static/js/texts.js";

const itemOf = (itemId) => {
  const metadata = JSON.stringify({ name: itemId.toUpperCase() });
  return { metadata, unit: itemId === "b" ? "ticket" : undefined };
};
const [a, b] = [
  { itemId: "a", amount: 1 },
  { itemId: "b", amount: 2 },
];

test("one sentence says what a person gives and gets, of one deed or several", () => {
  assert.equal(offerText({ give: null, want: b }, itemOf), "Ask for 2 × ticket of “B”");
  assert.equal(offerText({ give: [b], want: [] }, itemOf), "Pay 2 × ticket of “B”");
  assert.equal(
    offerText({ give: a, want: [b, a] }, itemOf),
    "You give 1 unit of “A” and get 2 × ticket of “B” and 1 unit of “A”",
  );
  assert.equal(
    offerText({ give: [a, b, a, a] }, itemOf),
    "Pay 1 unit of “A”, 2 × ticket of “B”, and 2 more deeds",
  );
});

test("what is written from right to left is kept apart from the sentence around it", () => {
  const drinks = {
    metadata: JSON.stringify({ name: "شاي" }),
    unit: "بطاقة/بطاقات",
  };
  const said = offerText({ give: b, want: a, state: "done" }, (itemId) =>
    itemId === "b" ? drinks : itemOf(itemId),
  );

  const [units, name] = ["2 بطاقات", "شاي"].map((text) => `\u2068${text}\u2069`);
  assert.equal(said, `${units} of “${name}” for 1 unit of “A”`);
});

test("of an offer that has ended only what was for what is said", () => {
  const ended = { give: a, want: b, state: "refused" };

  assert.equal(offerText(ended, itemOf), "1 unit of “A” for 2 × ticket of “B”");
  assert.equal(offerText({ ...ended, give: null }, itemOf), "2 × ticket of “B”");
});

test("each end of an offer is told apart", () => {
  const ends = [
    { kind: "ask", state: "open", expiresAt: 0 },
    { kind: "trade", state: "open", expiresAt: 0 },
    ...["offer_expired", "offer_void", "offer_withdrawn", "used_secret"].map((code) => {
      return { kind: "trade", state: "refused", code };
    }),
  ];

  const texts = ends.map(offerStateText);

  assert.equal(new Set(texts).size, ends.length);
  for (const text of texts) assert.match(text, /^[A-Z].*\.$/);
  const unsent = { ...ends[4], kind: "ask", code: "cancelled" };
  assert.equal(offerStateText(unsent), texts[4]);
  assert.match(texts[0], /until .*19(?:70|69)/);
});
