// What is drawn of the Claim page's list, and when the focus may move there.

import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { test } from "node:test";

import {
  NoAnswerError,
  ProblemError,
} from "../../../../../deeds/page/static/js/wallet/api.js";
import {
  makeClaimList,
  makeClaims,
} from "../../../../../deeds/page/static/js/pages/claim/claims.js";
import { WalletError } from "../../../../../deeds/page/static/js/wallet/records.js";
import { memoryStore } from "../../wallet/memory_store.js";

const OUTPUT = { amount: 5, itemId: "deed_a", secret: "one" };
const ITEM = { id: "deed_a", total: 5, metadata: null };

/** A view that notes each call by its name, and the texts that it is to tell. */
function notingView(seen, texts) {
  const names = [
    "draw",
    "focusFound",
    "focusOutcome",
    "setAdding",
    "setBusy",
    "setLooking",
  ];
  const noting = Object.fromEntries(names.map((name) => [name, () => seen.push(name)]));
  return { ...noting, tell: (text) => texts.push(text) };
}

/** Claims of one output that is there to be taken, and what their view is told. */
function claimsOn(store, parts = {}) {
  const seen = [];
  const texts = [];
  const api = { check: async () => ["unspent"], item: async () => ITEM };
  const list = makeClaimList(() => null);
  list.add([OUTPUT]);
  const claims = makeClaims({
    list,
    view: notingView(seen, texts),
    api,
    store,
    isAsked: true,
    ...parts,
  });
  return { claims, seen, texts };
}

/** A store whose reads end when the test says so, in the order in which they began. */
function slowStore() {
  const store = memoryStore();
  const waiting = [];
  const read = async (wanted, look) => {
    await new Promise((resolve) => waiting.push(resolve));
    return store.read(wanted, look);
  };
  return { store: { ...store, read, onChange: () => {} }, waiting };
}

test("the focus moves to what was found when it is drawn, though another draw began meanwhile", async () => {
  const { store, waiting } = slowStore();
  const { claims, seen } = claimsOn(store);

  const shown = claims.show();
  await setImmediate();
  assert.ok(!seen.includes("focusFound"));
  while (waiting.length) {
    waiting.shift()();
    await setImmediate();
  }
  await shown;

  const told = seen.filter((word) => word === "draw" || word === "focusFound");
  assert.deepEqual(told.slice(0, 2), ["draw", "focusFound"]);
});

test("what a link is of is asked again where it could not be loaded, and said meanwhile", async ({
  mock,
}) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const drawn = [];
  const answers = [new NoAnswerError(), ITEM];
  const item = async () => {
    const answer = answers.shift();
    if (answer === ITEM) return ITEM;
    throw answer;
  };
  const view = { ...notingView([], []), draw: ([row]) => drawn.push(row) };
  const { claims } = claimsOn(
    { ...memoryStore(), onChange: () => {} },
    { wallet: { item }, view },
  );

  await claims.show();
  assert.deepEqual(
    [drawn.at(-1).state.kind, drawn.at(-1).origin.kind],
    ["free", "unknown"],
  );
  mock.timers.tick(2000);
  for (let count = 0; count < 20; count += 1) await setImmediate();

  assert.equal(drawn.at(-1).origin.kind, "new");
});

test("what another tab changes is drawn", async () => {
  const listeners = [];
  const { seen } = claimsOn({
    ...memoryStore(),
    onChange: (listener) => listeners.push(listener),
  });

  await listeners[0]();

  assert.deepEqual(seen, ["draw"]);
});

test("while the service says to wait, no other link is claimed, and the page is told for how long", async () => {
  const begun = { key: "k", state: "begun", kind: "claim", inputs: [] };
  const busy = new ProblemError({ code: "overloaded" }, 503, 40);
  const listeners = [];
  const onChange = (listener) => (listeners.push(listener), () => {});
  const store = { ...memoryStore(), onChange };
  store.kept.operations.set("k", begun);
  const [claimed, woken] = [[], []];
  const wallet = {
    item: async () => ITEM,
    async claim({ secret }) {
      claimed.push(secret);
      return { operation: store.kept.operations.get("k"), problem: busy };
    },
  };
  const api = {
    check: async (outputs) => outputs.map(() => "unspent"),
    item: async () => ITEM,
  };
  const { claims } = claimsOn(store, {
    wallet,
    api,
    wake: (problem) => woken.push(problem),
  });
  await claims.receive([{ ...OUTPUT, secret: "two" }]);

  const taken = claims.take();
  for (let times = 0; times < 5; times += 1) await setImmediate();
  assert.deepEqual([claimed, woken], [["one"], [busy]]);
  store.kept.operations.set("k", { ...begun, state: "done" });
  listeners.forEach((listener) => listener());
  await taken;

  assert.deepEqual([claimed, woken], [["one", "two"], [busy]]);
});

test("a claim that another tab has made is no mistake", async () => {
  const overtaken = new WalletError("already_spent", "no");
  const wallet = {
    claim: async () => Promise.reject(overtaken),
    item: async () => ITEM,
  };
  const { claims, seen, texts } = claimsOn(
    { ...memoryStore(), onChange: () => {} },
    { wallet },
  );
  await claims.show();

  await claims.take();

  assert.deepEqual(texts, [""]);
  assert.equal(seen.at(-1), "focusOutcome");
});
