// What was loaded of a store's records. Looking at anything else throws: a record that was not
// loaded must never be taken for one that does not exist. Pure.

export const KINDS = ["outputs", "operations", "items", "codes", "notes"];

/**
 * All records of a kind, those with these fields, or a list of keys and fields.
 * @typedef {{itemId?: string, state?: string}} Fields
 * @typedef {"all" | Fields | (string | Fields)[]} Wanted
 *
 * What a transaction loads. `next` sees what is loaded by then, and returns what else is needed.
 * @typedef {{
 *   outputs?: Wanted, operations?: Wanted, items?: Wanted, codes?: Wanted, notes?: Wanted,
 *   next?: (slices: Slices) => Plan | null,
 * }} Plan
 *
 * @typedef {{
 *   outputs: Slice<import("./records.js").OutputRecord>,
 *   operations: Slice<import("./records.js").OperationRecord>,
 *   items: Slice<import("./records.js").Item>,
 *   codes: Slice<{key: string, svg: string}>, notes: Slice<any>,
 * }} Slices
 */

/**
 * The records of one kind that a transaction has loaded.
 * @template {{key?: string}} Kind
 */
class Slice {
  /** @type {Map<string, Kind>} */
  #records = new Map();
  #keys = new Set();
  #queries = [];

  /**
   * Take what was loaded for a key, for fields or for "all".
   * @param {string | Fields} query
   * @param {Kind[]} records
   */
  take(query, records) {
    if (typeof query === "string" && query !== "all") this.#keys.add(query);
    else this.#queries.push(query === "all" ? {} : query);
    for (const record of records) this.put(record);
  }

  /** @param {Kind} record */
  put(record) {
    this.#records.set(/** @type {string} */ (record.key), record);
  }

  /**
   * Return the record of a key.
   * @param {string} key
   * @throws {Error} it was not loaded.
   */
  get(key) {
    const record = this.#records.get(key);
    // The key of an output begins with its item: of one that was all loaded, none is missing.
    if (!record && !this.#keys.has(key)) this.#check({ itemId: key.split(".", 1)[0] });
    return record;
  }

  /**
   * Return the records with these fields, all unless some are named.
   * @param {Fields} [fields]
   * @throws {Error} they were not all loaded.
   */
  list(fields = {}) {
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
  return /** @type {any} */ (Object.fromEntries(KINDS.map((kind) => [kind, new Slice()])));
}

/**
 * Return what one stage of a plan asks for, one query after the other.
 * @param {Plan} plan
 * @returns {{kind: string, query: string | Fields}[]}
 */
export function queriesOf(plan) {
  return KINDS.flatMap((kind) => [plan[kind] ?? []].flat().map((query) => ({ kind, query })));
}

/** Return whether a record has all of these fields with these values. */
export function hasFields(record, fields) {
  return Object.entries(fields).every(([name, value]) => record[name] === value);
}
