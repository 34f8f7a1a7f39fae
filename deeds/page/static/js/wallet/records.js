// What a wallet keeps: outputs with their secrets, and the operations that move them. Nothing of it
// is ever deleted, and a spent output stays spent.
//
// An output is one of
//   offered  seen in a link, not ours
//   held     ours
//   given    ours, but its link was handed out
//   coming   made by an operation that was begun
//   leaving  spent by an operation that was begun; `before` is the state to go back to
//   spent    the service said so
//   void     made by an operation that was refused
// An operation is begun, done or refused.

import { formatRawOutput } from "../format/raw_output.js";

/**
 * @typedef {{id: string, total: number, metadata?: string | null, key?: string}} Item
 * @typedef {{
 *   key: string, itemId: string, amount: number, secret: string, state: string, before?: string,
 *   operation?: string, createdAt: number, changedAt: number, spentElsewhere?: boolean,
 *   unknown?: boolean,
 * }} OutputRecord
 * @typedef {{
 *   key: string, kind: string, path: string, body: any, inputs: string[],
 *   outputs: {key: string, state: string}[], state: string, code?: string, itemId?: string,
 *   amount: number, begunAt: number, endedAt?: number,
 * }} OperationRecord
 * @typedef {{outputs: OutputRecord[], operations: OperationRecord[], items: Item[]}} Records
 * @typedef {{
 *   outputs: Map<string, OutputRecord>, operations: Map<string, OperationRecord>,
 *   items: Map<string, Item>,
 * }} Slices
 */

/** What a person asked of the wallet cannot be done. The message is for people. */
export class WalletError extends Error {
  name = "WalletError";

  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/**
 * Return the key of an output's record: no item has two outputs with one secret.
 * @param {{itemId: string, secret: string}} output
 */
export function keyOf({ itemId, secret }) {
  return `${itemId}.${secret}`;
}

/**
 * Return a record that must be there.
 * @template Kind
 * @param {Kind | undefined} record
 * @returns {Kind}
 */
export function existing(record) {
  if (!record) throw new Error("a record that is not there");
  return record;
}

/** Return the raw outputs of records. */
export function rawsOf(records) {
  return records.map(formatRawOutput);
}

/** The records of one transaction of the store, and what of them was changed. */
export class Draft {
  /** @param {Slices} slices */
  constructor(slices) {
    this.slices = slices;
    this.changed = { outputs: new Map(), operations: new Map(), items: new Map() };
  }

  output(key) {
    return this.slices.outputs.get(key);
  }

  operation(key) {
    return this.slices.operations.get(key);
  }

  outputs() {
    return [...this.slices.outputs.values()];
  }

  /** Put an output that the wallet has not seen yet: no record is ever written over by another. */
  addOutput(record) {
    if (this.output(record.key)) {
      throw new WalletError("used_secret", "This secret was used for this deed before.");
    }
    this.#put("outputs", record);
  }

  /** Change some fields of an output. */
  changeOutput(key, fields) {
    const record = existing(this.output(key));
    if (record.state === "spent" && (fields.state ?? "spent") !== "spent") {
      throw new Error("a spent output stays spent");
    }
    const changed = Object.entries({ ...record, ...fields });
    // A field that was taken away is not there, rather than undefined.
    this.#put("outputs", Object.fromEntries(changed.filter(([, value]) => value !== undefined)));
  }

  putOperation(record) {
    this.#put("operations", record);
    return record;
  }

  putItem(item) {
    const record = { ...item, key: item.id };
    this.#put("items", record);
    return record;
  }

  /** Return what a store takes: the records to put, and the result of the transaction. */
  changes(result) {
    const { outputs, operations, items } = this.changed;
    return {
      outputs: [...outputs.values()],
      operations: [...operations.values()],
      items: [...items.values()],
      result,
    };
  }

  #put(kind, record) {
    this.slices[kind].set(record.key, record);
    this.changed[kind].set(record.key, record);
  }
}
