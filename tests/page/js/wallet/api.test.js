// What becomes of a request: its answer, a problem, or no answer.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  makeApi,
  NoAnswerError,
  ProblemError,
} from "../../../../parts/pages/static/js/wallet/api.js";
import { textFor } from "../../../../parts/pages/static/js/texts.js";

const KEY = "6e5ee52b-9f0e-4d4c-8b3c-3c4e4b1b9a11";
const MINT = { outputs: [{ amount: 5, secret: "a" }] };
const MINTED = {
  itemId: "deed_x",
  outputs: [{ amount: 5, secret: "a", itemId: "deed_x" }],
  rawOutputs: ["+5.deed_x.a"],
};

/**
 * Return an api whose service gives these answers in turn, and what was asked of it.
 */
function apiAnswering(...answers) {
  const asked = [];
  const fetch = async (url, options) => {
    asked.push([url, options]);
    return answers.shift();
  };
  const tokens = { readToken: () => null };
  return { api: makeApi(fetch, 256, tokens), asked };
}

function json(body, init = {}) {
  return new Response(JSON.stringify(body), init);
}

function problemAnswer(problem, status, headers = {}) {
  const type = { "Content-Type": "application/problem+json" };
  return json(problem, { status, headers: { ...type, ...headers } });
}

/** Return what a swap fails with where the service answers this. */
function errorAfter(answer) {
  const { api } = apiAnswering(answer);
  return api.swap({}, KEY).catch((caught) => caught);
}

test("a mint is sent with its key and answered", async () => {
  const { api, asked } = apiAnswering(json(MINTED));

  const answer = await api.mint(MINT, KEY);

  const [[url, { signal, ...options }]] = asked;
  assert.deepEqual(answer, MINTED);
  assert.equal(url, "/v1/mint");
  assert.equal(signal.aborted, false);
  assert.deepEqual(options, {
    method: "POST",
    headers: { "Content-Type": "application/json", "Idempotency-Key": KEY },
    body: JSON.stringify(MINT),
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
    referrerPolicy: "no-referrer",
  });
});

test("a token goes with mints alone, and is refused by a 401 of the service", async () => {
  const problem = { code: "mint_token_wrong", isFinal: true };
  const asked = [];
  const refused = [];
  const answers = [json({}, { status: 401 }), problemAnswer(problem, 401)];
  const fetch = async (_url, { headers }) => {
    asked.push(headers.Authorization);
    return answers.shift() ?? json({ success: true });
  };
  const tokens = {
    readToken: () => "kept",
    refuseToken: (token) => refused.push(token),
  };
  const api = makeApi(fetch, 256, tokens);

  await assert.rejects(api.mint(MINT, KEY), NoAnswerError);
  assert.deepEqual(refused, []);
  await assert.rejects(api.mint(MINT, KEY), problem);
  await api.swap({}, KEY);

  assert.deepEqual(asked, ["Bearer kept", "Bearer kept", undefined]);
  assert.deepEqual(refused, ["kept"]);
});

for (const [code, status, takes] of [
  ["invalid_request", 400, true],
  ["mint_token_wrong", 401, false],
]) {
  test(`a token that is tried is taken, or not, by ${code}`, async () => {
    const { api, asked } = apiAnswering(problemAnswer({ code }, status));

    assert.equal(await api.takesToken("typed"), takes);
    assert.equal(asked[0][1].body, '{"outputs":[]}');
  });
}

test("a check of many outputs is asked in parts and answered in order", async () => {
  const rawOutputs = Array.from({ length: 600 }, (_, place) => `+1.deed_x.${place}`);
  const stateOf = (raw) => (raw.endsWith("0") ? "spent" : "unspent");
  const counts = [];
  const api = makeApi(async (_url, { body }) => {
    const { outputs } = JSON.parse(body);
    counts.push(outputs.length);
    return json({ states: outputs.map(stateOf) });
  });

  assert.deepEqual(await api.check(rawOutputs), rawOutputs.map(stateOf));
  assert.deepEqual(counts, [256, 256, 88]);
});

test("only the service itself can say that it has no offers", async () => {
  const problems = ["not_found", "unknown_item"];
  const answers = problems.map((code) => problemAnswer({ code }, 404));
  const { api } = apiAnswering(...answers, json({}, { status: 404 }));
  const find = () => api.findOffered("deed_x", ["a"]);

  assert.equal(await find(), null);
  await assert.rejects(find(), ProblemError);
  await assert.rejects(find(), NoAnswerError);
});

