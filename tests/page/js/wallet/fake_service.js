// A service in memory with the contract of mint, swap, check and offers, including the
// Idempotency-Key. It can lose requests and answers, carry requests out late, and
// refuse without a reason. tests/page/test_fake_service.py compares it with the real
// one.

import { appendFileSync } from "node:fs";

import {
  AT_ONCE_MAX,
  NoAnswerError,
  ProblemError,
} from "../../../../parts/pages/static/js/wallet/api.js";
import {
  formatRawOutput,
  parseRawOutput,
} from "../../../../parts/pages/static/js/format/raw_output.js";
import { AMOUNT_MAX } from "../../../../parts/pages/static/js/format/amounts.js";
import { keyOf } from "../../../../parts/pages/static/js/wallet/records.js";
import { now as clock } from "./clock.js";

/** How long an offer can be completed by default. */
const EXPIRES_IN_S = 604_800;

/** Ids are counted, so that test_fake_service.py can make the service use the same. */
let idsCount = 0;

function makeId(prefix) {
  idsCount += 1;
  return prefix + String(idsCount).padStart(26, "0");
}

/**
 * Return a service.
 * @param {object} [parts]
 * @param {() => number} [parts.now] in milliseconds
 * @param {(prefix: string) => string} [parts.newId]
 * @param {Map<string, string>} [parts.kept] the id that each earlier request has made, by its
 *   Idempotency-Key
 */
