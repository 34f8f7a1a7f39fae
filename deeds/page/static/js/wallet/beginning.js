// How operations begin: in one transaction their inputs are reserved, and their new secrets and the
// whole request are written down, before anything is sent. Pure: changes a draft only.

import { isFree, linkParts, nextNumber, unitOf } from "./links.js";
import { itemIdOf, keyOf, rawsOf, WalletError } from "./records.js";

/** As many inputs or outputs as a service takes at once unless it says otherwise. */
export const INPUTS_COUNT_MAX = 256;

const UNDER_WAY = new Set(["coming", "leaving"]);

/** What the rules below look at, besides the operation of their key. */
export const WANTED = {
  beginMint: () => ({}),
  beginClaim: ({ output, secret }) => {
    const key = keyOf(output);
    return {
      outputs: [key, keyOf({ ...output, secret })],
      items: [output.itemId],
      next: ({ outputs }) => ({ operations: [outputs.get(key)?.operation] }),
    };
  },
  beginSend: (plan) => ({ outputs: [...resting(plan), ...fresh(plan)] }),
  beginSplit: (plan) => ({ outputs: [plan.outputKey, ...fresh(plan)] }),
  beginLinks: ({ itemId }) => ({ outputs: { itemId } }),
  beginNextLinks: (plan) => ({
    outputs: [...resting(plan), ...fresh(plan)],
    next: ({ outputs }) => ({
      operations: outputs.list(resting(plan)[1]).map(({ operation }) => operation),
    }),
  }),
  beginMerge: (plan) => ({ outputs: [...resting(plan), ...fresh(plan)] }),
  beginTakeBack: (plan) => ({ outputs: [plan.outputKey, ...fresh(plan)] }),
};

/** What is held of an item, and what is on its way. */
function resting({ itemId }) {
  return [
    { itemId, state: "held" },
    { itemId, state: "leaving" },
  ];
}

/** The keys of what is made. */
function fresh({ outputKey = "", itemId = itemIdOf(outputKey), secrets }) {
  return secrets.map((secret) => keyOf({ itemId, secret }));
}

/**
 * Begin a mint. Its outputs get records when the answer names the item.
 * @param {import("./records.js").Draft} draft
 */
export function beginMint(draft, { key, outputs, links, metadata, unit, amount, now }) {
  const body = metadata ? { outputs, metadata } : { outputs };
  const operation = { key, kind: "mint", path: "/v1/mint", body, inputs: [], outputs: [] };
  const about = known({ unit, links: links && { ...links, from: 1 } });
  return put(draft, { ...operation, ...about, state: "begun", amount, begunAt: now });
}

/**
 * Begin to claim an output of a link; a second call returns what the first one began. At the door
 * what this wallet holds or has handed out itself is claimed too, and a second call is refused.
 */
export function beginClaim(draft, { key, output, secret, unit, atDoor, now }) {
  const record = draft.output(keyOf(output));
  const operation = draft.operation(record?.operation);
  if (UNDER_WAY.has(record?.state)) {
    if (atDoor) throw busy(operation.begunAt);
    return operation;
  }
  if (record?.state === "spent") throw spent(record);
  if (record?.state === "held" && !(atDoor && isFree(record))) {
    throw new WalletError("already_held", "You hold these units already.");
  }
  if (record?.state === "given" && !atDoor) {
    return beginTakeBack(draft, { key, outputKey: record.key, secrets: [secret], now });
  }
  if (!record) draft.addOutput(newOutput(output, "offered", now));
  // The link before it may have named another amount; of what this wallet made it knows better.
  if (record?.state === "offered") draft.changeOutput(record.key, { amount: output.amount });
  keepUnit(draft, output.itemId, unit);
  const inputs = [draft.output(keyOf(output))];
  const about = known({ atDoor: atDoor || undefined, unit: unitOf(unit) });
  const made = atDoor ? { collectedAt: now } : {};
  return beginTaking(draft, { kind: "claim", key, inputs, secrets: [secret], about, made, now });
}

