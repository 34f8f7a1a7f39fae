// Offers: half a swap that somebody else completes. An ask gives nothing, a trade gives
// something; a completion is the other half of somebody else's offer. Used by the pages
// that make or show offers.

import { gettext } from "../format/gettext.js";
import { formatRawOutput, parseRawOutput } from "../format/raw_output.js";
import { checkRoom, chooseOutputs, joined } from "./beginning.js";
import { checkAmount } from "./links.js";
import { sumsOf, WalletError } from "./records.js";

const DAY_MS = 24 * 60 * 60_000;
/** How long an offer is open by default. */
const ASK_S = 24 * 60 * 60;
const TRADE_S = 7 * ASK_S;

/**
 * @typedef {import("./api.js").Part} Part
 * @typedef {import("./wallet.js").Outcome} Outcome
 * @typedef {import("./records.js").OperationRecord} OperationRecord
 */

/**
 * Return the wallet's functions for offers.
 * @param {Pick<import("./wallet.js").Wallet, "carryOut" | "finish" | "operationOf">} wallet
 */
export function offersOf(wallet) {
  return {
    /**
     * Ask anybody for units. On success the operation is `open`, with `offerId` and
     * `expiresAt`.
     * @param {Part & {expiresInS?: number}} wanted
     * @returns {Promise<Outcome>}
     */
    async ask({ itemId, amount, expiresInS: expiresIn = ASK_S }) {
      const want = { itemId, amount: checkAmount(amount) };
      checkExpiry(expiresIn);
      return wallet.carryOut(ask, { itemId, want, expiresIn });
    },

    /**
     * Offer units for others. If no held output has exactly that amount, one is split
     * off first; unless that succeeds, the outcome is that of the split.
     * @param {{give: Part, want: Part, expiresInS?: number}} wanted
     * @returns {Promise<Outcome>}
     * @throws {WalletError} `not_enough`, `busy`, `offered`; `invalid_input` if both
     *   are of one deed
     */
    async trade({ give, want, expiresInS: expiresIn = TRADE_S }) {
      for (const { amount } of [give, want]) checkAmount(amount);
      checkExpiry(expiresIn);
      if (give.itemId === want.itemId)
        throw new WalletError(
          "invalid_input",
          gettext("Choose another deed to trade for."),
        );
      const itemIds = [give.itemId, want.itemId];
      const carryOut = () => wallet.carryOut(trade, { itemIds, give, want, expiresIn });
      const outcome = await carryOut();
      const { kind, state } = outcome.operation;
      return kind === "split" && state === "done" ? carryOut() : outcome;
    },

    /**
     * Give what an offer wants, and get what it gives. A second call finishes what the
     * first began.
     * @param {import("./api.js").Offer} offer
     * @returns {Promise<Outcome>}
     * @throws {WalletError} `not_enough`, `busy`, `offered`, `too_many`; `own_offer`;
     *   `offer_not_open`: it has ended
     */
    async complete(offer) {
      const { gives, wants } = offer;
      const itemIds = [...new Set([...wants, ...gives].map(({ itemId }) => itemId))];
      return wallet.carryOut(complete, { itemIds, offer });
    },

    /**
     * End our own offer: a trade gets back what it gave, and a request's secret is used
     * up. If somebody completed it first, the outcome is refused and the offer is done.
     * @param {string} key of the offer's operation
     * @returns {Promise<Outcome>} the outcome of the operation that cancels it
     * @throws {WalletError} `offer_not_open`: it has ended; `cannot_cancel`: nothing of
     *   what the request asks for is here
     */
    async cancel(key) {
      const making = await wallet.operationOf(key);
      if (making.state !== "open") throw notOpen();
      const { itemId, inputs } = making;
      const outcome = await (inputs.length
        ? wallet.carryOut(cancel, { outputKeys: inputs })
        : wallet.carryOut(cancelAsk, { itemId, offerKey: key, isOnce: true }));
      if (outcome.operation.state !== "begun") await wallet.finish(key);
      return outcome;
    },
  };
}

/**
 * Check how long an offer is to be open (contract 4.7).
 * @throws {WalletError} it is not 60 seconds to 30 days
 */
function checkExpiry(expiresIn) {
  if (expiresIn >= 60 && expiresIn <= 30 * ASK_S) return;
  throw new WalletError(
    "invalid_input",
    gettext("An offer is open for 60 seconds to 30 days."),
  );
}

function ask(_draft, { want, expiresIn }) {
  const { amount } = want;
  return { kind: "ask", inputs: [], outputs: [want], amount, terms: { expiresIn } };
}

function trade(draft, { give, want, expiresIn, arrayMax }) {
  const { inputs, change } = chooseOutputs(draft, give.itemId, give.amount, arrayMax);
  // Units that are not offered stay free.
  if (change.length)
    return { kind: "split", inputs, outputs: [{ amount: give.amount }, ...change] };
  return { kind: "trade", inputs, outputs: [want], terms: { expiresIn } };
}