export function fakeService({ now = clock, newId = makeId, kept = new Map() } = {}) {
  const items = new Map(); // id -> item
  const outputs = new Map(); // item id + secret -> {amount, spent}
  const done = new Map(); // Idempotency-Key -> {request, made}
  const offers = new Map(); // id -> {inputs, outputs, expiresAt, isCompleted}
  const late = []; // requests that are carried out later; nobody waits for them
  let at; // the time of the current request

  const verbs = {
    item(id) {
      refuseIf(!items.has(id), "item_not_found", 404);
      return items.get(id);
    },
    /** Return what is recorded under each secret of an item. */
    find(itemId, secrets) {
      checkLength(secrets);
      checkItems([{ itemId }]);
      return secrets.map((secret) => {
        const found = outputs.get(keyOf({ itemId, secret }));
        return found ? { amount: found.amount, state: spentOrNot(found) } : null;
      });
    },
    /** Return whether an offer has ever named each secret of an item as an output. */
    findOffered(itemId, secrets) {
      checkLength(secrets);
      checkItems([{ itemId }]);
      const named = [...offers.values()].flatMap((offer) => offer.outputs);
      const keys = new Set(named.map(keyOf));
      return secrets.map((secret) => keys.has(keyOf({ itemId, secret })));
    },
    check: (texts) =>
      texts.map((text) => {
        const found = find(parseRawOutput(text));
        return found ? spentOrNot(found) : "unknown";
      }),
    mint({ outputs: made, metadata }, key) {
      checkLength(made);
      checkNamedOnce({ inputs: [], outputs: made });
      const total = made.reduce((sum, { amount }) => sum + amount, 0);
      refuseIf(total > AMOUNT_MAX, "total_too_large");
      const text = metadata ? JSON.stringify(metadata) : null;
      const itemId = operate(`mint ${text}`, { inputs: [], outputs: made }, key, () => {
        const id = newId("deed_");
        items.set(id, { id, total, metadata: text });
        record(made.map((output) => ({ ...output, itemId: id })));
        return id;
      });
      const minted = made.map((output) => ({ ...output, itemId }));
      return { itemId, outputs: minted, rawOutputs: minted.map(formatRawOutput) };
    },
    swap(body, key) {
      const half = readHalf(body);
      checkBalance(half);
      operate("swap", half, key, () => {
        checkItems(half.inputs, half.outputs);
        move(half);
      });
      return { success: true };
    },
    makeOffer({ expiresIn = EXPIRES_IN_S, ...body }, key) {
      const half = readHalf(body, 0);
      refuseIf(!excess(half.outputs, half.inputs).length, "not_an_offer");
      const offerId = operate(`offer ${expiresIn}`, half, key, () => {
        checkItems(half.inputs, half.outputs);
        const isTooMuch = ({ itemId, amount }) => amount > items.get(itemId).total;
        refuseIf(excess(half.outputs, []).some(isTooMuch), "total_too_large");
        checkInputs(half.inputs);
        checkFresh(half.outputs);
        const id = newId("offer_");
        offers.set(id, {
          ...half,
          expiresAt: 1000 * (Math.ceil(at / 1000) + expiresIn),
        });
        return id;
      });
      return verbs.offer(offerId);
    },
    offer(offerId) {
      const offer = offers.get(offerId);
      refuseIf(!offer, "unknown_offer", 404);
      const { inputs, outputs: made, expiresAt } = offer;
      const [gives, wants] = [excess(inputs, made), excess(made, inputs)];
      return { offerId, state: stateOf(offer), gives, wants, expiresAt };
    },
    complete(offerId, body, key) {
      const half = readHalf(body, 1, 0);
      operate(`complete ${offerId}`, half, key, () => {
        refuseIf(verbs.offer(offerId).state !== "open", "offer_not_open");
        checkItems(half.inputs, half.outputs);
        const offer = offers.get(offerId);
        const inputs = [...half.inputs, ...offer.inputs];
        const made = [...half.outputs, ...offer.outputs];
        checkBalance({ inputs, outputs: made });
        refuseIf(isAnyTwice(inputs), "duplicate_input");
        refuseIf(isAnyTwice(made), "duplicate_secret");
        refuseIf(isAnyTwice([...half.inputs, ...offer.outputs]), "used_secret");
        move({ inputs, outputs: made });
        offer.isCompleted = true;
      });
      return { success: true };
    },
  };

  /** Return the answer to a request. */
  function answer(name, ...given) {
    at = now();
    const note = (answer) => write([at, name, given, answer]);
    try {
      const answer = verbs[name](...structuredClone(given));
      note(answer);
      return structuredClone(answer);
    } catch (error) {
      note(error);
      throw error;
    }
  }

  /** Carry out an operation once. Return the id that it has made, if it makes one. */
  function operate(kind, half, key, apply) {
    const sides = [half.inputs, half.outputs];
    const texts = sides.map((raws) => raws.map(formatRawOutput).sort());
    const request = JSON.stringify([kind, texts]);
    const before = done.get(key);
    refuseIf(before && before.request !== request, "idempotency_key_reused", 422);
    if (before) return before.made;
    const made = kept.has(key) ? kept.get(key) : apply();
    if (key) done.set(key, { request, made });
    return made;
  }

  function move(swap) {
    checkInputs(swap.inputs);
    checkFresh(swap.outputs);
    for (const raw of swap.inputs) find(raw).spent = true;
    record(swap.outputs);
  }

  function record(made) {
    for (const { amount, ...place } of made)
      outputs.set(keyOf(place), { amount, spent: false });
  }

  function stateOf({ inputs, outputs: made, expiresAt, isCompleted }) {
    if (isCompleted) return "completed";
    if (at >= expiresAt) return "expired";
    return inputs.some((raw) => find(raw).spent) || !areFresh(made) ? "void" : "open";
  }

  function find(raw) {
    const known = outputs.get(keyOf(raw));
    return known?.amount === raw.amount ? known : undefined;
  }

  function checkItems(...sides) {
    refuseIf(!sides.flat().every(({ itemId }) => items.has(itemId)), "unknown_item");
  }

  function checkInputs(inputs) {
    refuseIf(!inputs.every(find), "unknown_input");
    refuseIf(
      inputs.some((raw) => find(raw).spent),
      "spent_input",
    );
  }

  const areFresh = (made) => !made.some((raw) => outputs.has(keyOf(raw)));

  function checkFresh(made) {
    refuseIf(!areFresh(made), "used_secret");
  }

  return {
    items,
    outputs,
    offers,

    /**
     * Return an api on this service.
     * @param {(verb: string, ...given: any[]) => string | void} [fate] of each request:
     *   "answered", "lost", "answer lost", "late", "refused" or "busy"
     */
    api(fate = () => "answered") {
      const ask =
        (name) =>
        async (...given) => {
          const call = () => answer(name, ...given);
          switch (fate(name, ...given)) {
            case "lost":
              throw new NoAnswerError();
            case "answer lost":
              callQuietly(call);
              throw new NoAnswerError();
            case "late":
              late.push(call);
              throw new NoAnswerError();
            case "refused":
              // Only its key shows that a payment without outputs was carried out, and
              // a service never forgets a key.
              if (name === "complete" && done.has(given[2])) return call();
              throw problem(
                /swap|makeOffer|complete/.test(name) ? "unknown_input" : "overloaded",
              );
            case "busy":
              throw problem("overloaded", 503);
            default:
              return call();
          }
        };
      const asking = Object.keys(verbs).map((name) => [name, ask(name)]);
      return { ...Object.fromEntries(asking), time: () => null };
    },

    /** Carry out up to `count` late requests, in the order in which `choose` picks. */
    deliverLate(choose = () => 0, count = Infinity) {
      for (let left = count; left > 0 && late.length; left -= 1) {
        const [call] = late.splice(choose(late.length), 1);
        callQuietly(call);
      }
    },

    /** Spend an output as somebody else who knows its secret. */
    take(raw, secret = "somebody's") {
      const inputs = [formatRawOutput(raw)];
      const outputs = [formatRawOutput({ ...raw, secret })];
      answer("swap", { inputs, outputs }, crypto.randomUUID());
    },

    /** Return the keys of all unspent outputs. */
    live: () => [...outputs].filter(([, { spent }]) => !spent).map(([key]) => key),
  };
}