/** Begin to make a fresh secret of `amount` units to give away; change comes back. */
export function beginSend(draft, { key, itemId, amount, secrets, arrayMax, now }) {
  const inputs = chooseOutputs(draft, itemId, amount, arrayMax);
  const change = unitsOf(inputs) - amount;
  const [link, ...rest] = heldUnder(secrets, [{ amount }, ...(change ? [{ amount: change }] : [])]);
  const made = [{ ...link, state: "given", givenAt: now }, ...rest];
  return beginSwap(draft, { kind: "send", key, inputs, made, amount, now });
}

/** Begin to split an output into these amounts, and the rest of it if there is one. */
export function beginSplit(draft, { key, outputKey, amounts, secrets, arrayMax, now }) {
  const input = mine(draft, outputKey, "held");
  const rest = amounts.reduce((left, amount) => left - amount, input.amount);
  if (rest < 0) throw new WalletError("not_enough", "The parts are more than there is.");
  const all = rest ? [...amounts, rest] : amounts;
  if (all.length > arrayMax) {
    throw new WalletError("too_many", `At most ${arrayMax} parts at once.`);
  }
  const made = heldUnder(secrets, all.map((amount) => ({ amount })));
  return beginSwap(draft, { kind: "split", key, inputs: [input], made, amount: input.amount, now });
}

/** Begin to make a series of numbered links from what is held; change comes back. */
export function beginLinks(draft, { key, itemId, links, secrets, arrayMax, now }) {
  const amount = links.count * links.each;
  const inputs = chooseOutputs(draft, itemId, amount, arrayMax);
  const change = unitsOf(inputs) - amount;
  const series = { ...links, from: nextNumber(draft.outputs({ itemId })) };
  const parts = linkParts(series, change ? arrayMax - 1 : arrayMax);
  const made = heldUnder(secrets, change ? [...parts, { amount: change }] : parts);
  const about = { links: series };
  return beginSwap(draft, { kind: "split", key, inputs, made, amount, about, now });
}

/**
 * Begin to split one more batch of links off a part that was made for them; return what is begun
 * already, by another tab perhaps, or null when all are made.
 */
export function beginNextLinks(draft, { key, itemId, secrets, arrayMax, now }) {
  const isNext = ({ each, unknown }) => Boolean(each) && !unknown;
  const input = draft.outputs({ itemId, state: "held" }).find(isNext);
  if (!input) {
    const leaving = draft.outputs({ itemId, state: "leaving" }).find(isNext);
    return leaving ? draft.operation(leaving.operation) : null;
  }
  const { amount, each, number, of } = input;
  const count = amount / each;
  const made = heldUnder(secrets, linkParts({ count, each, from: number, of }, arrayMax));
  const about = { links: { count, each, from: number, isNext: true } };
  return beginSwap(draft, { kind: "split", key, inputs: [input], made, amount, about, now });
}

/** Begin to join what is free of an item, as many as one swap takes; links keep their numbers. */
export function beginMerge(draft, { key, itemId, secrets, arrayMax, now }) {
  const loose = freeOf(draft, itemId).filter(({ number }) => !number);
  // The smallest first, so that every merge leaves as few as it can.
  const inputs = loose.sort((one, other) => one.amount - other.amount).slice(0, arrayMax);
  if (inputs.length < 2) throw new WalletError("nothing_to_merge", "There is nothing to merge.");
  return beginTaking(draft, { kind: "merge", key, inputs, secrets, now });
}

/** Begin to make a link that was handed out worthless. */
export function beginTakeBack(draft, { key, outputKey, secrets, now }) {
  const inputs = [mine(draft, outputKey, "given")];
  return beginTaking(draft, { kind: "takeBack", key, inputs, secrets, now });
}

