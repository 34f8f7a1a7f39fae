// The state of an output is derived from what is known of it, and from the operations
// that take it and make it. No code sets it: decision 0018 (docs/decisions). Pure.
//
//     seen     in a link, not ours
//     held     ours
//     offered  ours, and put into an open offer
//     given    ours, but its link was handed out
//     coming   made by an operation that is begun, or what an open offer gets
//     leaving  spent by an operation that is begun
//     spent    by an operation that is done, or the service says so
//     void     made by an operation that was refused

/**
 * The state of each operation that takes or makes an output, by the operation's key.
 * @typedef {{[key: string]: string}} Ends
 * @typedef {import("./records.js").OutputRecord} OutputRecord
 */

/** States of outputs that are ours and not under way. */
export const AT_REST = ["held", "offered", "given"];
const UNDER_WAY = ["coming", "leaving"];
const GONE = ["spent", "void", "seen"];
export const OUTPUT_STATES = [...AT_REST, ...UNDER_WAY, ...GONE];

/**
 * States of operations that were not refused. If several operations name one output,
 * the one whose state comes first here counts.
 */
const ENDS = ["done", "begun", "open"];

/** Return whether an output waits for the end of an operation. */
export const isUnderWay = ({ state = "" } = {}) => UNDER_WAY.includes(state);

/** Return whether an output is not spent, void or only seen, as far as is known. */
export const isLive = ({ state }) => !GONE.includes(state);

/**
 * Return whether an output is or was the wallet's own. Spent outputs count as its own,
 * even those with `neverHeld`.
 */
export const isOurs = (
  /** @type {{state?: string, before?: string}} */ { state, before = state },
) => before !== "void" && before !== "seen";

/** Return the state of an output apart from operations that take it. */
function restOf(/** @type {Partial<OutputRecord>} */ output) {
  const { foundAt, givenAt, makers = {} } = output;
  const maker = furthest(makers);
  // A program without a clock may write 0.
  if (foundAt !== undefined || makers[maker] === "done")
    return givenAt === undefined ? "held" : "given";
  if (maker) return "coming";
  return Object.keys(makers).length ? "void" : "seen";
}

/** Return whether the output exists or existed, and not only its secret. */
export const isMade = (/** @type {Partial<OutputRecord>} */ output) =>
  AT_REST.includes(restOf(output));

/**
 * Return the derived fields of an output; those without a value are undefined.
 * @param {Partial<OutputRecord>} output
 * @returns {Partial<OutputRecord> & {state: string}} `before` is the state to go back
 *   to; `operation` is the key of the operation that takes the output, or else makes
 *   it; with `neverHeld` it was only seen, or void, until somebody spent it
 */
export function stateOf(output) {
  const { takers = {}, makers = {}, spentElsewhere } = output;
  const rest = restOf(output);
  const taker = furthest(takers);
  const operation = taker || furthest(makers) || undefined;
  const none = { operation, before: undefined, neverHeld: undefined };
  // If a known operation has spent it, these fields no longer matter.
  const byUs = { spentElsewhere: undefined, isUnclear: undefined, unknown: undefined };
  if (takers[taker] === "done") return { ...none, ...byUs, state: "spent" };
  const neverHeld = !isOurs({ state: rest }) || undefined;
  if (spentElsewhere) return { ...none, state: "spent", neverHeld };
  if (takers[taker] === "begun") return { ...none, state: "leaving", before: rest };
  return { ...none, state: taker ? "offered" : rest };
}

/** Return the key of the operation that has got furthest, or an empty text. */
function furthest(/** @type {Ends} */ ends) {
  const keys = Object.keys(ends).sort();
  const ranked = ENDS.flatMap((end) => keys.filter((key) => ends[key] === end));
  return ranked[0] ?? "";
}

/** Return an output with its derived fields. */
export const inState = (output) => ({ ...output, ...stateOf(output) });

/**
 * Return outputs with `takers` and `makers`, the states of all operations that name
 * them.
 * @param {OutputRecord[]} outputs
 * @param {import("./records.js").OperationRecord[]} operations all that name the
 *   outputs
 */
export function withEnds(outputs, operations) {
  const known = new Map(
    outputs.map((output) => [output.key, { ...output, takers: {}, makers: {} }]),
  );
  for (const { key, state, inputs, outputs: made } of operations) {
    for (const input of inputs) note(known.get(input)?.takers, key, state);
    for (const output of made) note(known.get(output.key)?.makers, key, state);
  }
  return [...known.values()];
}

function note(/** @type {Ends | undefined} */ ends, key, state) {
  if (ends) ends[key] = state;
}

/** Return the state that a file gives an output, apart from operations that take it. */
export const restInFile = ({ state, before = "" }) =>
  state === "leaving" ? before : state;

/**
 * Return an output of a file with the fields from which its state is derived. What the
 * file calls ours stays ours, and what it calls spent stays spent, even if no operation
 * says so.
 */
export function fromFile(/** @type {OutputRecord} */ { ...output }) {
  const { state, createdAt } = output;
  const rest = restInFile(output);
  if (rest === "given") output.givenAt ??= createdAt;
  if (AT_REST.includes(rest) && !isMade(output)) output.foundAt = createdAt;
  if (state === "spent" && stateOf(output).state !== "spent") {
    output.spentElsewhere = true;
    output.isUnclear = true;
  }
  return output;
}
