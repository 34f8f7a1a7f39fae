// What the page of an offer says of each state, and when one tap is offered.

import assert from "node:assert/strict";
import { test } from "node:test";

import { originAs } from "../../../../../parts/pages/static/js/ui/origin.js";
import {
  NoAnswerError,
  ProblemError,
} from "../../../../../parts/pages/static/js/wallet/api.js";
import {
  readKnown,
  messageOf,
} from "../../../../../parts/pages/static/js/pages/offer/state.js";
import { receiptText } from "../../../../../parts/pages/static/js/texts.js";
import { memoryStore } from "../../wallet/memory_store.js";

const itemOf = (id, name) => ({ id, metadata: JSON.stringify({ name }) });
const CHOIR = { itemId: "deed_c", amount: 5, item: itemOf("deed_c", "Choir"), free: 8 };
const DRINK = {
  itemId: "deed_d",
  amount: 2,
  item: itemOf("deed_d", "Drink"),
  origin: originAs("new"),
};
const OPEN = {
  offerId: "offer_0000000000000000000000a7k2",
  state: "open",
  expiresAt: "2026-12-01T10:00:00Z",
};
const [REQUEST, TRADE] = [{ wants: [CHOIR] }, { wants: [CHOIR], gives: [DRINK] }];

const message = (known) => messageOf({ offer: OPEN, ...known });
const nameOfButton = ({ action }) => action && `${action.text}${action.about}`;

test("an open offer says in one sentence what one gives and gets, and one tap does it", () => {
  const [request, trade] = [message(REQUEST), message(TRADE)];

  assert.equal(request.title, "Pay 5 units of “Choir”");
  assert.equal(trade.title, "You give 5 units of “Choir” and get 2 units of “Drink”");
  assert.equal(request.action?.text, "Pay 5 units");
  assert.equal(nameOfButton(request), "Pay 5 units“Choir”");
  assert.equal(nameOfButton(trade), "Trade: 5 units of “Choir” for 2 units of “Drink”");
  assert.deepEqual([request.action?.isQuiet, trade.action?.isQuiet], [false, false]);
});

test("the button says that it is paid or traded, while that is begun", () => {
  const [request, trade] = [REQUEST, TRADE].map((known) =>
    message({ ...known, isPaying: true }),
  );

  assert.equal(nameOfButton(request), "Paying…");
  assert.equal(nameOfButton(trade), "Trading…");
});

test("what one gets that only has a known name, or was not loaded, is traded as a second thought", () => {
  for (const origin of [originAs("lookalike"), originAs("unknown"), undefined]) {
    const { action, lead } = message({
      wants: [CHOIR],
      gives: [DRINK, { ...DRINK, origin }],
    });
    assert.ok(lead.startsWith(origin?.text ?? "You have 8 units"), lead);
    assert.deepEqual([action?.text, action?.isQuiet], ["Trade anyway", true]);
  }
});

test("what has expired is said before it is paid or traded, which is a second thought", () => {
  const description = "Valid until: 2026-01-02 03:04 +00:00";
  const expired = (side) => ({
    ...side,
    item: { ...side.item, metadata: JSON.stringify({ description }) },
  });

  const told = [
    message({ wants: [expired(CHOIR)] }),
    message({ wants: [expired(CHOIR)], gives: [DRINK] }),
    message({ wants: [CHOIR], gives: [expired(DRINK)] }),
  ];

  for (const { lead, isBad, action } of told) {
    assert.match(lead, /^Expired on Fri,.Jan.2(,.2026)?.· 3:04.AM\. Ask first /);
    assert.deepEqual([isBad, action?.isQuiet], [true, true]);
  }
  assert.deepEqual(
    told.map(({ action }) => action?.text),
    ["Pay 5 units anyway", "Trade anyway", "Trade anyway"],
  );
});

test("who has too little is told how much is missing, and where more of it is", () => {
  const few = message({ wants: [{ ...CHOIR, free: 3 }] });
  const away = message({ wants: [{ ...CHOIR, free: 3, away: 4 }] });
  const both = message({
    wants: [{ ...CHOIR, free: 0 }, { ...DRINK, free: 1 }, CHOIR],
  });

  const lead = "You have 3 units of “Choir”. You need 2 units of “Choir” more.";
  assert.equal(few.lead, lead);
  assert.ok(away.lead.startsWith(`${lead} In My deeds`));
  assert.match(
    both.lead,
    /^You have 1 unit of “Drink”\. You need 5 .* and 1 .* more\.$/,
  );
  for (const each of [few, away, both])
    assert.deepEqual([each.action, each.isLacking], [undefined, true]);
});

const ENDED = { endedAt: Date.now() };
const paying = (state) => ({ paying: { state, ...ENDED } });
const own = (state, code) => ({
  own: { kind: "trade", state, code, expiresAt: 0, ...ENDED },
});
const offer = (state) => ({ offer: { ...OPEN, state } });

const [NOW, OVER] = [
  ["You give", "You get"],
  ["Wanted", "Offered"],
];
const DONE = ["You gave", "You got"];
const RECEIPT = { ...OPEN, ...ENDED };
const TRADED = receiptText(RECEIPT, true);

/**
 * By what is known of a trade: the heading of the page, those of both sides, and the
 * deed that came in.
 */