/** Begin to swap all of the inputs for one new output that is held. */
function beginTaking(draft, { kind, key, inputs, secrets, about = {}, made = {}, now }) {
  const amount = unitsOf(inputs);
  const whole = heldUnder(secrets, [{ ...made, amount }]);
  return beginSwap(draft, { kind, key, inputs, made: whole, amount, about, now });
}

function beginSwap(draft, { kind, key, inputs, made, amount, about = {}, now }) {
  const [{ itemId }] = inputs;
  const outputs = made.map(({ state, ...output }) => ({
    ...newOutput({ ...output, itemId }, "coming", now),
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
    ...about,
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
}

function unitsOf(records) {
  return records.reduce((sum, { amount }) => sum + amount, 0);
}

function freeOf(draft, itemId) {
  return draft.outputs({ itemId, state: "held" }).filter(isFree);
}

function heldUnder(secrets, parts) {
  return parts.map((part, place) => ({ ...part, secret: secrets[place], state: "held" }));
}

function mine(draft, key, state) {
  const output = draft.output(key);
  if (UNDER_WAY.has(output?.state)) throw busy();
  if (state === "given" && output?.state !== "given")
    throw new WalletError("not_given", "These units are not handed out.");
  if (output?.state !== state) throw new WalletError("not_held", "You do not hold these units.");
  if (output.collectedAt) throw new WalletError("collected", "These units came in at the door.");
  if (output.each) throw inTheMaking();
  return output;
}

function busy(at = null) {
  return new WalletError("busy", "These units are on their way, in this or another tab.", at);
}

function inTheMaking() {
  return new WalletError("busy", "These units are being made into links.");
}

function spent({ spentElsewhere, changedAt }) {
  return spentElsewhere
    ? new WalletError("spent_elsewhere", "Already claimed. If it wasn't you, ask the sender.")
    : new WalletError("already_spent", "Already claimed in this browser.", changedAt);
}

/** Keep the word for a unit that a link brings, unless the wallet knows one or made the item. */
function keepUnit(draft, itemId, unit) {
  const item = draft.slices.items.get(itemId);
  if (item && !item.isMinted && !item.unit && unitOf(unit)) {
    draft.putItem({ ...item, unit: unitOf(unit) });
  }
}

/** @param {any} output */
function newOutput({ itemId, amount, secret, ...more }, state, now) {
  const key = keyOf({ itemId, secret });
  return { ...more, key, itemId, amount, secret, state, createdAt: now, changedAt: now };
}

function known(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function put(draft, operation) {
  if (draft.operation(operation.key)) throw new Error("an Idempotency-Key that was used before");
  return draft.putOperation(operation);
}

/**
 * Return the outputs to spend: an exact one, else the fewest that reach the amount; numbered links
 * only if nothing else is enough.
 * @throws {WalletError}
 */
function chooseOutputs(draft, itemId, amount, countMax) {
  // The last link of a series is the last that is handed out.
  const lastFirst = (one, other) => (other.number ?? 0) - (one.number ?? 0);
  const free = freeOf(draft, itemId).sort(lastFirst);
  const plain = free.filter(({ number }) => !number);
  const chosen = fewest(plain, amount) ?? fewest(free, amount);
  if (!chosen) throw notEnough(draft, itemId, amount, free);
  if (chosen.length > countMax) {
    throw new WalletError("too_many", "These units are in too many parts. Merge them first.");
  }
  return chosen;
}

function fewest(outputs, amount) {
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
  return missing > 0 ? null : chosen;
}

/** Too little is free, but enough would be if another operation had ended: say that. */
function notEnough(draft, itemId, amount, free) {
  const away = draft
    .outputs({ itemId, state: "leaving" })
    .filter((each) => each.before === "held" && isFree({ ...each, state: "held" }));
  if (unitsOf([...free, ...away]) >= amount) return busy();
  const later = draft.outputs({ itemId, state: "held" }).filter(({ each }) => each);
  if (unitsOf([...free, ...away, ...later]) >= amount) return inTheMaking();
  return new WalletError("not_enough", "You do not hold that many units.");
}
