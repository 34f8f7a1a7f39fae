// How operations begin: in one transaction their inputs are reserved, and their new secrets and the
// whole request are written down, before anything is sent. Pure: changes a draft only.

import { keyOf, rawsOf, WalletError } from "./records.js";

export const INPUTS_COUNT_MAX = 256;

const UNDER_WAY = new Set(["coming", "leaving"]);

/**
 * Begin a mint. Its outputs get records when the answer names the item.
 * @param {import("./records.js").Draft} draft
 */
export function beginMint(draft, { key, outputs, metadata, amount, now }) {
  const body = metadata ? { outputs, metadata } : { outputs };
  const operation = { key, kind: "mint", path: "/v1/mint", body, inputs: [], outputs: [] };
  return put(draft, { ...operation, state: "begun", amount, begunAt: now });
}

/**
 * Begin to take custody of an output of a link; a second call returns what the first one began.
 */
export function beginClaim(draft, { key, output, secret, now }) {
  const known = draft.output(keyOf(output));
  if (UNDER_WAY.has(known?.state)) return draft.operation(known.operation);
  if (known?.state === "held")
    throw new WalletError("already_held", "You hold these units already.");
  if (known?.state === "spent") {
    throw new WalletError(
      "already_spent",
      "These units were taken already. The link is worth nothing now.",
    );
  }
  if (known?.state === "given")
    return beginTakeBack(draft, { key, outputKey: known.key, secret, now });
  if (!known) draft.addOutput(newOutput(output, "offered", now));
  // The link before it may have named another amount; of what this wallet made it knows better.
  if (known?.state === "offered") draft.changeOutput(known.key, { amount: output.amount });
  const inputs = [draft.output(keyOf(output))];
  return beginTaking(draft, { kind: "claim", key, inputs, secret, now });
}

/** Begin to make a fresh secret of `amount` units to give away; change comes back. */
export function beginSend(draft, { key, itemId, amount, secret, changeSecret, now }) {
  const held = heldOf(draft, itemId);
  checkNoneIsAway(draft, held, itemId, amount);
  const inputs = chooseOutputs(held, amount);
  const change = unitsOf(inputs) - amount;
  const made = [{ amount, secret, state: "given" }];
  if (change) made.push({ amount: change, secret: changeSecret, state: "held" });
  return beginSwap(draft, { kind: "send", key, inputs, made, amount, now });
}

/** Begin to part an output into these amounts, and the rest of it if there is one. */
export function beginSplit(draft, { key, outputKey, amounts, secrets, now }) {
  const input = mine(draft, outputKey, "held");
  const rest = amounts.reduce((left, amount) => left - amount, input.amount);
  if (rest < 0) throw new WalletError("not_enough", "The parts are more than there is.");
  const all = rest ? [...amounts, rest] : amounts;
  const made = all.map((amount, place) => ({ amount, secret: secrets[place], state: "held" }));
  return beginSwap(draft, { kind: "split", key, inputs: [input], made, amount: input.amount, now });
}

/** Begin to join outputs of an item, all that are held unless named, as many as one swap takes. */
export function beginMerge(draft, { key, itemId, outputKeys, secret, now }) {
  const wanted = outputKeys?.map((each) => mine(draft, each, "held"));
  // The smallest first, so that every merge leaves as few as it can.
  const smallestFirst = (wanted ?? heldOf(draft, itemId)).sort(
    (one, other) => one.amount - other.amount,
  );
  const inputs = smallestFirst.slice(0, INPUTS_COUNT_MAX);
  if (inputs.length < 2) throw new WalletError("nothing_to_merge", "There is nothing to merge.");
  return beginTaking(draft, { kind: "merge", key, inputs, secret, now });
}

/** Begin to make a link that was handed out worthless. */
export function beginTakeBack(draft, { key, outputKey, secret, now }) {
  const inputs = [mine(draft, outputKey, "given")];
  return beginTaking(draft, { kind: "takeBack", key, inputs, secret, now });
}