const TOLD = {
  "this browser has traded": [paying("done"), TRADED, DONE, "deed_d"],
  "its answer is lost": [paying("begun"), "On its way", NOW],
  "somebody was faster": [offer("completed"), "Already traded", OVER],
  "it has expired": [offer("expired"), "Expired", OVER],
  "it is void": [offer("void"), "Cancelled", OVER],
  "it is this browser's own": [own("open"), "Your offer", NOW],
  "it is settled in a moment": [
    { ...own("open"), ...offer("completed") },
    "On its way",
    NOW,
  ],
  "it was this browser's own": [
    { ...own("done"), ...offer("completed") },
    TRADED,
    DONE,
    "deed_c",
  ],
  "it was cancelled here": [own("refused", "offer_withdrawn"), "Your offer", NOW],
};

for (const [name, [known, title, titles, gainedId]] of Object.entries(TOLD)) {
  test(`of a trade that cannot be completed, the page says that ${name}`, () => {
    const said = message({ ...TRADE, ...known });

    assert.deepEqual(
      [said.title, said.titles, said.gainedId],
      [title, titles, gainedId],
    );
    const isOwn = said.kind === "own";
    const isOpen = isOwn && known.own?.state === "open";
    assert.equal(said.action?.text, isOpen ? "Show link and code" : undefined);
    // Only of what can still happen it is said what one gives and gets.
    assert.equal(/^You give .* and get .*\. [A-Z]/.test(said.lead), isOpen);
    assert.equal(/^\d.* for .*\. [A-Z]/.test(said.lead), isOwn && !isOpen);
  });
}

test("who did not pay it does not read that it is paid", () => {
  assert.equal(message({ ...REQUEST, ...offer("completed") }).title, "Already paid");
});

test("both sides of a payment read the same signs and time, and who paid what is left", () => {
  const completed = { ...REQUEST, ...offer("completed") };
  const ask = { own: { ...own("done").own, kind: "ask" } };
  const [theirs, ours] = [paying("done"), ask].map((known) =>
    message({ ...completed, ...known }),
  );
  const last = message({ wants: [{ ...CHOIR, free: 0 }], ...paying("done") });

  assert.equal(theirs.title, ours.title);
  assert.match(theirs.title, /^Paid\nA7K2 \d/);
  assert.equal(theirs.lead, "You have 8 units left.");
  assert.equal(ours.lead, "5 units of “Choir”");
  assert.equal(last.lead, "That was all you had.");
  assert.deepEqual([theirs.gainedId, ours.gainedId], [undefined, "deed_c"]);
});

test("without an answer it says so, and what is known stays; an unknown offer is told apart", () => {
  const value = { onLine: false };
  Object.defineProperty(globalThis, "navigator", { value, configurable: true });
  const unknown = new ProblemError({ code: "unknown_offer" }, 404, null);

  assert.equal(messageOf({ offer: null }).lead, "Loading…");
  assert.match(
    messageOf({ offer: null, problem: new NoAnswerError() }).lead,
    /^You.re offline\./,
  );
  assert.equal(messageOf({ offer: null, problem: unknown }).kind, "unknown");
  const later = message({ ...REQUEST, problem: new NoAnswerError() });
  // It is tried again to read it, and not to pay.
  assert.match(later.lead, /^You.re offline\. You haven.t paid anything\.$/);
  assert.ok(later.action);
});

test("of the wallet it reads what is free, what is not, and who made or completes the offer", async () => {
  const { id: itemId } = CHOIR.item;
  const outputs = [
    ["held", 8, { number: 1 }],
    ["given", 3],
    ["offered", 2],
    ["held", 1, { collectedAt: 1 }],
    ["coming", 4],
    ["spent", 9],
  ].map(([state, amount, more]) => {
    return { key: `${itemId}.${amount}`, itemId, state, amount, ...more };
  });
  const operations = [
    ["a", "complete", "refused", "offer_a"],
    ["b", "complete", "begun", "offer_a"],
    ["c", "trade", "open", "offer_b"],
  ].map(([key, kind, state, offerId]) => ({ key, kind, state, offerId }));
  const store = memoryStore();
  store.put({ outputs, operations });
  const origins = new Map([
    ["deed_c", originAs("lookalike")],
    ["deed_d", originAs("new")],
  ]);
  const request = { offerId: "offer_a", gives: [], wants: [DRINK] };
  const read = (offer) =>
    readKnown(store, { gives: [DRINK], wants: [CHOIR], ...offer }, origins);

  const [theirs, ours] = [
    await read({ offerId: "offer_a" }),
    await read({ offerId: "offer_b" }),
  ];

  const [{ free, away }] = theirs.wants;
  assert.deepEqual([free, away, theirs.paying.key, theirs.own], [8, 6, "b", undefined]);
  assert.deepEqual(
    [theirs.wants[0].origin?.kind, theirs.gives[0].origin?.kind],
    ["lookalike", "new"],
  );
  assert.equal(theirs.gives[0].origin?.tint, "wait");
  assert.match(theirs.gives[0].origin?.text ?? "", /^Anyone can .* mark d·d with /);
  assert.deepEqual(
    [ours.own.key, ours.paying, ours.gives[0].origin],
    ["c", undefined, undefined],
  );
  // Of what one only gives nothing is said that is not doubtful.
  assert.equal((await read(request)).wants[0].origin, undefined);
});
