// The links of the Claim page: which ones a tab stores, what it asks the service, what
// it draws, and when the focus moves.

import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { test } from "node:test";

import {
  NoAnswerError,
  ProblemError,
} from "../../../../../parts/pages/static/js/wallet/api.js";
import {
  makeAnswers,
  makeClaimList,
  makeClaims,
} from "../../../../../parts/pages/static/js/pages/claim/claims.js";
import { WalletError } from "../../../../../parts/pages/static/js/wallet/records.js";
import { textsIn } from "../../../../../parts/pages/static/js/wallet/store.js";
import { makeClock } from "../../clock.js";
import { memoryStore } from "../../wallet/memory_store.js";

const OUTPUT = { amount: 5, itemId: "deed_a", secret: "one" };
const ITEM = { id: "deed_a" };
const item = async () => ITEM;
const isUnspent = async (outputs) => outputs.map(() => "unspent");

/** Return a view that records the names of calls, the rows, and the texts to tell. */
function notingView(seen, texts, drawn) {
  const names = ["focusFound", "focusOutcome", "setAdding", "setBusy", "setLooking"];
  const noting = Object.fromEntries(names.map((name) => [name, () => seen.push(name)]));
  const draw = (rows) => {
    seen.push("draw");
    drawn.push(rows);
  };
  return { ...noting, draw, tell: (text) => texts.push(text) };
}

/**
 * Return claims of one unspent output, with the records of their view and the listeners
 * of their store.
 */
function claimsOn(parts = {}) {
  const [seen, texts, drawn, listeners] = [[], [], [], []];
  const onChange = (listener) => (listeners.push(listener), () => {});
  const store = { ...memoryStore(), onChange };
  const list = makeClaimList();
  list.add([OUTPUT]);
  const claims = makeClaims({
    list,
    view: notingView(seen, texts, drawn),
    api: { check: isUnspent, item },
    store,
    isAsked: true,
    ...parts,
  });
  return { claims, store, seen, texts, drawn, listeners };
}

/** Wait for what needs no time. */
async function settled() {
  for (let times = 0; times < 20; times += 1) await setImmediate();
}

/** A store whose reads end when the test says so, in the order in which they began. */
function slowStore() {
  const store = memoryStore();
  const waiting = [];
  const read = async (wanted, look) => {
    await new Promise((resolve) => waiting.push(resolve));
    return store.read(wanted, look);
  };
  return { store: { ...store, onChange: () => {}, read }, waiting };
}

