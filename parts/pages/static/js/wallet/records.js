// What a wallet keeps: outputs with their secrets, and the operations that move them.
// Nothing of it is ever deleted, and a spent output stays spent. A transaction loads
// what it names; looking at anything else throws, so that what was not loaded is never
// taken for what does not exist. Pure.
//
// What an output is follows from the operations that name it, see states.js: `takers`
// and `makers` say how far each of them has got. An operation is begun, done or refused.
// The making of an offer is open between begun and its end: what it puts in is offered,
// what it gets is coming.
//
// A link that was handed out has `givenAt`, for ever after.
// A link has a `number` of so many, unique within its item, and a person's `note`. A
// part with `each` is still to be split into links of so many units, the first of
// which gets its number; one that was taken back comes again with its number as the
// next `issue`. What came in at the door has `collectedAt`, under its old secret and
// its new one. What a door's list says was let in has `admittedAt`, and so has what
// a person let in who could not scan its code, which `isByHand`. Where any was
// undone after that, the output has `undoneAt`. What a list says was taken back has
// `takenBackAt`. How often this door was shown it is in `scans`. The number that a
// code claims to have, where none is known, is `said`: it only counts where the ticket
// of that number was let in by hand.
//
// Another copy of this wallet may move what is its own. What a look at the service has
// found of that has `foundAt`. What is spent by nobody here has `spentElsewhere`; it
// `isUnclear` if that may have been a copy, or else somebody has claimed it. A link that
// `mayBeGiven` counts as handed out because it may have been since a backup. What is
// held and whose code was shown, at a door, has `shownAt`.

import { gettext } from "../format/gettext.js";

import { aboutOf } from "../format/about.js";
import { inState } from "./states.js";

/**
 * @typedef {{
 *   id: string, total: number, metadata?: string | null, key?: string, unit?: string,
 *   isMinted?: boolean, isCut?: boolean, doorList?: string,
 * }} Item `unit` is the issuer's word for one unit, `isMinted` says that this wallet minted it,
 *   `isCut` that a wallet's file has cut its metadata, see cutMetadata in cutting.js,
 *   `doorList` is what door lists say of tickets that this wallet has not seen, see door_list.js
 * @typedef {{
 *   key: string, itemId: string, amount: number, secret: string, state: string, before?: string,
 *   operation?: string, createdAt: number, changedAt: number, spentElsewhere?: boolean,
 *   unknown?: boolean, givenAt?: number, number?: number, of?: number, each?: number, note?: string,
 *   collectedAt?: number, neverHeld?: boolean, foundAt?: number, isUnclear?: boolean,
 *   mayBeGiven?: boolean, shownAt?: number, issue?: number, admittedAt?: number,
 *   undoneAt?: number, takenBackAt?: number, scans?: number, said?: number, isByHand?: true,
 *   takers?: import("./states.js").Ends, makers?: import("./states.js").Ends,
 * }} OutputRecord `state`, `before`, `operation` and `neverHeld` follow from the rest
 * @typedef {{
 *   key: string, kind: string, body: any, inputs: string[],
 *   outputs: {key: string, state: string}[], state: string, code?: string, itemId?: string,
 *   amount: number, begunAt: number, endedAt?: number, atDoor?: boolean, unit?: string,
 *   isUnsent?: true, isCancelled?: true,
 *   links?: {count: number, each: number, from: number, isNext?: boolean}, own?: number[],
 *   offerId?: string, expiresAt?: number,
 * }} OperationRecord `links.isNext` is of a further batch of links that an earlier operation promised;
 *   `own` are the places of a mint's secrets that a person made; `offerId` is the offer that was made
 *   or completed, `expiresAt` when the one that was made ends, in milliseconds;
 *   what `isUnsent` was never sent, what `isCancelled` is not sent any more, see checking.js
 * @typedef {{key: string, isOwn?: boolean, isUnused?: boolean, createdAt: number}} Seed `key` is the seed itself, in
 *   hexadecimal digits; new secrets are made from the own one, and with what `isUnused` nothing is
 *   looked for
 * @typedef {{key: string, kept?: number, given?: number, series?: number}} Numbers the next numbers
 *   under a seed of an item, see seeds.js
 * @typedef {{
 *   outputs: OutputRecord[], operations: OperationRecord[], items: Item[], seeds: Seed[],
 *   numbers: Numbers[], at?: number,
 * }} Records
 */

