// How operations begin, each by a rule: one transaction reserves the inputs and stores
// the new secrets and the whole request, before anything is sent. wallet.js calls
// `begin`; offers.js has the rules of offers. Pure: changes a draft only.

import { gettext, joinTexts } from "../format/gettext.js";
import { ticketText } from "../format/tickets.js";
import { checkSecret, formatRawOutput } from "../format/raw_output.js";
import {
  cutNote,
  isFree,
  linkParts,
  lowestFirst,
  namedAs,
  nextNumber,
  unitOf,
} from "./links.js";
import {
  isCollected,
  isListedAsUsed,
  itemIdOf,
  keyOf,
  keysOf,
  unitsOf,
  WalletError,
} from "./records.js";
import { numbersKeys } from "./seeds.js";
import { isUnderWay } from "./states.js";

/**
 * States of outputs that can be chosen now, or once an operation or an offer has ended.
 */
const CHOSEN_FROM = ["held", "leaving", "offered"];

/**
 * A rule decides how an operation begins. It returns the `inputs` and `outputs` of a
 * swap or of one side of an offer, the outputs without secrets; or an operation that is
 * complete with its `body`; or, as `begun`, the operation that has begun already.
 * @typedef {(draft: import("./records.js").Draft, args: any) => any} Rule
 */

/**
 * Return the records that a rule reads: the outputs that its arguments name by key or
 * `looksAt`, else those of its items that can be chosen; and the outputs that it makes.
 * @returns {import("./records.js").Plan}
 */
export function beginningPlan({ key, offerKey, secrets, outputKeys = [], ...args }) {
  const {
    itemId = itemIdOf(outputKeys[0] ?? ""),
    itemIds = [itemId],
    looksAt = outputKeys.length ? outputKeys : itemIds.flatMap(choosable),
  } = args;
  return {
    operations: [key, offerKey, { state: "begun" }, args.offer && { state: "open" }],
    outputs: [...looksAt, ...secrets.keys()],
    items: itemIds,
    seeds: "all",
    next: (slices) => ({
      // An output that is leaving belongs to an operation that has begun. A named
      // output may be coming from an open offer.
      operations: outputKeys.map((each) => slices.outputs.get(each)?.operation),
      // Cancelling a request makes the output that the request waits for.
      outputs: keysOf(slices.operations.get(offerKey)?.outputs ?? []),
      numbers: numbersKeys(slices, itemIds),
    }),
  };
}

const choosable = (itemId) => CHOSEN_FROM.map((state) => ({ itemId, state }));

/**
 * Begin an operation by a rule. Return it, or the operation that has already begun, or
 * null if there is nothing to do.
 * @param {import("./records.js").Draft} draft
 * @param {Rule} rule
 */
export function begin(draft, rule, args) {
  const result = rule(draft, args);
  if ("begun" in result) return result.begun;
  const operation = "body" in result ? result : reserve(draft, result, args);
  const begun = { key: args.key, state: "begun", begunAt: draft.now };
  return draft.putOperation({ ...operation, ...begun });
}

/** Begin a mint. Its outputs get records when the answer names the item. */
export function mint(_draft, { outputs: asked, fresh, links, metadata, unit, amount }) {
  const outputs = asked.map((part, place) => {
    return { amount: part.amount, secret: checkSecret(part.secret ?? fresh[place]) };
  });
  const own = asked.flatMap(({ secret }, place) => (secret === undefined ? [] : place));
  return {
    kind: "mint",
    body: metadata ? { outputs, metadata } : { outputs },
    inputs: [],
    outputs: [],
    amount,
    unit,
    links: links && { ...links, from: 1 },
    own: own.length ? own : undefined,
  };
}

/**
 * Claim the output of a link. A second call returns what the first one began. With
 * `atDoor`, outputs that this wallet holds or has handed out are claimed too, and a
 * second call is refused. The record keeps what a list `knows` of the ticket, or the
 * number that its code has stated.
 */