const spentOrNot = ({ spent }) => (spent ? "spent" : "unspent");

function callQuietly(call) {
  try {
    call();
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
  }
}

function refuseIf(isWrong, code, status) {
  if (isWrong) throw problem(code, status);
}

function problem(code, status = 400) {
  const isFinal = code !== "overloaded";
  return new ProblemError({ code, isFinal }, status, status === 503 ? 1 : null);
}

function readHalf({ inputs, outputs }, inputsMin = 1, outputsMin = 1) {
  checkLength(inputs, inputsMin);
  checkLength(outputs, outputsMin);
  const [put, made] = [inputs, outputs].map((texts) => texts.map(parseRawOutput));
  const half = { inputs: put, outputs: made };
  checkNamedOnce(half);
  return half;
}

function checkLength(list, least = 1) {
  if (list.length < least || list.length > AT_ONCE_MAX)
    throw problem("invalid_request");
}

function checkNamedOnce({ inputs, outputs }) {
  refuseIf(isAnyTwice(inputs), "duplicate_input");
  refuseIf(isAnyTwice([...inputs, ...outputs]), "duplicate_secret");
}

const isAnyTwice = (raws) => new Set(raws.map(keyOf)).size < raws.length;

function checkBalance({ inputs, outputs }) {
  const isUneven = excess(inputs, outputs).length || excess(outputs, inputs).length;
  refuseIf(isUneven, "unbalanced");
}

/** Return by how many units of each item `some` exceed `others`. */
function excess(some, others) {
  const sums = {};
  const add = (raws, sign) => {
    for (const { itemId, amount } of raws)
      sums[itemId] = (sums[itemId] ?? 0n) + BigInt(sign * amount);
  };
  add(some, 1);
  add(others, -1);
  const parts = Object.entries(sums).filter(([, sum]) => sum > 0);
  return parts.sort().map(([itemId, sum]) => ({ itemId, amount: Number(sum) }));
}

/** Write requests and answers to a file, for test_fake_service.py. */
function write(line) {
  if (process.env.REQUESTS_FILE)
    appendFileSync(process.env.REQUESTS_FILE, `${JSON.stringify(line)}\n`);
}