test("the focus moves to what was found when it is drawn, though another draw began meanwhile", async () => {
  const { store, waiting } = slowStore();
  const { claims, seen } = claimsOn({ store });

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

test("what a link is of is asked again where it could not be loaded, and said meanwhile", async () => {
  const { until } = makeClock();
  const answers = [new NoAnswerError(), ITEM];
  const wallet = {
    async item() {
      const answer = answers.shift();
      if (answer === ITEM) return ITEM;
      throw answer;
    },
  };
  const { claims, drawn } = claimsOn({ wallet });

  await claims.show();
  const [{ state, origin }] = drawn.at(-1);
  assert.deepEqual([state.kind, origin.kind], ["free", "unknown"]);
  await until(2);

  assert.equal(drawn.at(-1)[0].origin.kind, "new");
});

test("a look that another has overtaken, or that will not pass, is not repeated", async () => {
  const { until } = makeClock();
  const refused = new ProblemError({ code: "invalid_request" }, 400, null);
  const failures = [new NoAnswerError(), refused];
  const asked = [];
  const check = async (raws) => {
    asked.push(raws.length);
    throw failures.shift();
  };
  const { claims, drawn } = claimsOn({ api: { check, item } });
  await claims.show();

  await claims.receive([{ ...OUTPUT, secret: "two" }]);
  await until(100);

  assert.deepEqual(asked, [1, 2]);
  assert.match(drawn.at(-1)[0].state.text, /^The service can.t accept this/);
});

test("each answer is drawn as it comes, and none of a look that another has overtaken", async () => {
  const answers = [];
  const check = (raws) =>
    new Promise((resolve, reject) => answers.push({ raws, resolve, reject }));
  const { claims, drawn } = claimsOn({ api: { check, item } });
  const rowNow = () => drawn.at(-1).at(-1);

  claims.show();
  await settled();
  assert.deepEqual([rowNow().item, rowNow().state.kind], [ITEM, "asking"]);
  // Opened again, its state is asked again.
  const shown = claims.receive([OUTPUT]);
  answers[0].reject(new NoAnswerError());
  await settled();
  assert.equal(rowNow().state.text, "");
  answers[1].resolve(["unspent"]);
  await shown;
  const again = claims.receive([OUTPUT]);
  answers[2].resolve(["spent"]);
  await again;

  assert.equal(rowNow().state.kind, "spent");
});

test("what another tab changes is drawn", async () => {
  const { seen, listeners } = claimsOn();

  await listeners[0]();

  assert.deepEqual(seen, ["draw"]);
});

test("while the service says to wait, no other link is claimed, and the page is told for how long", async () => {
  const begun = { key: "k", state: "begun", kind: "claim", inputs: [] };
  const busy = new ProblemError({ code: "overloaded" }, 503, 40);
  const [claimed, woken] = [[], []];
  const wallet = {
    item,
    async claim({ secret }) {
      claimed.push(secret);
      return { operation: store.kept.operations.get("k"), problem: busy };
    },
  };
  const { claims, store, listeners } = claimsOn({
    wallet,
    wake: (problem) => woken.push(problem),
  });
  store.kept.operations.set("k", begun);
  await claims.receive([OUTPUT, { ...OUTPUT, secret: "two" }]);

  const taken = claims.take();
  await settled();
  assert.deepEqual([claimed, woken], [["one"], [busy]]);
  store.kept.operations.set("k", { ...begun, state: "done" });
  listeners.forEach((listener) => listener());
  await taken;

  assert.deepEqual([claimed, woken], [["one", "two"], [busy]]);
});

const OVERTAKEN = new WalletError("already_claimed", "no");

/** What a wallet was asked to claim, where the service says this of each link. */
async function claimed(states, opened, older) {
  const secrets = [];
  const claim = async ({ secret }) => {
    secrets.push(secret);
    throw OVERTAKEN;
  };
  const check = async (raws) => raws.map((raw) => states[raw.split(".")[2]]);
  const { claims } = claimsOn({
    wallet: { claim, item },
    api: { check, item },
    wake: () => {},
  });
  await claims.show();
  await claims.receive(opened.map((secret) => ({ ...OUTPUT, secret })));
  await claims.take(older);
  return secrets;
}

test("the button never claims a link that was opened before", async () => {
  const states = { one: "unspent", two: "spent", three: "unspent", four: "unspent" };

  assert.deepEqual(await claimed(states, ["two"]), []);
  assert.deepEqual(await claimed({ ...states, two: "unknown" }, ["two"]), []);
  assert.deepEqual(await claimed(states, []), []);
  assert.deepEqual(await claimed(states, ["three", "two", "four"]), ["three", "four"]);
});

test("of links that were opened before those that are over are gone", async () => {
  const check = async (raws) =>
    raws.map((raw) => (/one/.test(raw) ? "spent" : "unspent"));
  const parts = { wallet: {}, api: { check, item } };
  const { claims, drawn } = claimsOn(parts);
  await claims.show();
  const outputs = ["two", "three"].map((secret) => ({ ...OUTPUT, secret }));

  for (const output of outputs) await claims.receive([output]);

  const [two, three] = outputs;
  const last = drawn.at(-1).map(({ output }) => output);
  assert.deepEqual(last, [{ ...two, isOlder: true }, three]);
});

test("a link that was opened before is claimed alone, by its own button", async () => {
  const states = { one: "unspent", two: "unspent" };

  assert.deepEqual(await claimed(states, ["two"], [OUTPUT]), ["one"]);
});

test("a claim that another tab has made is no mistake", async () => {
  const wallet = { claim: async () => Promise.reject(OVERTAKEN), item };
  const { claims, seen, texts } = claimsOn({ wallet });
  await claims.show();

  await claims.take();

  assert.deepEqual(texts, [""]);
  assert.equal(seen.at(-1), "focusOutcome");
});

const OTHER = { amount: 7, itemId: "deed_b", secret: "two" };
const ITEMS = { deed_a: ITEM, deed_b: { id: "deed_b" } };

/** The answers of a service that fails as often as there are `failures`. */
function answersOf(failures = []) {
  const asked = [];
  const answer = async (what, value) => {
    asked.push(what);
    const failure = failures.shift();
    if (failure) throw failure;
    return value;
  };
  const check = (raws) => answer(raws.join(" "), Array(raws.length).fill("unspent"));
  const readItem = (itemId) => answer(itemId, ITEMS[itemId]);
  const answers = makeAnswers(check, readItem);
  return { answers, asked, ask: (...outputs) => Promise.all(answers.ask(outputs)) };
}

test("states are asked for at once, each item once, and again only what failed or is forgotten", async () => {
  const failure = new ProblemError({ code: "overloaded" }, 503, 40);
  const { answers, asked, ask } = answersOf([failure]);
  const outputs = [OUTPUT, { ...OUTPUT, secret: "three" }, OTHER];

  await assert.rejects(ask(...outputs), failure);
  await ask(...outputs);
  answers.forget([OUTPUT]);
  await ask(...outputs);

  const states = "+5.deed_a.one +5.deed_a.three +7.deed_b.two";
  assert.deepEqual(asked, [states, "deed_a", "deed_b", states, "+5.deed_a.one"]);
  assert.equal(answers.stateOf(OUTPUT), "unspent");
  assert.deepEqual(answers.itemOf(OTHER), ITEMS.deed_b);
});

test("an item that there is not is known not to be, and not asked for again", async () => {
  const none = new ProblemError({ code: "item_not_found" }, 404, null);
  const { answers, asked, ask } = answersOf([null, none]);

  await ask(OUTPUT);
  await ask(OUTPUT);

  assert.equal(answers.itemOf(OUTPUT), null);
  assert.deepEqual(asked.slice(2), []);
});

const ONE = { amount: 5, itemId: "deed_a", secret: "one .+", unit: "" };
const THREE = { amount: 1, itemId: "deed_b", secret: "three" };
const TWO = { amount: 7, itemId: "deed_a", secret: "two", unit: "hour" };

/** A storage as a tab has one. */
function fakeStorage() {
  const kept = new Map();
  return {
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, text) => kept.set(name, text),
    removeItem: (name) => kept.delete(name),
    kept,
  };
}

/** Return a tab's list, and what makes it again as a reload does. */
function tabList() {
  const storage = fakeStorage();
  const reloaded = () => makeClaimList(textsIn(() => storage));
  return { storage, list: reloaded(), reloaded };
}

const older = (output) => ({ ...output, isOlder: true });

/** By case: the outputs added in turn, and the list then, also after a reload. */
const ADDED = {
  "each is there once, in its order": [
    [[ONE], [TWO, ONE]],
    [ONE, TWO],
  ],
  "links that come together are opened together, and all before them are older": [
    [[ONE], [TWO, THREE]],
    [older(ONE), TWO, THREE],
  ],
  "an older link that is opened again is the one just opened": [
    [[ONE], [TWO], [older(ONE)]],
    [ONE, older(TWO)],
  ],
  "a link that cannot be read leaves nothing just opened": [[[ONE], []], [older(ONE)]],
  "a link with another amount takes the place of the one before it": [
    [[ONE, TWO], [{ ...ONE, amount: 6 }]],
    [{ ...ONE, amount: 6 }, older(TWO)],
  ],
};

for (const [name, [added, all]] of Object.entries(ADDED)) {
  test(`of what is added ${name}`, () => {
    const { list, reloaded } = tabList();

    added.forEach(list.add);

    for (const each of [list, reloaded()]) {
      assert.deepEqual(each.all(), all);
      assert.deepEqual(
        each.opened(),
        all.filter(({ isOlder }) => !isOlder),
      );
    }
  });
}

test("what is forgotten is shown until a reload, and stays so when another is added", () => {
  const { list, reloaded } = tabList();
  list.add([ONE, TWO]);

  list.forget([ONE]);

  assert.deepEqual(list.all(), [ONE, TWO]);
  assert.deepEqual(reloaded().all(), [TWO]);
  list.add([THREE]);
  assert.deepEqual(reloaded().all(), [older(TWO), THREE]);
});

test("what is dropped is neither shown nor kept, and nothing is left in the storage", () => {
  const { storage, list } = tabList();
  list.add([ONE, TWO]);

  list.drop([ONE, TWO]);

  assert.deepEqual(list.all(), []);
  assert.equal(storage.kept.size, 0);
});

test("a storage that is forbidden, full or holds something else does no harm", () => {
  const forbidden = () => {
    throw new Error("forbidden");
  };
  const strange = fakeStorage();
  strange.kept.set("deeds.claim", '{"a": 1}');
  for (const findStorage of [
    forbidden,
    () => ({ getItem: () => null }),
    () => strange,
  ]) {
    const list = makeClaimList(textsIn(findStorage));

    list.add([ONE]);

    assert.deepEqual(list.all(), [ONE]);
  }
});
