// A service in memory that keeps the contract of mint, swap, check and offers with
// their Idempotency-Keys, and that can lose a request or an answer, deliver late, and
// refuse without a reason.

import {
  NoAnswerError,
  ProblemError,
} from "../../../../parts/pages/static/js/wallet/api.js";
import {
  formatRawOutput,
  parseRawOutput,
} from "../../../../parts/pages/static/js/format/raw_output.js";
import { keyOf, unitsOf } from "../../../../parts/pages/static/js/wallet/records.js";
import { now as clock } from "./clock.js";

/**
 * Return a service. @param {{now?: () => number, ids?: {items?: string[], offers?: string[]}}}
 *   [options] its time, in milliseconds, and the ids that it gives
 */
export function fakeService({ now = clock, ids = {} } = {}) {
  const items = new Map(); // id -> {total, metadata}
  const outputs = new Map(); // item id + secret -> {amount, spent}
  const done = new Map(); // Idempotency-Key -> {request, answer}
  const offers = new Map(); // id -> {inputs, outputs, expiresAt, isCompleted}
  const late = []; // requests under way that nobody waits for any more

  function mint(body) {
    const secrets = body.outputs.map((output) => output.secret);
    if (new Set(secrets).size !== secrets.length) throw problem("duplicate_secret");
    const itemId = ids.items?.shift() ?? `deed_${items.size + 1}`;
    const metadata = body.metadata ? JSON.stringify(body.metadata) : null;
    items.set(itemId, { total: unitsOf(body.outputs), metadata });
    const made = body.outputs.map((output) => ({ ...output, itemId }));
    record(made);
    return { itemId, outputs: made, rawOutputs: [] };
  }

  function swap(body) {
    const inputs = body.inputs.map(find);
    checkInputs(inputs);
    const made = body.outputs.map(parseRawOutput);
    checkFresh(made);
    if (sums(inputs.map(({ raw }) => raw)) !== sums(made)) throw problem("unbalanced");
    inputs.forEach(({ found }) => Object.assign(found, { spent: true }));
    record(made);
    return { success: true };
  }

  function record(made) {
    for (const { amount, ...place } of made)
      outputs.set(keyOf(place), { amount, spent: false });
  }

  function makeOffer({ inputs, outputs: made, expiresIn }) {
    const got = made.map(parseRawOutput);
    if (!partsOf({ inputs, outputs: made }, 1).length) throw problem("not_an_offer");
    if (!got.every(({ itemId }) => items.has(itemId))) throw problem("unknown_item");
    const isTooMuch = ([itemId, sum]) => sum > items.get(itemId).total;
    if (sumsOf(got).some(isTooMuch)) throw problem("total_too_large");
    checkInputs(inputs.map(find));
    checkFresh(got);
    const fresh = `offer_${String(offers.size).padStart(26, "0")}`;
    const offerId = ids.offers?.shift() ?? fresh;
    const expiresAt = 1000 * Math.ceil(now() / 1000 + expiresIn);
    offers.set(offerId, { inputs, outputs: made, expiresAt });
    return { offerId };
  }

  function readOffer({ offerId }) {
    const offer = offers.get(offerId);
    if (!offer) throw problem("unknown_offer", 404);
    const { expiresAt } = offer;
    const [gives, wants] = [partsOf(offer, -1), partsOf(offer, 1)];
    return { offerId, state: stateOf(offer), gives, wants, expiresAt };
  }

  function stateOf(offer) {
    if (offer.isCompleted) return "completed";
    if (now() >= offer.expiresAt) return "expired";
    const isSpent = (text) => find(text).found.spent;
    return offer.inputs.some(isSpent) || !areFresh(offer.outputs.map(parseRawOutput))
      ? "void"
      : "open";
  }

  function complete({ offerId, body }) {
    if (readOffer({ offerId }).state !== "open") throw problem("offer_not_open");
    const offer = offers.get(offerId);
    const joined = (name) => [...body[name], ...offer[name]];
    const answer = swap({ inputs: joined("inputs"), outputs: joined("outputs") });
    offer.isCompleted = true;
    return answer;
  }

  function find(text) {
    const raw = parseRawOutput(text);
    const known = outputs.get(keyOf(raw));
    return { raw, found: known?.amount === raw.amount ? known : undefined };
  }

  function checkInputs(inputs) {
    inputs.forEach(({ found }) => {
      if (!found) throw problem("unknown_input");
      if (found.spent) throw problem("spent_input");
    });
  }

  const areFresh = (made) => !made.some((raw) => outputs.has(keyOf(raw)));

  function checkFresh(made) {
    const keys = made.map(keyOf);
    if (new Set(keys).size !== keys.length) throw problem("duplicate_secret");
    if (!areFresh(made)) throw problem("used_secret");
  }

  function operate(apply, body, key) {
    const request = JSON.stringify([apply.name, body]);
    const before = done.get(key);
    if (before && before.request !== request) throw problem("idempotency_key_reused");
    if (before) return before.answer;
    const answer = apply(body);
    done.set(key, { request, answer });
    return answer;
  }

  /** Return what is recorded under each secret of an item. */
  function findSecrets(itemId, secrets) {
    return secrets.map((secret) => {
      const found = outputs.get(keyOf({ itemId, secret }));
      return found ? { amount: found.amount, state: spentOrNot(found) } : null;
    });
  }

  /** Return whether an offer has ever named each secret of an item as an output. */
  function findOffered(itemId, secrets) {
    const named = [...offers.values()].flatMap((offer) => offer.outputs);
    const keys = new Set(named.map((text) => keyOf(parseRawOutput(text))));
    return secrets.map((secret) => keys.has(keyOf({ itemId, secret })));
  }

  function item(id) {
    if (!items.has(id)) throw problem("item_not_found", 404);
    return { id, ...items.get(id) };
  }

  const verbs = {
    item,
    find: findSecrets,
    findOffered,
    mint: (body, key) => operate(mint, body, key),
    swap: (body, key) => operate(swap, body, key),
    makeOffer: (body, key) => readOffer(operate(makeOffer, body, key)),
    offer: (offerId) => readOffer({ offerId }),
    complete: (offerId, body, key) => operate(complete, { offerId, body }, key),
    check: (texts) =>
      texts.map((text) => {
        const { found } = find(text);
        return found ? spentOrNot(found) : "unknown";
      }),
  };

  return {
    items,
    outputs,
    offers,
    done,

    /**
     * Return an api on this service.
     * @param {() => string} [fate] of each request: "answered", "lost", "answer lost", "late",
     *   "refused" or "busy"
     */
    api(fate = () => "answered") {
      const ask =
        (name) =>
        async (...given) => {
          const call = () => verbs[name](...structuredClone(given));
          switch (fate(name)) {
            case "lost":
              throw new NoAnswerError();
            case "answer lost":
              callQuietly(call);
              throw new NoAnswerError();
            case "late":
              late.push(call);
              throw new NoAnswerError();
            case "refused":
              // Nothing but its key tells of a payment that makes nothing: a service
              // never forgets it.
              if (name === "complete" && done.has(given[2])) return call();
              throw problem(
                /swap|makeOffer|complete/.test(name) ? "unknown_input" : "overloaded",
              );
            case "busy":
              throw problem("overloaded", 503);
            default:
              return structuredClone(call());
          }
        };
      return Object.fromEntries(Object.keys(verbs).map((name) => [name, ask(name)]));
    },

    /**
     * Carry out requests that were under way, in the order that `choose` picks them.
     */
    deliverLate(choose = () => 0, count = Infinity) {
      for (let left = count; left > 0 && late.length; left -= 1) {
        const [call] = late.splice(choose(late.length), 1);
        callQuietly(call);
      }
    },

    /** Take an output away, as somebody does who knows its secret. */
    take(raw, secret = "somebody's") {
      verbs.swap(
        {
          inputs: [formatRawOutput(raw)],
          outputs: [formatRawOutput({ ...raw, secret })],
        },
        `somebody-${secret}`,
      );
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

function problem(code, status = 400) {
  const isFinal = code !== "overloaded";
  return new ProblemError({ code, isFinal }, status, status === 503 ? 1 : null);
}

function sumsOf(parts) {
  const byItem = {};
  for (const { itemId, amount } of parts)
    byItem[itemId] = (byItem[itemId] ?? 0) + amount;
  return Object.entries(byItem).sort();
}

/** Return what an offer's maker gives, where the sign is -1, or wants. */
function partsOf({ inputs, outputs }, sign) {
  const put = inputs
    .map(parseRawOutput)
    .map((raw) => ({ ...raw, amount: -raw.amount }));
  return sumsOf([...put, ...outputs.map(parseRawOutput)])
    .filter(([, sum]) => sign * sum > 0)
    .map(([itemId, sum]) => ({ itemId, amount: sign * sum }));
}

function sums(raws) {
  return JSON.stringify(sumsOf(raws));
}