function complete(draft, { offer: { offerId, state, gives, wants }, arrayMax }) {
  const begun = draft.operations
    .list({ state: "begun" })
    .find((each) => each.kind === "complete" && each.offerId === offerId);
  if (begun) return { begun };
  const isOwn = (each) => each.offerId === offerId;
  if (draft.operations.list({ state: "open" }).some(isOwn))
    throw new WalletError("own_offer", gettext("This is your own offer."));
  if (state !== "open") throw notOpen();
  const chosen = wants.map(({ itemId, amount }) =>
    chooseOutputs(draft, itemId, amount, arrayMax),
  );
  const inputs = chosen.flatMap((each) => each.inputs);
  const outputs = [...gives, ...chosen.flatMap((each) => each.change)];
  for (const half of [inputs, outputs]) checkRoom(half, arrayMax);
  const [{ itemId, amount }] = wants;
  return { kind: "complete", inputs, outputs, offerId, itemId, amount };
}

function cancel(draft, { outputKeys }) {
  const inputs = outputKeys.map((key) => draft.outputs.get(key));
  const busy = inputs.find(({ state }) => state === "leaving");
  if (busy) return { begun: draft.operations.get(busy.operation) };
  if (inputs.some(({ state }) => state !== "offered")) throw notOpen();
  return { kind: "withdraw", ...joined(inputs) };
}

/**
 * Swap a held output to the secret that a request waits for: the service carries out
 * either this or a payment, never both.
 */
function cancelAsk(draft, { offerKey, arrayMax }) {
  const asking = draft.operations.get(offerKey);
  const { itemId, amount, outputs, body } = asking;
  const [{ key: awaited }] = outputs;
  // It may be cancelled already, and not checked since.
  const isAwaited = draft.outputs.get(awaited).state === "coming";
  if (asking.state !== "open" || !isAwaited) throw notOpen();
  const begun = draft.operations
    .list({ state: "begun" })
    .find((each) => each.outputs.some(({ key }) => key === awaited));
  if (begun) return { begun };
  const part = anyPart(draft, itemId, arrayMax);
  const made = { ...parseRawOutput(body.outputs[0]), amount: part.amount };
  return {
    kind: "withdraw",
    itemId,
    amount,
    body: { inputs: [formatRawOutput(part)], outputs: [formatRawOutput(made)] },
    inputs: [part.key],
    outputs,
  };
}

function anyPart(draft, itemId, arrayMax) {
  try {
    return chooseOutputs(draft, itemId, 1, arrayMax).inputs[0];
  } catch (error) {
    if (!(error instanceof WalletError) || error.code !== "not_enough") throw error;
    const why = gettext(
      "To cancel this request, you need at least one unit of what it asks for.",
    );
    throw new WalletError("cannot_cancel", why);
  }
}

const notOpen = () =>
  new WalletError("offer_not_open", gettext("This offer is no longer open."));

/**
 * Return what an ask, trade or completion gives and gets, each in order of its first
 * output.
 * @param {OperationRecord} operation
 * @returns {{gives: Part[], gets: Part[]}}
 */
export function partsOf({ body }) {
  const negative = (part) => ({ ...part, amount: -part.amount });
  const given = body.inputs.map(parseRawOutput).map(negative);
  const parts = sumsOf([...given, ...body.outputs.map(parseRawOutput)]);
  const isSome = ({ amount }) => amount > 0;
  return { gives: parts.map(negative).filter(isSome), gets: parts.filter(isSome) };
}

/**
 * Return our own offers among these operations that are open, or ended within a day,
 * the newest first.
 * @typedef {{
 *   key: string, kind: "ask" | "trade", state: "open" | "done" | "refused", code?: string,
 *   offerId: string, give: Part | null, want: Part, expiresAt: number, begunAt: number,
 *   endedAt?: number,
 * }} OfferMade the `code` of a refused one is `offer_expired`, `offer_void` or
 *   `offer_withdrawn`
 * @param {OperationRecord[]} operations
 * @returns {OfferMade[]}
 */
export function openOffersOf(operations, now = Date.now()) {
  const isShown = ({ kind, state, offerId = "", endedAt = 0 }) =>
    kind !== "complete" && offerId && (state === "open" || endedAt > now - DAY_MS);
  return operations
    .filter(isShown)
    .map(offerMade)
    .sort((one, other) => other.begunAt - one.begunAt);
}

/** @param {any} operation @returns {OfferMade} */
function offerMade(operation) {
  const { gives, gets } = partsOf(operation);
  return { ...operation, give: gives[0] ?? null, want: gets[0] };
}