/**
 * All records of a kind, those with these fields, or a list of keys and fields.
 * @typedef {{itemId?: string, state?: string}} Fields
 * @typedef {"all" | Fields | (string | Fields | undefined)[]} Wanted
 *
 * What a transaction loads. `next` sees what is loaded by then, and returns what else
 * is needed.
 * @typedef {{
 *   outputs?: Wanted, operations?: Wanted, items?: Wanted, codes?: Wanted, notes?: Wanted,
 *   seeds?: Wanted, numbers?: Wanted, next?: (slices: Slices) => Plan,
 * }} Plan
 *
 * @typedef {{
 *   outputs: Slice<OutputRecord>, operations: Slice<OperationRecord>, items: Slice<Item>,
 *   codes: Slice<{key: string, svg: string}>, notes: Slice<any>, seeds: Slice<Seed>,
 *   numbers: Slice<Numbers>,
 * }} Slices
 */

/** The stores of records, which have keys. */
export const KINDS = [
  "outputs",
  "operations",
  "items",
  "codes",
  "notes",
  "seeds",
  "numbers",
];

/** What was asked of the wallet cannot be done. The message is for people. */
export class WalletError extends Error {
  name = "WalletError";

  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** Return the keys of records, in their order. */
export const keysOf = (records) => records.map(({ key }) => key);

/** Return the keys of all outputs that an operation spends or makes. */
export const namedBy = ({ inputs, outputs }) => [...inputs, ...keysOf(outputs)];

/** Return records by what `keyOf` says of each, in their order. */
export function grouped(records, keyOf) {
  const groups = new Map();
  for (const record of records) {
    const key = keyOf(record);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(record);
  }
  return groups;
}

/** Return how many units records are together. */
export const unitsOf = (records) =>
  records.reduce((sum, { amount }) => sum + amount, 0);

/** Return how many units of each item records are together, in order of the first ones. */
export function sumsOf(records) {
  const sums = new Map();
  for (const { itemId, amount } of records)
    sums.set(itemId, (sums.get(itemId) ?? 0) + amount);
  return Array.from(sums, ([itemId, amount]) => ({ itemId, amount }));
}

/** Return the key of an output's record: no item has two outputs with one secret. */
export const keyOf = ({ itemId, secret }) => `${itemId}.${secret}`;

/**
 * Return the item of an output's key, or nothing of another key: no item id has a dot.
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

  /** Take what was loaded for a key, for fields or for "all". */
  take(query, records) {
    if (typeof query === "string" && query !== "all") this.#keys.add(query);
    else this.#queries.push(query === "all" ? {} : query);
    for (const record of records) this.put(record);
  }

  /** Put a record; return whether it differs from the one that was there. */
  put(record) {
    const known = this.#records.get(record.key) ?? {};
    this.#records.set(record.key, record);
    return !hasFields(known, record) || !hasFields(record, known);
  }

