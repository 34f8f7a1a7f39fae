// Merges the records of another wallet, or of an older copy of this one, into a draft.
// Keeps every secret. Spent outputs stay spent. Links that were handed out, or may have
// been since the file was written, stay handed out. Operations that have surely ended
// are not begun again. Pure.

import { gettext } from "../format/gettext.js";
import { joinLists } from "./door_list.js";
import { LINK_NUMBER_MAX } from "./links.js";
import { keyOf, keysOf, WalletError } from "./records.js";
import {
  BRANCHES,
  isUsed,
  ownSeed,
  raiseNumbers,
  SEEDS_MAX,
  seedsOf,
} from "./seeds.js";
import {
  fromFile,
  isLive,
  isMade,
  isUnderWay,
  restInFile,
  withEnds,
} from "./states.js";

// In ascending order: the later state counts. A mint may always be sent again under its
// key. A refused swap may not: the wallet that recorded the refusal may have used the
// units since. An offer that is open in one wallet was made, even if another wallet has
// it as refused. An offer that has ended stays so.
const MINT_STATES = ["refused", "begun", "done"];
const SWAP_STATES = ["begun", "refused", "open", "ended", "done"];
/** The later or larger value of these fields counts. */
const LATEST = ["admittedAt", "undoneAt", "takenBackAt", "scans", "changedAt"];

/**
 * Merge the records of a file into a draft.
 * @typedef {import("./records.js").OutputRecord[]} Outputs
 * @param {import("./records.js").Draft} draft
 * @param {import("./records.js").Records} theirs see file.js
 * @param {boolean} isOwn whether the person says that the file is their own: an unused
 *   wallet then adopts its seed
 * @returns {{live: Outputs, added: Outputs, given: Outputs}} the file's outputs that
 *   are live; those among them that are new here; and those among the new ones that
 *   count as handed out, because they may have been handed out since
 */
export function mergeInto(draft, theirs, isOwn) {
  const { outputs, operations } = theirs;
  const unknown = outputs.filter(({ key }) => !draft.outputs.get(key));
  const fresh = new Map(
    withGivenAt(unknown, operations).map((output) => [output.key, output]),
  );
  const contested = new Set(
    outputs.filter((output) => isContested(draft, output)).map(keyOf),
  );
  const isOfSeed = mergeSeeds(draft, theirs, isOwn);
  const isTrusted = isOwn || isOfSeed;
  // A mint would be sent with this browser's token, and a stranger knows its secrets.
  const isTaken = ({ kind, state }) => isTrusted || kind !== "mint" || state === "done";
  const known = outputs.map((output) => fresh.get(output.key) ?? output);
  for (const output of withEnds(known, operations))
    mergeOutput(draft, fromFile(output));
  for (const operation of operations.filter(isTaken))
    mergeOperation(draft, operation, isOfSeed);
  // Items of a stranger's file are fetched from the registry when they are needed.
  for (const item of isTrusted ? theirs.items : []) mergeItem(draft, item);
  for (const operation of draft.operations.list({ state: "refused" })) {
    const isInDoubt = operation.inputs.some((input) => contested.has(input));
    if (!isInDoubt) continue;
    draft.putOperation({
      ...operation,
      state: "begun",
      code: undefined,
      // The guest has left the door, so only ask what became of it.
      isCancelled: operation.atDoor,
    });
  }
  const live = outputs.filter(({ key }) => isLive(draft.outputs.existing(key)));
  const added = live.filter(({ key }) => fresh.has(key));
  const given = added.filter((output) => fresh.get(output.key) !== output);
  return { live, added, given };
}

/**
 * Return outputs, with `givenAt` set on free links: another browser may have handed
 * them out since it wrote the file. Links are outputs with a number, and those of a
 * mint of several outputs, whose page showed them all at once.
 * @param {Outputs} outputs
 * @param {import("./records.js").OperationRecord[]} operations
 */
function withGivenAt(outputs, operations) {
  const isShown = ({ kind, outputs: made }) => kind === "mint" && made.length > 1;
  const minted = operations.filter(isShown).flatMap(({ outputs: made }) => made);
  const shown = new Set(keysOf(minted));
  return outputs.map((output) => {
    const { key, createdAt, givenAt, number, each, collectedAt } = output;
    const isSetAside = each || collectedAt || givenAt;
    const isFree = restInFile(output) === "held" || output.spentElsewhere;
    const isLink = (number || shown.has(key)) && isFree && !isSetAside;
    return isLink ? { ...output, givenAt: createdAt, mayBeGiven: true } : output;
  });
}

