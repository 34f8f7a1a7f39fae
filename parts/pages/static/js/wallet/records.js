// What a wallet keeps: outputs with their secrets, and the operations that move them.
// Nothing is ever deleted, and a spent output stays spent. A transaction loads the
// records that it names. Reading any other throws, so that a record that was not loaded
// is never taken for one that does not exist. Pure.
//
// The state of an output follows from the operations that name it, see states.js:
// `takers` and `makers` hold the state of each. An operation is begun, done or refused.
// The making of an offer is open between begun and its end: its inputs are offered, its
// outputs are coming.
//
// Fields of a link (docs/wallet-file.md has all):
//
// - `givenAt`: when it was handed out; never removed.
// - `number`, `of`: as in “4 of 200”, unique within an item and issue. `note`: a
//   person's words, or those of a code.
// - `each`: this output is still to be split into links of that many units, the first
//   of which gets its number.
// - `issue`: a link that was taken back comes again with its number and the next issue.
// - `collectedAt`: when the door admitted it; set on its old output and on its new one.
// - `admittedAt`: when a door's list says it was let in, or when a person let in the
//   guest, who could not show the code; then it `isByHand`.
// - `undoneAt`: when either was undone; the latest of these times counts.
// - `takenBackAt`: when a list says it was taken back.
// - `scans`: how often it was shown at this door.
// - `said`: the number that a code states, if none is known. It only counts if the
//   ticket of that number was let in by hand.
//
// Another copy of this wallet may move its units. Then these fields say what is known:
//
// - `foundAt`: when a look at the service found the output.
// - `spentElsewhere`: spent by no operation here. It `isUnclear` if a copy may have
//   spent it; otherwise somebody has claimed it.
// - `mayBeGiven`: it counts as handed out because it may have been since a backup.
// - `shownAt`: when its code was last shown at a door, while it was held.

import { gettext } from "../format/gettext.js";

import { aboutOf } from "../format/about.js";
import { inState } from "./states.js";

/**
 * @typedef {{
 *   id: string, total: number, metadata?: string | null, key?: string, unit?: string,
 *   isMinted?: boolean, isCut?: boolean, doorList?: string,
 * }} Item `unit` is the issuer's word for one unit; `isMinted`: this wallet minted it;
 *   `isCut`: a wallet's file has cut its metadata, see cutMetadata in cutting.js;
 *   `doorList`: what door lists say of tickets that this wallet has not seen, see
 *   door_list.js
 * @typedef {{
 *   key: string, itemId: string, amount: number, secret: string, state: string, before?: string,
 *   operation?: string, createdAt: number, changedAt: number, spentElsewhere?: boolean,
 *   unknown?: boolean, givenAt?: number, number?: number, of?: number, each?: number, note?: string,
 *   collectedAt?: number, neverHeld?: boolean, foundAt?: number, isUnclear?: boolean,
 *   mayBeGiven?: boolean, shownAt?: number, issue?: number, admittedAt?: number,
 *   undoneAt?: number, takenBackAt?: number, scans?: number, said?: number, isByHand?: true,
 *   takers?: import("./states.js").Ends, makers?: import("./states.js").Ends,
 * }} OutputRecord `state`, `before`, `operation` and `neverHeld` follow from the other
 *   fields
 * @typedef {{
 *   key: string, kind: string, body: any, inputs: string[],
 *   outputs: {key: string, state: string}[], state: string, code?: string, itemId?: string,
 *   amount: number, begunAt: number, endedAt?: number, atDoor?: boolean, unit?: string,
 *   isUnsent?: true, isCancelled?: true,
 *   links?: {count: number, each: number, from: number, isNext?: boolean}, own?: number[],
 *   offerId?: string, expiresAt?: number,
 * }} OperationRecord `links.isNext`: a further batch of links that an earlier operation
 *   promised; `own`: places of a mint's secrets that a person chose; `offerId`: the
 *   offer that was made or completed; `expiresAt`: when the offer that was made ends,
 *   in milliseconds; `isUnsent`: it was never sent; `isCancelled`: it is no longer
 *   sent, see checking.js
 * @typedef {{key: string, isOwn?: boolean, isUnused?: boolean, createdAt: number}} Seed
 *   `key` is the seed itself, in hexadecimal digits; new secrets are made from the one
 *   that `isOwn`; no search uses one that `isUnused`
 * @typedef {{key: string, kept?: number, given?: number, series?: number}} Numbers the
 *   next numbers of an item under a seed, see seeds.js
 * @typedef {{
 *   outputs: OutputRecord[], operations: OperationRecord[], items: Item[], seeds: Seed[],
 *   numbers: Numbers[], at?: number,
 * }} Records
 */

