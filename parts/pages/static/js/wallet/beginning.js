// How operations begin: in one transaction their inputs are reserved, and their new
// secrets and the whole request are written down, before anything is sent. Pure:
// changes a draft only.

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
  itemIdOf,
  keyOf,
  keysOf,
  unitsOf,
  WalletError,
} from "./records.js";
import { numbersWanted } from "./seeds.js";
import { isUnderWay } from "./states.js";

/**
 * What can be chosen of an item, and what would be enough but for an operation or an
 * offer.
 */
const CHOSEN_FROM = ["held", "leaving", "offered"];

/**
 * A rule returns `inputs` and what is `made` of them, or the operation that is `begun`
 * already.
 * @typedef {(draft: import("./records.js").Draft, plan: any) => any} Rule
 */

/**
 * Return what the rule of a plan looks at: the outputs that it names or `looksAt`, else
 * what can be chosen of its items; and what is made of them.
 * @returns {import("./records.js").Plan}
 */
export function beginningWanted({ key, offerKey, secrets, outputKeys = [], ...plan }) {
  const {
    itemId = itemIdOf(outputKeys[0] ?? ""),
    itemIds = [itemId],
    looksAt = outputKeys.length ? outputKeys : itemIds.flatMap(choosable),
  } = plan;
  return {
    operations: [key, offerKey, { state: "begun" }, plan.offer && { state: "open" }],
    outputs: [...looksAt, ...secrets.keys()],
    items: itemIds,
    seeds: "all",
    next: (slices) => ({
      // What is leaving is of an operation that is begun; what is named may be coming by
      // an open offer.
      operations: outputKeys.map((each) => slices.outputs.get(each)?.operation),
      // What cancels a request makes the output that it waits for.
      outputs: keysOf(slices.operations.get(offerKey)?.outputs ?? []),
      numbers: numbersWanted(slices, itemIds),
    }),
  };
}

const choosable = (itemId) => CHOSEN_FROM.map((state) => ({ itemId, state }));

/**
 * Begin an operation by a rule; return what is begun already, or null when there is
 * nothing to do.
 * @param {import("./records.js").Draft} draft
 * @param {Rule} rule
 */
export function begin(draft, rule, plan) {
  const found = rule(draft, plan);
  if ("begun" in found) return found.begun;
  const operation = "made" in found ? reserve(draft, found, plan) : found;
  const begun = { key: plan.key, state: "begun", begunAt: draft.now };
  return draft.putOperation({ ...operation, ...begun });
}

/** Its outputs get records when the answer names the item. */
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
 * Claim an output of a link; a second call returns what the first one began. At the
 * door what this wallet holds or has handed out itself is claimed too, and a second
 * call is refused. What it `knows` of the ticket, or its code has said, is kept with it.
 */
export function claim(draft, plan) {
  const { output, atDoor, isUnsent, knows = {} } = plan;
  const outputKey = keyOf(output);
  const record = draft.outputs.get(outputKey);
  const state = record?.state;
  // Also where the service has said that it is spent: maybe by that.
  const begun = draft.operations.get(record?.operation);
  if (begun?.state === "begun" || state === "coming") {
    if (atDoor || begun.atDoor) throw busy();
    return { begun };
  }
  if (state === "spent") throw spent(record);
  const isOurs = state === "held" || state === "offered";
  if (isOurs && !(atDoor && isFree(record)))
    throw new WalletError("already_held", gettext("You already have this."));
  if (state === "given" && !atDoor) return takeBack(draft, { outputKeys: [outputKey] });
  // What several links were joined to has its numbers in its note.
  const { said, note } = knows;
  const named = knows.number ? namedAs(knows) : { said, note };
  if (!record) draft.addOutput({ ...output, ...named });
  // The link before it may have named another amount; what this wallet made, it knows.
  if (state === "seen") draft.changeOutput(outputKey, { amount: output.amount });
  const unit = unitOf(plan.unit);
  keepUnit(draft, output.itemId, unit);
  const made = atDoor ? { collectedAt: draft.now } : { said };
  const about = { atDoor: atDoor || undefined, isUnsent, unit };
  return { kind: "claim", ...about, ...joined([draft.outputs.get(outputKey)], made) };
}

/**
 * Make a fresh secret of `amount` units to give away; change comes back. A link that
 * has just this amount passes its number and its note on; of several the note says what
 * they were.
 */