/**
 * Return whether an output is at rest in one wallet and spent in the other: a refused
 * operation may have spent it late.
 */
function isContested(draft, theirs) {
  const both = [theirs, draft.outputs.get(theirs.key) ?? theirs];
  const isAtRest = both.some((each) => !isUnderWay(each) && each.state !== "spent");
  return isAtRest && both.some(({ spentElsewhere }) => spentElsewhere);
}

/**
 * Merge seeds and their next numbers. An unused wallet adopts the seed of the person's
 * own file, and is then another copy of that wallet. Return whether this wallet and the
 * file now have the same own seed.
 */
function mergeSeeds(
  draft,
  /** @type {import("./records.js").Records} */ { seeds, numbers },
  isOwn,
) {
  const own = ownSeed(draft);
  const theirOwn = seeds.find(({ isOwn }) => isOwn)?.key;
  // A mint takes no numbers, but a backup of it contains the seed.
  const newOwn = isUsed(draft) || !isOwn ? own : (theirOwn ?? own);
  if (newOwn !== own) {
    const unused = draft.seeds.existing(own);
    draft.put("seeds", { ...unused, isOwn: undefined, isUnused: true });
  }
  const all = new Set(keysOf([...seedsOf(draft), ...seeds]));
  if (all.size > SEEDS_MAX)
    throw new WalletError(
      "seeds_full",
      gettext("This browser already has too many wallets."),
    );
  for (const { key, createdAt } of seeds) {
    draft.put("seeds", { key, createdAt, isOwn: key === newOwn || undefined });
  }
  for (const { key, ...next } of numbers) {
    const [seed, itemId] = key.split(".");
    // Later numbers must still be valid in files, even if this file is not honest.
    const atMost = (branch) => [branch, Math.min(next[branch], LINK_NUMBER_MAX)];
    raiseNumbers(draft, seed, itemId, Object.fromEntries(BRANCHES.map(atMost)));
  }
  return theirOwn === newOwn;
}

function mergeItem(draft, theirs) {
  const mine = draft.items.get(theirs.id);
  const { unit = theirs.unit, isMinted = theirs.isMinted } = mine ?? {};
  const doorList = joinLists(theirs.id, mine?.doorList, theirs.doorList);
  draft.putItem({ ...(mine ?? theirs), unit, isMinted, doorList });
}

/**
 * Merge an operation. Take `reference` and `asked`, which callers of the Python client
 * set, only from a copy of this wallet: those of another wallet are for other orders.
 */
function mergeOperation(draft, operation, isOfSeed) {
  const mine = draft.operations.get(operation.key);
  const { reference, asked } = mine ?? {};
  const theirs = isOfSeed ? operation : { ...operation, reference, asked };
  const states = theirs.kind === "mint" ? MINT_STATES : SWAP_STATES;
  const isEnded = ({ state, expiresAt }) => state === "refused" && expiresAt;
  const rankOf = (each) => states.indexOf(isEnded(each) ? "ended" : each.state);
  const latest = !mine || rankOf(theirs) > rankOf(mine) ? theirs : mine;
  const isCancelled = mine?.isCancelled || theirs.isCancelled;
  // It may have been sent since the file was written, and cancelled in either wallet.
  const doubts = latest.state === "begun" ? { isUnsent: undefined, isCancelled } : {};
  draft.putOperation({ ...latest, ...doubts });
}

/** Merge an output. What either wallet knows of it stays known. */
function mergeOutput(draft, theirs) {
  const mine = draft.outputs.get(theirs.key);
  // Drop the fields that were derived from their operations: ours may differ.
  const { state, takers, makers, ...facts } = theirs;
  if (!mine) return draft.addOutput(facts);
  const latest = LATEST.map((name) => [
    name,
    Math.max(mine[name] ?? 0, facts[name] ?? 0) || undefined,
  ]);
  return draft.changeOutput(theirs.key, {
    ...facts,
    ...mine,
    ...Object.fromEntries(latest),
    ...amountOf(mine, theirs),
    unknown: mine.unknown,
    isUnclear: (mine.spentElsewhere ? mine : facts).isUnclear,
  });
}

/**
 * Return the amount, and which links are to be made of it. A wallet that holds the
 * output knows its amount. Otherwise use the file's: a link may name any amount, and
 * another copy may have used the secret for another amount.
 */
function amountOf(mine, theirs) {
  if (isMade(mine) || mine.amount === theirs.amount) return { amount: mine.amount };
  const { amount, number, of, each, issue } = theirs;
  return { amount, number, of, each, issue };
}
