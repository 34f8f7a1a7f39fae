// Vectors of verbs: each does what tests/vectors/verbs says, as the Python client does.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import {
  formatRawOutput,
  parseRawOutput,
} from "../../../../parts/pages/static/js/format/raw_output.js";
import {
  NoAnswerError,
  ProblemError,
} from "../../../../parts/pages/static/js/wallet/api.js";
import { cutRecords } from "../../../../parts/pages/static/js/wallet/cutting.js";
import { readRecords } from "../../../../parts/pages/static/js/wallet/file.js";
import { keyOf } from "../../../../parts/pages/static/js/wallet/records.js";
import { deriveSecrets } from "../../../../parts/pages/static/js/wallet/seeds.js";
import {
  fromFile,
  inState,
  withEnds,
} from "../../../../parts/pages/static/js/wallet/states.js";
import { fakeService } from "./fake_service.js";
import { memoryStore } from "./memory_store.js";
import { makerOn } from "./parts.js";

const FOLDER = new URL("../../../vectors/verbs/", import.meta.url);
const PATHS = { mint: "/v1/mint", swap: "/v1/swap", makeOffer: "/v1/offers" };
/** Errors that have no code of their own. */
const CODES = {
  NoAnswerError: "no_answer",
  AmountError: "invalid_input",
  FindingError: "wrong_answer",
};
/** How offers end: that is no refusal. */
const ENDS = ["offer_expired", "offer_void", "offer_withdrawn"];

const vectors = readdirSync(FOLDER).map((name) =>
  JSON.parse(readFileSync(new URL(name, FOLDER), "utf8")),
);
/** A caller's own name for an operation, and so `issue`, is of the client alone; so is `split`. */
const isOfClient = ({ steps }) =>
  steps.some(
    ({ verb, with: told }) =>
      ["issue", "split"].includes(verb) || told.reference || told.note,
  );

const outputKeyOf = (raw) => keyOf(parseRawOutput(raw));

const VERBS = {
  mint: ({ wallet }, { amounts, metadata }) =>
    wallet.mint({ outputs: amounts.map((amount) => ({ amount })), metadata }),
  send: ({ wallet }, { itemId, amount }) => wallet.send(itemId, amount),
  give: async ({ wallet }, { output }) =>
    void (await wallet.give([outputKeyOf(output)])),
  claim: ({ wallet }, { output }) => wallet.claim(parseRawOutput(output)),
  merge: ({ wallet }, { itemId }) => wallet.merge(itemId),
  takeBack: ({ wallet }, { outputs }) => wallet.takeBack(...outputs.map(outputKeyOf)),
  ask: ({ offers }, { expiresIn: expiresInS, ...want }) =>
    offers.ask({ ...want, expiresInS }),
  trade: ({ offers }, { gives: give, wants: want, expiresIn: expiresInS }) =>
    offers.trade({ give, want, expiresInS }),
  complete: async ({ offers, api }, { offerId }) =>
    offers.complete(await api.offer(offerId)),
  async cancel({ wallet, offers }, { operation: key }) {
    const { problem } = await offers.cancel(key);
    return { operation: await wallet.operationOf(key), problem };
  },
  refresh: ({ wallet }, { operation: key }) => wallet.finish(key),
  restart: async ({ wallet }) => void (await wallet.finishBegun()),
  async sync({ wallet }, { look }) {
    await wallet.finishBegun();
    if (look || (await wallet.isLookDue())) await wallet.look();
    await wallet.checkStates();
  },
  restore: async ({ wallet }, { file, isOwn }) =>
    void (await wallet.importRecords(readRecords(file), { isOwn })),
};

/** Return what comes out of a verb, or the code of its error. */
async function outcomeOf(parts, { verb, with: told }) {
  const attempt = () => VERBS[verb](parts, told);
  // While something is under way the page refuses; a person tries again after it.
  const again = async (error) => {
    if (error.code !== "busy") throw error;
    await parts.wallet.finishBegun();
    return attempt();
  };
  const result = await attempt()
    .catch(again)
    .catch((problem) => ({ problem }));
  const { operation, problem } = result ?? {};
  if (problem) return { error: CODES[problem.name] ?? problem.code ?? problem.stack };
  if (verb === "give") return { output: told.output };
  if (!operation) return {};
  const { key, state, code = "", body } = operation;
  if (state === "refused" && !ENDS.includes(code)) return { error: code };
  return verb === "send"
    ? { output: body.outputs[0] }
    : { operation: key, state, code };
}

/** Send a request of another wallet. */
function send(service, { path, key, body }) {
  const [, , , ...offerIds] = path.split("/");
  const verb = Object.keys(PATHS).find((each) => PATHS[each] === path) ?? "complete";
  return service.api()[verb](...offerIds.slice(0, 1), body, key);
}

/** Return an offer with its outputs read, or written, by this. */
const offerWith = (change, offer) => ({
  ...offer,
  inputs: offer.inputs.map(change),
  outputs: offer.outputs.map(change),
});