export function claim(draft, args) {
  const { output, atDoor, isUnsent, knows = {} } = args;
  const outputKey = keyOf(output);
  const record = draft.outputs.get(outputKey);
  const state = record?.state;
  // Return the operation even if the service says that the output is spent: the
  // operation may have spent it.
  const begun = draft.operations.get(record?.operation);
  if (begun?.state === "begun" || state === "coming") {
    if (atDoor || begun.atDoor) throw busy();
    return { begun };
  }
  if (state === "spent") throw spent(record);
  const isOurs = state === "held" || state === "offered";
  // At a door the service decides whether a list is right.
  const isForDoor = state === "held" && (isFree(record) || isListedAsUsed(record));
  if (isOurs && !(atDoor && isForDoor))
    throw new WalletError("already_held", gettext("You already have this."));
  if (state === "given" && !atDoor) return takeBack(draft, { outputKeys: [outputKey] });
  // Links that were joined have their numbers in the note.
  const { said, note } = knows;
  const named = knows.number ? namedAs(knows) : { said, note };
  if (!record) draft.addOutput({ ...output, ...named });
  // An earlier link may have named another amount. The wallet knows the amounts of its
  // own outputs.
  if (state === "seen") draft.changeOutput(outputKey, { amount: output.amount });
  const unit = unitOf(args.unit);
  keepUnit(draft, output.itemId, unit);
  const facts = atDoor ? { collectedAt: draft.now } : { said };
  const about = { atDoor: atDoor || undefined, isUnsent, unit };
  return { kind: "claim", ...about, ...joined([draft.outputs.get(outputKey)], facts) };
}

/**
 * Make a link of `amount` units to give away, and keep the change. A link of exactly
 * this amount passes on its number and note. Otherwise the note names the links that it
 * was made from.
 */
export function send(draft, { itemId, amount, arrayMax }) {
  const { inputs, change } = chooseOutputs(draft, itemId, amount, arrayMax);
  const names = joinTexts(inputs.map(ticketText), ", ");
  const ofMany = { note: cutNote(names) || undefined };
  const link = inputs[0].amount === amount ? namedAs(inputs[0]) : ofMany;
  const outputs = [{ amount, givenAt: draft.now, ...link }, ...change];
  return { kind: "send", inputs, outputs, amount };
}

/** Make a series of numbered links from held outputs, and keep the change. */
export function links(draft, { itemId, links: { count, each }, arrayMax }) {
  const amount = count * each;
  const { inputs, change } = chooseOutputs(draft, itemId, amount, arrayMax);
  const series = { count, each, from: nextNumber(draft.outputs.list({ itemId })) };
  const outputs = [...linkParts(series, arrayMax - change.length), ...change];
  return { kind: "split", inputs, outputs, amount, links: series };
}

/**
 * Split one more batch of links off the part that was made for them, unless a tab is
 * doing so already.
 */
export function nextLinks(draft, { itemId, arrayMax }) {
  const input = ["held", "leaving"]
    .flatMap((state) => draft.outputs.list({ itemId, state }))
    .find((output) => output.each && !output.unknown);
  if (input?.state !== "held")
    return { begun: draft.operations.get(input?.operation) ?? null };
  const { amount, each, number: from, of } = input;
  const count = amount / each;
  const outputs = linkParts({ count, each, from, of }, arrayMax);
  return {
    kind: "split",
    inputs: [input],
    outputs,
    links: { count, each, from, isNext: true },
  };
}

/** Join the free outputs of an item that have no number, as many as fit in a swap. */
export function merge(draft, { itemId, arrayMax }) {
  const loose = freeOf(draft, itemId).filter(({ number }) => !number);
  // The smallest first, so that every merge leaves as few as it can.
  const inputs = loose
    .sort((one, other) => one.amount - other.amount)
    .slice(0, arrayMax);
  if (inputs.length < 2)
    throw new WalletError("nothing_to_merge", gettext("There is nothing to merge."));
  return { kind: "merge", ...joined(inputs) };
}

/**
 * Take back links that were handed out. Skip those that were claimed meanwhile; throw
 * if all were. Each numbered link becomes the next issue of its number, and all others
 * become one output.
 */
export function takeBack(draft, { outputKeys }) {
  const given = outputKeys.filter((key) => draft.outputs.get(key)?.state === "given");
  const keys = given.length ? given : outputKeys;
  const inputs = keys.map((key) => givenOut(draft, key));
  const loose = inputs.filter(({ number }) => !number);
  const links = inputs.filter(({ number }) => number);
  const outputs = links.map((link) => {
    return { amount: link.amount, ...namedAs(link), issue: (link.issue ?? 1) + 1 };
  });
  if (loose.length) outputs.push(...joined(loose).outputs);
  return { kind: "takeBack", inputs, outputs };
}

/** Return inputs, and the only output that takes all of their units. */
export function joined(inputs, more) {
  return { inputs, outputs: [{ ...more, amount: unitsOf(inputs) }] };
}