/**
 * What to load of a kind: all records, those with these fields, or those with any of
 * these keys and fields.
 * @typedef {{itemId?: string, state?: string}} Fields
 * @typedef {"all" | Fields | (string | Fields | undefined)[]} Queries
 *
 * What a transaction loads. `next` gets what is loaded so far, and returns what else to
 * load.
 * @typedef {{
 *   outputs?: Queries, operations?: Queries, items?: Queries, codes?: Queries,
 *   notes?: Queries, seeds?: Queries, numbers?: Queries, next?: (slices: Slices) => Plan,
 * }} Plan
 * @typedef {{
 *   outputs: Slice<OutputRecord>, operations: Slice<OperationRecord>, items: Slice<Item>,
 *   codes: Slice<{key: string, svg: string}>, notes: Slice<any>, seeds: Slice<Seed>,
 *   numbers: Slice<Numbers>,
 * }} Slices
 */

/** The stores of records, by kind. */
export const KINDS = [
  "outputs",
  "operations",
  "items",
  "codes",
  "notes",
  "seeds",
  "numbers",
];

/** The wallet cannot do what was asked. The message is for people. */
export class WalletError extends Error {
  name = "WalletError";

  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

export const keysOf = (records) => records.map(({ key }) => key);

/** Return the keys of all outputs that an operation spends or makes. */
export const namedBy = ({ inputs, outputs }) => [...inputs, ...keysOf(outputs)];

/** Return records, in their order, by the result of `keyOf`. */
export function grouped(records, keyOf) {
  const groups = new Map();
  for (const record of records) {
    const key = keyOf(record);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(record);
  }
  return groups;
}

/** Return the units of all records together. */
export const unitsOf = (records) =>
  records.reduce((sum, { amount }) => sum + amount, 0);

/** Return the largest of many numbers, or 0: Math.max takes only some ten thousand. */
export const largest = (numbers) =>
  numbers.reduce((most, number) => Math.max(most, number), 0);

/** Return the units of records by item, in order of each item's first record. */
export function sumsOf(records) {
  const byItem = grouped(records, ({ itemId }) => itemId);
  return Array.from(byItem, ([itemId, all]) => ({ itemId, amount: unitsOf(all) }));
}

/** Return the key of an output's record: no item has two outputs with one secret. */
export const keyOf = ({ itemId, secret }) => `${itemId}.${secret}`;

/**
 * Return the item id in an output's key, or an empty text for other keys: no item id
 * has a dot.
 */
export const itemIdOf = (key) => /^[^.]*(?=\.)/.exec(key)?.[0] ?? "";

/**
 * The records of one kind that a transaction has loaded.
 * @template {{key?: string}} Kind
 */
class Slice {
  /** @type {Map<string, Kind>} */
  #records = new Map();
  #keys = new Set();
  #queries = [];

  /** Add the records that were loaded for a key, for fields or for "all". */
  take(query, records) {
    if (typeof query === "string" && query !== "all") this.#keys.add(query);
    else this.#queries.push(query === "all" ? {} : query);
    for (const record of records) this.put(record);
  }

  /** Put a record; return whether it differs from the one before. */
  put(record) {
    const known = this.#records.get(record.key) ?? {};
    this.#records.set(record.key, record);
    return !hasFields(known, record) || !hasFields(record, known);
  }

