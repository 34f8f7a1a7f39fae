// Takes the records of another wallet, or of an older copy of this one, into a draft. No secret is
// lost, no spent output revived, and no operation that ended is begun again. Pure.

// The life of an output, and what is known better: a state wins over all before it.
const OUTPUT_STATES = ["offered", "void", "coming", "held", "given", "leaving", "spent"];
const REST_STATES = ["offered", "void", "held", "given"];
// To ask for a mint once more under its key is always safe; a swap that was refused must not move
// units that its wallet has counted as its own since.
const OPERATION_STATES = { mint: ["refused", "begun", "done"], swap: ["begun", "refused", "done"] };

/**
 * @param {import("./records.js").Draft} draft
 * @param {import("./records.js").Records} theirs see file.js
 * @returns {{outputsCount: number}} how many outputs are new here
 */
export function mergeInto(draft, theirs) {
  const fresh = theirs.outputs.filter(({ key }) => !draft.output(key));
  for (const operation of theirs.operations) mergeOperation(draft, operation);
  for (const output of theirs.outputs) mergeOutput(draft, output);
  for (const item of theirs.items) if (!draft.slices.items.has(item.id)) draft.putItem(item);
  for (const output of draft.outputs()) bringToOperation(draft, output);
  return { outputsCount: fresh.length };
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
    // A link may name any amount; a wallet that made or holds the output knows it.
    amount: isHearsay(mine) ? theirs.amount : mine.amount,
    before: state === "leaving" ? further(...statesOf(mine), ...statesOf(theirs)) : undefined,
  });
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
