// The state of an output follows from what is known of it, and from the operations that
// take it and make it: no rule writes one. Pure.
//
//   seen     in a link, not ours
//   held     ours
//   offered  ours, and put into an open offer
//   given    ours, but its link was handed out
//   coming   made by an operation that is begun, or what an open offer gets
//   leaving  spent by an operation that is begun
//   spent    by an operation that is done, or by the word of the service
//   void     made by an operation that was refused

/**
 * How far each operation has got that takes or makes an output, by its key.
 * @typedef {{[key: string]: string}} Ends
 * @typedef {import("./records.js").OutputRecord} OutputRecord
 */

/** What is ours and not under way. */
export const AT_REST = ["held", "offered", "given"];
const UNDER_WAY = ["coming", "leaving"];
const GONE = ["spent", "void", "seen"];
export const OUTPUT_STATES = [...AT_REST, ...UNDER_WAY, ...GONE];

/** How far operations get that are not refused: of two the earlier of these counts. */
const ENDS = ["done", "begun", "open"];

/** Return whether an output waits for the end of an operation. */
export const isUnderWay = ({ state = "" } = {}) => UNDER_WAY.includes(state);

/** Return whether an output is neither spent nor void, by what is known now. */
export const isLive = ({ state }) => !GONE.includes(state);

/**
 * Return whether an output is or was the wallet's own, or is spent and was `neverHeld`.
 */
export const isOurs = (
  /** @type {{state?: string, before?: string}} */ { state, before = state },
) => before !== "void" && before !== "seen";

/** Return what an output is if nothing takes it. */
function restOf(/** @type {Partial<OutputRecord>} */ output) {
  const { foundAt, givenAt, makers = {} } = output;
  const maker = furthest(makers);
  // A program without a clock may write 0.
  if (foundAt !== undefined || makers[maker] === "done")
    return givenAt === undefined ? "held" : "given";
  if (maker) return "coming";
  return Object.keys(makers).length ? "void" : "seen";
}

/** Return whether the output was or is there, and is no secret alone. */
export const isMade = (/** @type {Partial<OutputRecord>} */ output) =>
  AT_REST.includes(restOf(output));

/**
 * Return what follows of an output; a field without a value has none.
 * @param {Partial<OutputRecord>} output
 * @returns {Partial<OutputRecord> & {state: string}} `before` is the state to go back to;
 *   `operation` the key of the one that takes the output, or else makes it; what is
 *   `neverHeld` was only seen, or void, until somebody spent it
 */
export function stateOf(output) {
  const { takers = {}, makers = {}, spentElsewhere } = output;
  const rest = restOf(output);
  const taker = furthest(takers);
  const operation = taker || furthest(makers) || undefined;
  const none = { operation, before: undefined, neverHeld: undefined };
  // By which operation is more than that it is spent.
  const byUs = { spentElsewhere: undefined, isUnclear: undefined, unknown: undefined };
  if (takers[taker] === "done") return { ...none, ...byUs, state: "spent" };
  const neverHeld = !isOurs({ state: rest }) || undefined;
  if (spentElsewhere) return { ...none, state: "spent", neverHeld };
  if (takers[taker] === "begun") return { ...none, state: "leaving", before: rest };
  return { ...none, state: taker ? "offered" : rest };
}

/** Return the key of the operation that has got furthest, of none nothing. */
function furthest(/** @type {Ends} */ ends) {
  const keys = Object.keys(ends).sort();
  const found = ENDS.map((end) => keys.find((key) => ends[key] === end));
  return found.find(Boolean) ?? "";
}

/** Return an output in the state that follows. */
export const inState = (output) => ({ ...output, ...stateOf(output) });

/**
 * Return outputs with `takers` and `makers`, how far all operations are that name them.
 * @param {OutputRecord[]} outputs
 * @param {import("./records.js").OperationRecord[]} operations all that name them
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

/** Return what a file calls an output if nothing takes it. */
export const restTold = ({ state, before = "" }) =>
  state === "leaving" ? before : state;

/**
 * Return an output of a file with what its state follows from: what was called ours stays ours,
 * and what was called spent spent, though no operation tells of it.
 */
export function believed(/** @type {OutputRecord} */ output) {
  const { state, createdAt, givenAt, foundAt } = output;
  const rest = restTold(output);
  const given = rest === "given" ? { givenAt: givenAt ?? createdAt } : {};
  const known = { ...output, ...given };
  const isMissed = AT_REST.includes(rest) && !isMade(known);
  const found = isMissed ? { foundAt: foundAt ?? createdAt } : {};
  const isLost = state === "spent" && stateOf(known).state !== "spent";
  const spent = isLost ? { spentElsewhere: true, isUnclear: true } : {};
  return { ...known, ...found, ...spent };
}