/** Return a service that has what a vector says. */
function serviceOf({ ledger, itemIds, offerIds }, now) {
  const kept = new Map((ledger.kept ?? []).map(({ key, makes }) => [key, makes]));
  const newId = (prefix) => (prefix === "deed_" ? itemIds : offerIds).shift();
  const service = fakeService({ now, newId, kept });
  const { items, outputs, offers } = service;
  for (const [id, item] of Object.entries(ledger.items)) items.set(id, { id, ...item });
  for (const [raw, state] of Object.entries(ledger.outputs)) {
    const { amount } = parseRawOutput(raw);
    outputs.set(outputKeyOf(raw), { amount, spent: state === "spent" });
  }
  for (const [id, offer] of Object.entries(ledger.offers))
    offers.set(id, offerWith(parseRawOutput, offer));
  return service;
}

/** Return what a service has, as a vector says it. */
function ledgerOf({ items, outputs, offers }) {
  const mapped = (map, change) =>
    Object.fromEntries(Array.from(map, ([key, value]) => change(value, key)));
  return {
    items: mapped(items, ({ id, ...item }) => [id, item]),
    outputs: mapped(outputs, ({ amount, spent }, key) => [
      `+${amount}.${key}`,
      spent ? "spent" : "unspent",
    ]),
    offers: mapped(offers, (offer, id) => [id, offerWith(formatRawOutput, offer)]),
  };
}

/** Return an api that records the requests, and has the faults of each step. */
function lineTo(service) {
  const api = service.api();
  const line = { requests: [], faults: [], count: 0 };
  for (const verb of [...Object.keys(PATHS), "complete"]) {
    const answer = api[verb];
    api[verb] = async (...given) => {
      const [body, key] = given.slice(-2);
      const path = PATHS[verb] ?? `/v1/offers/${given[0]}/complete`;
      line.requests.push(structuredClone({ path, key, body }));
      line.count += 1;
      const isThis = ({ request }) => request === line.count;
      const { others = [], problem, status, lost } = line.faults.find(isThis) ?? {};
      for (const other of others) await send(service, other);
      if (problem) throw new ProblemError(problem, status, null);
      if (lost === "request") throw new NoAnswerError();
      const answered = answer(...given);
      if (lost !== "answer") return answered;
      await answered.catch(() => {});
      throw new NoAnswerError();
    };
  }
  return { api, line };
}

/** Return records as vectors compare them: tests/vectors/README.md. */
function canonical(records) {
  const byKey = (one, other) => (one.key < other.key ? -1 : 1);
  // Vectors do not say when a file was written.
  const { at: _, ...told } = cutRecords(records);
  for (const all of Object.values(told)) all.sort(byKey);
  for (const output of told.outputs) delete output.changedAt;
  for (const operation of told.operations) delete operation.asked;
  return told;
}

/** Return a value without fields that are null or empty, which count as absent. */
const plain = (value) =>
  JSON.parse(
    JSON.stringify(value, (_, each) => (each === "" ? undefined : (each ?? undefined))),
  );

/** Looks derive the same secrets again and again. */
const derived = new Map();

async function derive(places) {
  const text = JSON.stringify(places);
  if (!derived.has(text)) derived.set(text, deriveSecrets(places));
  return derived.get(text);
}

/** Do what a vector says, and return what it has to compare. */
async function run(mock, vector) {
  const { before, keys = [], secrets = [], steps, arrayLengthMax: arrayMax } = vector;
  const clock = { ms: 0 };
  const now = () => clock.ms;
  const service = serviceOf(vector, now);
  const { api, line } = lineTo(service);
  const store = memoryStore(before.seeds.find(({ isOwn }) => isOwn));
  const records = readRecords(before);
  const outputs = withEnds(records.outputs, records.operations)
    .map(fromFile)
    .map(inState);
  store.put({ ...records, outputs });
  // A key with which nothing was begun is free again.
  const freeKey = () => keys.find((key) => !store.kept.operations.has(key));
  mock.method(crypto, "randomUUID", freeKey);
  const makeSecret = async () => secrets.shift();
  const real = { derive, gap: undefined, isStrong: undefined };
  const opened = () =>
    makerOn(service, store, api, { ...real, now, makeSecret, arrayMax });
  const outcomes = [];
  for (const step of steps) {
    clock.ms = step.at;
    Object.assign(line, { faults: step.faults ?? [], count: 0 });
    outcomes.push(await outcomeOf({ ...opened(), api }, step));
  }
  const after = canonical(await opened().wallet.exportRecords());
  return { outcomes, requests: line.requests, after, ledgerAfter: ledgerOf(service) };
}

for (const vector of vectors.filter((each) => !isOfClient(each))) {
  test(vector.name, async ({ mock }) => {
    const { steps, requests, after, ledgerAfter } = vector;
    const outcomes = steps.map(({ outcome }) => outcome);
    const expected = { outcomes, requests, after, ledgerAfter };

    const result = await run(mock, structuredClone(vector));

    assert.deepEqual(plain(result), plain(expected));
  });
}

test("only what is of the client alone is passed over", () => {
  assert.equal(vectors.filter(isOfClient).length, 14);
});