/**
 * Take the secrets of the outputs that a rule returned, and record the outputs. Return
 * the operation with its request.
 */
function reserve(draft, { inputs, outputs: made, terms, ...about }, { secrets }) {
  const [{ itemId }] = [...inputs, ...made];
  const parts = made.map((part) => ({ itemId, ...part }));
  const taken = secrets.take(draft, parts);
  const outputs = parts.map((part, place) => ({ ...part, secret: taken[place] }));
  for (const output of outputs) draft.addOutput(output);
  return {
    itemId,
    amount: unitsOf(inputs),
    ...about,
    body: {
      inputs: inputs.map(formatRawOutput),
      outputs: outputs.map(formatRawOutput),
      ...terms,
    },
    inputs: keysOf(inputs),
    outputs: outputs.map((output) => {
      return { key: keyOf(output), state: output.givenAt ? "given" : "held" };
    }),
  };
}

const freeOf = (draft, itemId) =>
  draft.outputs.list({ itemId, state: "held" }).filter(isFree);

function givenOut(draft, key) {
  const output = draft.outputs.get(key);
  if (isUnderWay(output)) throw busy();
  if (output?.state !== "given") {
    const claimed = output?.isUnclear
      ? gettext("Already claimed, or sent from another device.")
      : gettext("Already claimed.");
    const why = output?.spentElsewhere
      ? claimed
      : gettext("This link is not handed out.");
    throw new WalletError("not_given", why);
  }
  if (isCollected(output))
    throw new WalletError("collected", gettext("This came in at the door."));
  return output;
}

const busy = () =>
  new WalletError("busy", gettext("It is on its way, in this tab or another."));

function spent({ spentElsewhere }) {
  const why = spentElsewhere
    ? gettext("This link was already used. Ask the sender.")
    : gettext("Already claimed in this browser.");
  return new WalletError("already_claimed", why);
}

/** Keep a link's word for a unit, unless the wallet has one or minted the item. */
function keepUnit(draft, itemId, unit) {
  const item = draft.items.get(itemId);
  if (item && !item.isMinted && !item.unit && unit) draft.putItem({ ...item, unit });
}

/** Return the outputs to spend, and their change. */
export function chooseOutputs(draft, itemId, amount, countMax) {
  const free = freeOf(draft, itemId);
  const inputs = chosenFrom(free, amount);
  if (!inputs) throw notEnough(draft, itemId, amount, free);
  checkRoom(inputs, countMax);
  const change = unitsOf(inputs) - amount;
  return { inputs, change: change ? [{ itemId, amount: change }] : [] };
}

/**
 * Return which of these outputs to spend for an amount: one of exactly that amount,
 * else the fewest that reach it. Numbered links are spent only if the others are not
 * enough. Return null if all are not enough.
 */
export function chosenFrom(
  /** @type {import("./records.js").OutputRecord[]} */ free,
  amount,
) {
  const all = [...free].sort(lowestFirst);
  const plain = all.filter(({ number }) => !number);
  return fewest(plain, amount) ?? fewest(all, amount);
}

/** @throws {WalletError} these are more than the service takes in a request */
export function checkRoom(parts, countMax) {
  if (parts.length <= countMax) return;
  throw new WalletError(
    "too_many",
    gettext("It is in too many parts. Take fewer at a time."),
  );
}

function fewest(outputs, amount) {
  const exact = outputs.find((output) => output.amount === amount);
  if (exact) return [exact];
  // Taking the largest first needs the fewest outputs.
  const largestFirst = [...outputs].sort((one, other) => other.amount - one.amount);
  let sum = 0;
  const last = largestFirst.findIndex((output) => (sum += output.amount) >= amount);
  return last < 0 ? null : largestFirst.slice(0, last + 1);
}

/**
 * Return the error for too few free units. If enough will be free once other operations
 * have ended, the error says so.
 */
function notEnough(draft, itemId, amount, free) {
  const listed = (state) => draft.outputs.list({ itemId, state });
  const away = listed("leaving").filter((each) =>
    isFree({ ...each, state: each.before }),
  );
  const isEnough = (more) => unitsOf([...free, ...away, ...more]) >= amount;
  if (isEnough([])) return busy();
  if (isEnough(listed("held").filter(({ each }) => each)))
    return new WalletError("busy", gettext("It is being made into links."));
  if (isEnough(listed("offered")))
    return new WalletError("offered", gettext("It is in an open offer."));
  return new WalletError("not_enough", gettext("You don't have that many."));
}
