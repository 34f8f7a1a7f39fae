// What is drawn of the Claim page's list, and when the focus may move there.

import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { test } from "node:test";

import {
  NoAnswerError,
  ProblemError,
} from "../../../../../parts/pages/static/js/wallet/api.js";
import {
  makeClaimList,
  makeClaims,
} from "../../../../../parts/pages/static/js/pages/claim/claims.js";
import { WalletError } from "../../../../../parts/pages/static/js/wallet/records.js";
import { memoryStore } from "../../wallet/memory_store.js";

const OUTPUT = { amount: 5, itemId: "deed_a", secret: "one" };
const ITEM = { id: "deed_a", total: 5, metadata: null };
const item = async () => ITEM;
const isUnspent = async (outputs) => outputs.map(() => "unspent");

/** A view that notes each call by its name, what it draws, and what it is to tell. */
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
 * Claims of one output that is there to be taken, what their view is told, and what
 * listens to their store.
 */
function claimsOn(parts = {}) {
  const [seen, texts, drawn, listeners] = [[], [], [], []];
  const onChange = (listener) => (listeners.push(listener), () => {});
  const store = { ...memoryStore(), onChange };
  const list = makeClaimList(() => null);
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

test("what a link is of is asked again where it could not be loaded, and said meanwhile", async ({
  mock,
}) => {
  mock.timers.enable({ apis: ["setTimeout"] });
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
  mock.timers.tick(2000);
  await settled();

  assert.equal(drawn.at(-1)[0].origin.kind, "new");
});

test("a look that another has overtaken, or that will not pass, is not repeated", async ({
  mock,
}) => {
  mock.timers.enable({ apis: ["setTimeout"] });
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
  mock.timers.tick(100_000);
  await setImmediate();

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
async function claimed(states, opened, older = null) {
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

  assert.deepEqual(await claimed(states, ["two"], OUTPUT), ["one"]);
});

test("a claim that another tab has made is no mistake", async () => {
  const wallet = { claim: async () => Promise.reject(OVERTAKEN), item };
  const { claims, seen, texts } = claimsOn({ wallet });
  await claims.show();

  await claims.take();

  assert.deepEqual(texts, [""]);
  assert.equal(seen.at(-1), "focusOutcome");
});