  /** Return the record of a key, if there is one. @throws {Error} it was not loaded. */
  get(key) {
    if (key === undefined) return undefined;
    const record = this.#records.get(key);
    // The key of an output begins with its item id. If all outputs of the item were
    // loaded, this record does not exist.
    if (!record && !this.#keys.has(key)) this.#check({ itemId: itemIdOf(key) });
    return record;
  }

  /** Return the record of a key, which must be there. */
  existing(key) {
    const record = this.get(key);
    if (!record) throw new Error("a record that is not there");
    return record;
  }

  /** Return the records with these fields. @throws {Error} they were not all loaded. */
  list(/** @type {Fields} */ fields = {}) {
    this.#check(fields);
    return [...this.#records.values()].filter((record) => hasFields(record, fields));
  }

  /** Throw unless these fields are covered by a query that was loaded. */
  #check(fields) {
    if (this.#queries.some((query) => hasFields(fields, query))) return;
    throw new Error("a look at records that were not loaded");
  }
}

/** @returns {Slices} */
export function makeSlices() {
  return /** @type {any} */ (
    Object.fromEntries(KINDS.map((kind) => [kind, new Slice()]))
  );
}

/**
 * Load the records of a plan in stages, with all queries of a stage at once.
 * @param {Plan | undefined} plan
 * @param {(kind: string, query: string | Fields) => any[] | Promise<any[]>} find
 */
export async function load(plan, find) {
  const slices = makeSlices();
  for (let stage = plan; stage; stage = stage.next?.(slices)) {
    const queries = KINDS.flatMap((kind) =>
      [stage[kind]].flat().map((query) => ({ kind, query })),
    ).filter(({ query }) => query !== undefined);
    const results = await Promise.all(
      queries.map(({ kind, query }) => find(kind, query)),
    );
    queries.forEach(({ kind, query }, place) =>
      slices[kind].take(query, results[place]),
    );
  }
  return slices;
}

/**
 * Return the records of a kind that match any of these queries.
 * @param {Pick<import("./store.js").Store, "read">} store
 * @param {"outputs" | "operations"} kind
 * @param {Fields[]} queries
 * @returns {Promise<any[]>}
 */
export const recordsWith = (store, kind, ...queries) =>
  store.read({ [kind]: queries }, (/** @type {any} */ slices) =>
    queries.flatMap((fields) => slices[kind].list(fields)),
  );

/** Return the records of outputs, which must exist. */
export function readOutputs(store, keys) {
  return store.read({ outputs: keys }, ({ outputs }) =>
    keys.map((key) => outputs.existing(key)),
  );
}

/**
 * Return whether an output was admitted at the door, and the admission was not undone.
 */
export const isCollected = ({ collectedAt = 0, undoneAt = 0 }) =>
  collectedAt > undoneAt;

/**
 * Return when an output's admission was undone; 0 for the new link that was made then.
 */
export const undoneAtOf = ({ undoneAt = 0, givenAt = 0 }) =>
  givenAt < undoneAt ? undoneAt : 0;

/**
 * Return whether a list says that a link of this wallet was used: it was let in, even
 * if that was undone since, or taken back.
 */
export const isListedAsUsed = (/** @type {Partial<OutputRecord>} */ output) =>
  output.admittedAt !== undefined ||
  output.takenBackAt !== undefined ||
  undoneAtOf(output) > 0;

/** Return a record without the fields that have no value. */
export const whole = (record) =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));

/** Return whether a record has all of these fields with these values. */
export function hasFields(record, fields) {
  return Object.entries(fields).every(([name, value]) => record[name] === value);
}

/** The records of one transaction, and which of them were changed. */
export class Draft {
  /**
   * @param {Slices} slices
   * @param {number} now in milliseconds
   */
  constructor(slices, now) {
    this.now = now;
    this.outputs = slices.outputs;
    this.operations = slices.operations;
    this.items = slices.items;
    this.notes = slices.notes;
    this.seeds = slices.seeds;
    this.numbers = slices.numbers;
    /**
     * @type {{[kind: string]: Map<string, any>}} the records that were put, in their
     *   last state
     */
    this.changed = {};
  }

  /** Put an output that the wallet does not have yet: no record is ever overwritten. */
  addOutput(facts) {
    const key = keyOf(facts);
    if (this.outputs.get(key))
      throw new WalletError(
        "used_secret",
        gettext("This secret was used for this deed before."),
      );
    this.#putOutput({ createdAt: this.now, ...facts, key }, facts.changedAt);
  }

  changeOutput(key, facts) {
    this.#putOutput({ ...this.outputs.existing(key), ...facts }, facts.changedAt);
  }

  /** Put an operation, and update the states of its inputs and outputs. */
  putOperation(operation) {
    const { key, state, inputs, outputs, begunAt, endedAt = begunAt } = operation;
    const isKnown = this.operations.get(key)?.state === state;
    const put = this.put("operations", operation);
    if (isKnown) return put;
    const roles = { takers: inputs, makers: keysOf(outputs) };
    for (const [role, keys] of Object.entries(roles)) {
      for (const named of keys) {
        const output = this.outputs.existing(named);
        const ends = { ...output[role], [key]: state };
        this.#putOutput({ ...output, [role]: ends }, endedAt);
      }
    }
    return put;
  }

  /**
   * Put an output with its derived fields. `at` is the time of a change of its state.
   */
  #putOutput(facts, at = this.now) {
    const derived = inState(facts);
    const { state, changedAt = at } = facts;
    if (state === "spent" && derived.state !== state)
      throw new Error("a spent output stays spent");
    // A file may contain an operation that ended long ago.
    const movedAt = state === derived.state ? changedAt : Math.max(changedAt, at);
    this.put("outputs", { ...derived, changedAt: movedAt });
  }

  /**
   * Put an item, with what the wallet knows of it. The deed's own word for a unit wins.
   */
  putItem(item) {
    const unit = aboutOf(item).unit || item.unit;
    return this.put("items", { ...item, unit, key: item.id });
  }

  /** Put a record, unless it is already there with the same fields. */
  put(kind, record) {
    const stored = whole(record);
    if (this[kind].put(stored))
      (this.changed[kind] ??= new Map()).set(stored.key, stored);
    return stored;
  }

  isChanged() {
    return Object.keys(this.changed).length > 0;
  }
}