  /** Return the record of a key, none of no key. @throws {Error} it was not loaded. */
  get(key) {
    if (key === undefined) return undefined;
    const record = this.#records.get(key);
    // The key of an output begins with its item: of one that was all loaded, none is
    // missing.
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

  /** What was asked for must have had no narrower fields than what is looked at. */
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
 * Return what a plan loads, stage by stage; of each, all queries are asked at once.
 * @param {Plan | undefined} wanted
 * @param {(kind: string, query: string | Fields) => any[] | Promise<any[]>} find
 */
export async function load(wanted, find) {
  const slices = makeSlices();
  for (let plan = wanted; plan; plan = plan.next?.(slices)) {
    const queries = KINDS.flatMap((kind) =>
      [plan[kind]].flat().map((query) => ({ kind, query })),
    );
    const asked = queries.filter(({ query }) => query !== undefined);
    const found = await Promise.all(asked.map(({ kind, query }) => find(kind, query)));
    asked.forEach(({ kind, query }, place) => slices[kind].take(query, found[place]));
  }
  return slices;
}

/**
 * Return the records of a kind with these fields, or with those of one more.
 * @param {Pick<import("./store.js").Store, "read">} store
 * @param {"outputs" | "operations"} kind
 * @param {Fields[]} queries
 * @returns {Promise<any[]>}
 */
export const recordsWith = (store, kind, ...queries) =>
  store.read({ [kind]: queries }, (/** @type {any} */ slices) =>
    queries.flatMap((fields) => slices[kind].list(fields)),
  );

/** Return the records of outputs, which must be there. */
export function readOutputs(store, keys) {
  return store.read({ outputs: keys }, ({ outputs }) =>
    keys.map((key) => outputs.existing(key)),
  );
}

/** Return whether an output came in at the door, and that was not undone. */
export const isCollected = ({ collectedAt = 0, undoneAt = 0 }) =>
  collectedAt > undoneAt;

/** Return when its admission was undone; 0 of the new link that was made of it then. */
export const undoneAtOf = ({ undoneAt = 0, givenAt = 0 }) =>
  givenAt < undoneAt ? undoneAt : 0;

/** Return a record in which a field without a value is not there. */
export const whole = (record) =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));

/** Return whether a record has all of these fields with these values. */
export function hasFields(record, fields) {
  return Object.entries(fields).every(([name, value]) => record[name] === value);
}

/** The records of one transaction of the store, and what of them was changed. */
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
    /** @type {{[kind: string]: Map<string, any>}} what was put, each as it is now */
    this.changed = {};
  }

  /**
   * Put an output that the wallet has not seen yet: no record is ever written over by
   * another.
   */
  addOutput(facts) {
    const key = keyOf(facts);
    if (this.outputs.get(key))
      throw new WalletError(
        "used_secret",
        gettext("This secret was used for this deed before."),
      );
    this.#putOutput({ createdAt: this.now, ...facts, key }, facts.changedAt);
  }

  /** Change what is known of an output. */
  changeOutput(key, facts) {
    this.#putOutput({ ...this.outputs.existing(key), ...facts }, facts.changedAt);
  }

  /** Put an operation; the states of what it takes and makes follow. */
  putOperation(operation) {
    const { key, state, inputs, outputs, begunAt, endedAt = begunAt } = operation;
    const isKnown = this.operations.get(key)?.state === state;
    const put = this.put("operations", operation);
    if (isKnown) return put;
    const roles = { takers: inputs, makers: keysOf(outputs) };
    for (const [role, keys] of Object.entries(roles)) {
      for (const named of keys) {
        const output = this.outputs.existing(named);
        const noted = { ...output[role], [key]: state };
        this.#putOutput({ ...output, [role]: noted }, endedAt);
      }
    }
    return put;
  }

  /** Put an output with what follows; if its state changes, it did so at this time. */
  #putOutput(facts, at = this.now) {
    const derived = inState(facts);
    const { state, changedAt = at } = facts;
    if (state === "spent" && derived.state !== state)
      throw new Error("a spent output stays spent");
    // What a file tells of an operation may have ended long ago.
    const movedAt = state === derived.state ? changedAt : Math.max(changedAt, at);
    this.put("outputs", { ...derived, changedAt: movedAt });
  }

  /**
   * Put an item, with what a wallet knows of it besides. What a unit is called, nobody
   * knows better than the deed itself.
   */
  putItem(item) {
    const unit = aboutOf(item).unit || item.unit;
    return this.put("items", { ...item, unit, key: item.id });
  }

  /** Put a record; one that is there already, as it is, is not written. */
  put(kind, record) {
    const told = whole(record);
    if (this[kind].put(told)) (this.changed[kind] ??= new Map()).set(told.key, told);
    return told;
  }

  isChanged() {
    return Object.keys(this.changed).length > 0;
  }
}