test("a problem comes with its code and seconds to wait", async () => {
  // Only true itself is.
  const problem = { code: "overloaded", isFinal: "true" };

  const error = await errorAfter(problemAnswer(problem, 503, { "Retry-After": "7" }));

  assert.ok(error instanceof ProblemError);
  assert.deepEqual(
    { ...error },
    {
      name: "ProblemError",
      code: "overloaded",
      isFinal: false,
      status: 503,
      retryAfterS: 7,
    },
  );
  assert.match(textFor(error), /^The service is busy\./);
});

const WRONG_ANSWERS = {
  "a page in place of a swap's answer": [
    "swap",
    new Response("<html>", { status: 200 }),
  ],
  "fewer codes than texts": ["qr", json({ codes: [] })],
  "no success": ["swap", json({ success: false })],
  null: ["swap", json(null)],
  "a mint without an item": ["mint", json({ outputs: MINTED.outputs })],
  "a mint with another secret": [
    "mint",
    json({ ...MINTED, outputs: [{ amount: 5, secret: "b" }] }),
  ],
  "a mint with another amount": [
    "mint",
    json({ ...MINTED, outputs: [{ amount: 6, secret: "a" }] }),
  ],
  "a mint with an item id that has a dot": [
    "mint",
    json({ ...MINTED, itemId: "deed_x.y" }),
  ],
  "another state": ["check", json({ states: ["lost"] })],
  "another item": ["item", json({ id: "deed_y", total: 5, metadata: null })],
  "a page in place of a problem": ["swap", new Response("<html>", { status: 502 })],
  "a problem without a code": ["swap", problemAnswer({ title: "?" }, 400)],
  "a refusal of somebody else": [
    "swap",
    json({ code: "spent_input", isFinal: true }, { status: 400 }),
  ],
};
const ASKED = {
  swap: {},
  mint: MINT,
  check: ["+5.deed_x.a"],
  item: "deed_x",
  qr: ["a"],
};

for (const [name, [verb, answer]] of Object.entries(WRONG_ANSWERS)) {
  test(`what is not the service's answer is none: ${name}`, async () => {
    const { api } = apiAnswering(answer);

    await assert.rejects(api[verb](ASKED[verb], KEY), NoAnswerError);
  });
}

test("a request that is too large for what stands before the service was not passed on", async () => {
  const { api } = apiAnswering(new Response("<html>", { status: 413 }));

  await assert.rejects(api.mint(MINT, KEY), {
    name: "ProblemError",
    code: "body_too_large",
    isFinal: true,
  });
});

test("a broken connection is no answer", async () => {
  const api = makeApi(async () => {
    throw new TypeError("Failed to fetch");
  });

  await assert.rejects(api.swap({}, KEY), NoAnswerError);
});

test("a service that is silent for 30 seconds gives no answer", async (context) => {
  const abort = () => AbortSignal.abort();
  const { mock } = context.mock.method(AbortSignal, "timeout", abort);
  const api = makeApi(async (_url, { signal }) => signal.throwIfAborted());

  await assert.rejects(api.swap({}, KEY), NoAnswerError);
  assert.deepEqual(mock.calls[0].arguments, [30_000]);
});

test("the browser's own errors get a text for people", () => {
  const text = "Something went wrong in this page. Reload it.";

  assert.equal(textFor(new TypeError("x is undefined")), text);
  assert.equal(textFor(null), text);
  assert.equal(
    textFor({ name: "ProblemError", code: "new_one" }),
    "The service refused this.",
  );
});

test("the service's time is that of its answers to POST, while both clocks agree", async ({
  mock,
}) => {
  const at = Date.UTC(2030, 5, 1, 19);
  const dated = (body, init = {}) =>
    json(body, { ...init, headers: { Date: new Date(at).toUTCString() } });
  const item = { id: "deed_x", total: 1, metadata: null };
  const { api } = apiAnswering(
    dated(item),
    dated("a hotel's login page"),
    dated({ codes: ["<svg "] }),
  );

  await api.item("deed_x");
  await assert.rejects(api.swap({}, KEY));
  assert.equal(api.time(), null);
  const time = Number(await api.askTime());

  assert.ok(time >= at && time < at + 60_000);
  assert.ok(Number(api.time()) >= time);
  mock.timers.enable({ apis: ["Date"], now: Date.now() + 130_000 });
  assert.equal(api.time(), null);
  const refusal = problemAnswer({ code: "overloaded" }, 503, {
    Date: new Date(at).toUTCString(),
  });
  assert.ok(await apiAnswering(refusal).api.askTime());
});