export function send(draft, { itemId, amount, arrayMax }) {
  const { inputs, change } = chooseOutputs(draft, itemId, amount, arrayMax);
  const names = joinTexts(inputs.map(ticketText), ", ");
  const ofMany = { note: cutNote(names) || undefined };
  const link = inputs[0].amount === amount ? namedAs(inputs[0]) : ofMany;
  const made = [{ amount, givenAt: draft.now, ...link }, ...change];
  return { kind: "send", inputs, made, amount };
}

/** Make a series of numbered links from what is held; change comes back. */
export function links(draft, { itemId, links: { count, each }, arrayMax }) {
  const amount = count * each;
  const { inputs, change } = chooseOutputs(draft, itemId, amount, arrayMax);
  const series = { count, each, from: nextNumber(draft.outputs.list({ itemId })) };
  const made = [...linkParts(series, arrayMax - change.length), ...change];
  return { kind: "split", inputs, made, amount, links: series };
}

/**
 * Split one more batch of links off a part that was made for them, unless a tab does
 * already.
 */
export function nextLinks(draft, { itemId, arrayMax }) {
  const input = ["held", "leaving"]
    .flatMap((state) => draft.outputs.list({ itemId, state }))
    .find((output) => output.each && !output.unknown);
  if (input?.state !== "held")
    return { begun: draft.operations.get(input?.operation) ?? null };
  const { amount, each, number: from, of } = input;
  const count = amount / each;
  const made = linkParts({ count, each, from, of }, arrayMax);
  return {
    kind: "split",
    inputs: [input],
    made,
    links: { count, each, from, isNext: true },
  };
}

/**
 * Join what is free of an item, as many as one swap takes; links keep their numbers.
 */
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
 * Make links that were handed out worthless, but those of several that were claimed
 * meanwhile. Each number comes back as its next issue, all else as one part.
 */
export function takeBack(draft, { outputKeys }) {
  const given = outputKeys.filter((key) => draft.outputs.get(key)?.state === "given");
  const keys = given.length ? given : outputKeys;
  const inputs = keys.map((key) => givenOut(draft, key));
  const loose = inputs.filter(({ number }) => !number);
  const links = inputs.filter(({ number }) => number);
  const made = links.map((link) => {
    return { amount: link.amount, ...namedAs(link), issue: (link.issue ?? 1) + 1 };
  });
  if (loose.length) made.push(...joined(loose).made);
  return { kind: "takeBack", inputs, made };
}

export function joined(inputs, more) {
  return { inputs, made: [{ ...more, amount: unitsOf(inputs) }] };
}

/**
 * Reserve the inputs of a swap, or half of one, and write down its outputs; return the
 * request.
 */
function reserve(draft, { inputs, made, terms, ...about }, { secrets }) {
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

/**
 * Keep the word for a unit that a link brings, unless the wallet knows one or made the
 * item.
 */
function keepUnit(draft, itemId, unit) {
  const item = draft.items.get(itemId);
  if (item && !item.isMinted && !item.unit && unit) draft.putItem({ ...item, unit });
}

/** Return the outputs to spend, and the change that they leave. */
export function chooseOutputs(draft, itemId, amount, countMax) {
  const free = freeOf(draft, itemId);
  const inputs = chosenFrom(free, amount);
  if (!inputs) throw notEnough(draft, itemId, amount, free);
  checkRoom(inputs, countMax);
  const change = unitsOf(inputs) - amount;
  return { inputs, change: change ? [{ itemId, amount: change }] : [] };
}

/**
 * Return which of these outputs are spent for an amount: an exact one, else the fewest
 * that reach it; numbered links only if nothing else is enough. They may not be.
 */
export function chosenFrom(
  /** @type {import("./records.js").OutputRecord[]} */ free,
  amount,
) {
  const all = [...free].sort(lowestFirst);
  const plain = all.filter(({ number }) => !number);
  return fewest(plain, amount) ?? fewest(all, amount);
}

/** @throws {WalletError} these are more than the service takes at once. */
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
  // Nothing reaches a sum with fewer than the largest do.
  const largestFirst = [...outputs].sort((one, other) => other.amount - one.amount);
  let sum = 0;
  const last = largestFirst.findIndex((output) => (sum += output.amount) >= amount);
  return last < 0 ? null : largestFirst.slice(0, last + 1);
}

/** Too little is free, but enough would be if another operation had ended: say that. */
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