/** Begin to swap all of the inputs for one new output that is held. */
function beginTaking(draft, { kind, key, inputs, secret, now }) {
  const amount = unitsOf(inputs);
  const made = [{ amount, secret, state: "held" }];
  return beginSwap(draft, { kind, key, inputs, made, amount, now });
}

function beginSwap(draft, { kind, key, inputs, made, amount, now }) {
  const [{ itemId }] = inputs;
  const outputs = made.map((output) => ({
    ...newOutput({ itemId, amount: output.amount, secret: output.secret }, "coming", now),
    operation: key,
  }));
  checkSwap(inputs, outputs, itemId);
  for (const input of inputs) {
    draft.changeOutput(input.key, {
      state: "leaving",
      before: input.state,
      operation: key,
      changedAt: now,
    });
  }
  for (const output of outputs) draft.addOutput(output);
  return put(draft, {
    key,
    kind,
    path: "/v1/swap",
    body: { inputs: rawsOf(inputs), outputs: rawsOf(outputs) },
    inputs: inputs.map((input) => input.key),
    outputs: outputs.map((output, place) => ({ key: output.key, state: made[place].state })),
    state: "begun",
    itemId,
    amount,
    begunAt: now,
  });
}

/** The last look before anything is written: a swap that does not balance must not exist. */
function checkSwap(inputs, outputs, itemId) {
  const isWhole = [...inputs, ...outputs].every(
    (each) => each.itemId === itemId && each.amount >= 1,
  );
  if (!isWhole || unitsOf(inputs) !== unitsOf(outputs))
    throw new Error("a swap that does not balance");
  if (outputs.length > INPUTS_COUNT_MAX) {
    throw new WalletError("too_many", `At most ${INPUTS_COUNT_MAX} parts at once.`);
  }
}

/** Too little is here, but enough would be if another operation had ended: say that. */
function checkNoneIsAway(draft, held, itemId, amount) {
  const away = draft
    .outputs()
    .filter((each) => each.itemId === itemId && each.state === "leaving" && each.before === "held");
  if (unitsOf(held) < amount && unitsOf([...held, ...away]) >= amount) throw busy();
}

function unitsOf(records) {
  return records.reduce((sum, { amount }) => sum + amount, 0);
}

function heldOf(draft, itemId) {
  // What the service does not know would only spoil the swap.
  return draft
    .outputs()
    .filter((each) => each.itemId === itemId && each.state === "held" && !each.unknown);
}

function mine(draft, key, state) {
  const output = draft.output(key);
  if (UNDER_WAY.has(output?.state)) throw busy();
  if (output?.state === state) return output;
  if (state === "given") throw new WalletError("not_given", "These units are not handed out.");
  throw new WalletError("not_held", "You do not hold these units.");
}

function busy() {
  return new WalletError("busy", "These units are on their way, in this or another tab.");
}

function newOutput({ itemId, amount, secret }, state, now) {
  const key = keyOf({ itemId, secret });
  return { key, itemId, amount, secret, state, createdAt: now, changedAt: now };
}

function put(draft, operation) {
  if (draft.operation(operation.key)) throw new Error("an Idempotency-Key that was used before");
  draft.putOperation(operation);
  return operation;
}

/**
 * Return the outputs to spend: an exact one, else the fewest that reach the amount.
 * @param {import("./records.js").OutputRecord[]} outputs all of one item
 * @param {number} amount
 * @throws {WalletError}
 */
function chooseOutputs(outputs, amount) {
  const exact = outputs.find((output) => output.amount === amount);
  if (exact) return [exact];
  // Nothing reaches a sum with fewer than the largest do.
  const largestFirst = [...outputs].sort((one, other) => other.amount - one.amount);
  const chosen = [];
  let missing = amount;
  for (const output of largestFirst) {
    if (missing <= 0) break;
    chosen.push(output);
    missing -= output.amount;
  }
  if (missing > 0) throw new WalletError("not_enough", "You do not hold that many units.");
  if (chosen.length > INPUTS_COUNT_MAX) {
    throw new WalletError("too_many", "These units are in too many parts. Merge them first.");
  }
  return chosen;
}
