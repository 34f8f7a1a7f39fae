// Takes the records of another wallet, or of an older copy of this one, into a draft. No secret is
// lost, no spent output revived, nothing that was handed out is free again, and no operation that
// ended is begun again. Pure.

import { hasFields } from "./records.js";

// The life of an output, and what is known better: a state wins over all before it.
const OUTPUT_STATES = ["offered", "void", "coming", "held", "given", "leaving", "spent"];
const REST_STATES = ["offered", "void", "held", "given"];
// To ask for a mint once more under its key is always safe; a swap that was refused must not move
// units that its wallet has counted as its own since.
const OPERATION_STATES = { mint: ["refused", "begun", "done"], swap: ["begun", "refused", "done"] };

const GONE_STATES = new Set(["spent", "void", "offered"]);

/**
 * @param {import("./records.js").Draft} draft
 * @param {import("./records.js").Records} theirs see file.js
 * @returns {{liveCount: number, newCount: number}} how many outputs of theirs are neither spent nor
 *   void by what is known now, and how many of these are new here
 */
export function mergeInto(draft, theirs) {
  const fresh = new Set(theirs.outputs.map(({ key }) => key).filter((key) => !draft.output(key)));
  const { outputs, operations } = theirs;
  for (const operation of operations) mergeOperation(draft, operation);
  for (const output of outputs) mergeOutput(draft, output);
  for (const item of theirs.items) mergeItem(draft, item);
  for (const output of draft.outputs()) bringToOperation(draft, output);
  const live = outputs.filter(({ key }) => !GONE_STATES.has(draft.output(key)?.state ?? ""));
  return {
    liveCount: live.length,
    newCount: live.filter(({ key }) => fresh.has(key)).length,
  };
}

function mergeItem(draft, theirs) {
  const mine = draft.slices.items.get(theirs.id);
  const { unit = theirs.unit, isMinted = theirs.isMinted } = mine ?? {};
  if (mine && hasFields(mine, { unit, isMinted })) return;
  draft.putItem({ ...(mine ?? theirs), ...(unit && { unit }), ...(isMinted && { isMinted }) });
}

function mergeOperation(draft, theirs) {
  const mine = draft.operation(theirs.key);
  const states = OPERATION_STATES[theirs.kind === "mint" ? "mint" : "swap"];
  if (!mine || isFurther(states, theirs.state, mine.state)) draft.putOperation(theirs);
}

function mergeOutput(draft, theirs) {
  const mine = draft.output(theirs.key);
  if (!mine) return draft.addOutput(theirs);
  const isTheirs = isFurther(OUTPUT_STATES, theirs.state, mine.state);
  const { state } = isTheirs ? theirs : mine;
  return draft.changeOutput(theirs.key, {
    ...(isTheirs ? theirs : {}),
    ...toldByEither(mine, theirs),
    // A link may name any amount; a wallet that made or holds the output knows it.
    amount: isHearsay(mine) ? theirs.amount : mine.amount,
    before: state === "leaving" ? further(...statesOf(mine), ...statesOf(theirs)) : undefined,
  });
}

/** What is known of an output stays known, whichever wallet knows it. */
function toldByEither(mine, theirs) {
  const names = ["givenAt", "collectedAt", "number", "of", "each", "note"];
  const told = names.map((name) => [name, mine[name] ?? theirs[name]]);
  return Object.fromEntries(told.filter(([, value]) => value !== undefined));
}

function isHearsay({ state, before }) {
  return state === "offered" || (state === "leaving" && before === "offered");
}

function statesOf({ state, before }) {
  return [state, before];
}

/**
 * An output whose operation ended in one wallet and not yet in the other goes where it belongs.
 * @param {import("./records.js").Draft} draft
 * @param {import("./records.js").OutputRecord} output
 */
function bringToOperation(draft, { key, state, before, operation }) {
  const owner = draft.operation(operation);
  if (state === "leaving" && owner?.state !== "begun") {
    draft.changeOutput(key, {
      state: owner?.state === "done" ? "spent" : before,
      before: undefined,
    });
  }
  if (state === "coming" && owner?.state !== "begun") {
    const target = owner?.outputs.find((output) => output.key === key)?.state;
    draft.changeOutput(key, { state: owner?.state === "done" ? target : "void" });
  }
}

/** Return the state to go back to: a link that was handed out in either wallet stays handed out. */
function further(...candidates) {
  const known = candidates.filter((each) => REST_STATES.includes(each));
  return known.sort((one, next) => (isFurther(REST_STATES, one, next) ? -1 : 1))[0];
}

function isFurther(states, one, other) {
  return states.indexOf(one) > states.indexOf(other);
}
