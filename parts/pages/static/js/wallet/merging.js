// Takes the records of another wallet, or of an older copy of this one, into a draft.
// No secret is lost, no spent output revived, nothing that was handed out is free
// again, or that may have been since a file was written, and no operation that surely
// ended is begun again. Pure.

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
import { believed, isLive, isMade, isUnderWay, restTold, withEnds } from "./states.js";

// To ask for a mint once more under its key is always safe; a swap that was refused
// must not move units that its wallet has counted as its own since. An offer that is
// open was made, whatever another wallet was told; once the service has said that it
// ended, it has.
const MINT_STATES = ["refused", "begun", "done"];
const SWAP_STATES = ["begun", "refused", "open", "ended", "done"];
/** Of these the later, or larger, is true. */
const LATEST = ["admittedAt", "undoneAt", "takenBackAt", "scans", "changedAt"];

/**
 * @typedef {import("./records.js").OutputRecord[]} Outputs
 * @param {import("./records.js").Draft} draft
 * @param {import("./records.js").Records} theirs see file.js
 * @param {boolean} isOwn whether a person says that it is their own: then a wallet that has never done
 *   anything goes on with its seed
 * @returns {{live: Outputs, added: Outputs, given: Outputs}} the outputs of theirs that are live, which
 *   of them are new here, and which of these count as handed out because they may have been since
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
    mergeOutput(draft, believed(output));
  for (const operation of operations.filter(isTaken))
    mergeOperation(draft, operation, isOfSeed);
  // What a stranger's item is, the registry tells when it is needed.
  for (const item of isTrusted ? theirs.items : []) mergeItem(draft, item);
  for (const operation of draft.operations.list({ state: "refused" })) {
    const isInDoubt = operation.inputs.some((input) => contested.has(input));
    if (!isInDoubt) continue;
    draft.putOperation({
      ...operation,
      state: "begun",
      code: undefined,
      // Nobody stands at the door any more: it is only asked what became of it.
      isCancelled: operation.atDoor,
    });
  }
  const live = outputs.filter(({ key }) => isLive(draft.outputs.existing(key)));
  const added = live.filter(({ key }) => fresh.has(key));
  const given = added.filter((output) => fresh.get(output.key) !== output);
  return { live, added, given };
}

/**
 * Return outputs with `givenAt` where that is not known to be false: another browser may
 * have handed out links since it wrote its file. Links are what has a number, and what
 * a mint of several outputs made: its page showed them all at once.
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
    const isFree = restTold(output) === "held" || output.spentElsewhere;
    const isLink = (number || shown.has(key)) && isFree && !isSetAside;
    return isLink ? { ...output, givenAt: createdAt, mayBeGiven: true } : output;
  });
}

/**
 * At rest in one wallet and spent in the other: a refused operation may have spent it
 * late.
 */
function isContested(draft, theirs) {
  const both = [theirs, draft.outputs.get(theirs.key) ?? theirs];
  const isAtRest = both.some((each) => !isUnderWay(each) && each.state !== "spent");
  return isAtRest && both.some(({ spentElsewhere }) => spentElsewhere);
}

/**
 * Take in seeds and how far their numbers are used. A wallet that has not used its own
 * seed goes on with the file's, where that is the person's own: it is another copy of
 * that wallet from now on. Return whether this wallet and the file have one own seed.
 */
function mergeSeeds(
  draft,
  /** @type {import("./records.js").Records} */ { seeds, numbers },
  isOwn,
) {
  const own = ownSeed(draft);
  const theirOwn = seeds.find(({ isOwn }) => isOwn)?.key;
  // A mint takes no number, but a backup of it has the seed.
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
    // Whatever a file says: what is counted on from here can be written and read again.
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
 * What a caller of the client has asked for under a name, only a copy of this wallet can
 * know. Another wallet's payments are for other orders.
 */
function mergeOperation(draft, operation, isOfSeed) {
  const mine = draft.operations.get(operation.key);
  const { reference, asked } = mine ?? {};
  const theirs = isOfSeed ? operation : { ...operation, reference, asked };
  const states = theirs.kind === "mint" ? MINT_STATES : SWAP_STATES;
  const isEnded = ({ state, expiresAt }) => state === "refused" && expiresAt;
  const rankOf = (each) => states.indexOf(isEnded(each) ? "ended" : each.state);
  const told = !mine || rankOf(theirs) > rankOf(mine) ? theirs : mine;
  const isCancelled = mine?.isCancelled || theirs.isCancelled;
  // It may have been sent since the file was written, and cancelled anywhere.
  const doubts = told.state === "begun" ? { isUnsent: undefined, isCancelled } : {};
  draft.putOperation({ ...told, ...doubts });
}

/** What is known of an output stays known, whichever wallet knows it. */
function mergeOutput(draft, theirs) {
  const mine = draft.outputs.get(theirs.key);
  // What follows in their wallet may not in this one.
  const { state, takers, makers, ...told } = theirs;
  if (!mine) return draft.addOutput(told);
  const latest = LATEST.map((name) => [
    name,
    Math.max(mine[name] ?? 0, told[name] ?? 0) || undefined,
  ]);
  return draft.changeOutput(theirs.key, {
    ...told,
    ...mine,
    ...Object.fromEntries(latest),
    ...amountOf(mine, theirs),
    unknown: mine.unknown,
    isUnclear: (mine.spentElsewhere ? mine : told).isUnclear,
  });
}

/**
 * Return the amount, and which links are to be made of it. A link may name any amount,
 * and another copy may have used the number for another one; a wallet that holds the
 * output knows it.
 */
function amountOf(mine, theirs) {
  if (isMade(mine) || mine.amount === theirs.amount) return { amount: mine.amount };
  const { amount, number, of, each, issue } = theirs;
  return { amount, number, of, each, issue };
}
