// What a wallet keeps: outputs with their secrets, and the operations that move them. Nothing of it
// is ever deleted, and a spent output stays spent.
//
// An output is one of
//   offered  seen in a link, not ours
//   held     ours
//   given    ours, but its link was handed out; `givenAt` says when, for ever after
//   coming   made by an operation that was begun
//   leaving  spent by an operation that was begun; `before` is the state to go back to
//   spent    the service said so
//   void     made by an operation that was refused
// An operation is begun, done or refused.
//
// A link has a `number` of so many, unique within its item, and a person's `note`. A part with `each`
// is still to be split into links of so many units, the first of which gets its number. What came in
// at the door has `collectedAt`, under its old secret and its new one.

import { formatRawOutput } from "../format/raw_output.js";
import { hasFields, KINDS } from "./slices.js";

/**
 * @typedef {{
 *   id: string, total: number, metadata?: string | null, key?: string, unit?: string,
 *   isMinted?: boolean,
 * }} Item `unit` is the issuer's word for one unit, `isMinted` says that this wallet minted it
 * @typedef {{
 *   key: string, itemId: string, amount: number, secret: string, state: string, before?: string,
 *   operation?: string, createdAt: number, changedAt: number, spentElsewhere?: boolean,
 *   unknown?: boolean, givenAt?: number, number?: number, of?: number, each?: number, note?: string,
 *   collectedAt?: number,
 * }} OutputRecord
 * @typedef {{
 *   key: string, kind: string, path: string, body: any, inputs: string[],
 *   outputs: {key: string, state: string}[], state: string, code?: string, itemId?: string,
 *   amount: number, begunAt: number, endedAt?: number, atDoor?: boolean, unit?: string,
 *   links?: {count: number, each: number, from: number, isNext?: boolean},
 * }} OperationRecord `links.isNext` marks a further batch of links that an earlier operation promised
 * @typedef {{outputs: OutputRecord[], operations: OperationRecord[], items: Item[]}} Records
 * @typedef {import("./slices.js").Slices} Slices
 */

/** What a person asked of the wallet cannot be done. The message is for people. */
export class WalletError extends Error {
  name = "WalletError";

  /**
   * @param {string} code
   * @param {string} message
   * @param {number | null} [at] when it happened, in milliseconds, where that is known
   */
  constructor(code, message, at = null) {
    super(message);
    this.code = code;
    this.at = at;
  }
}

/**
 * Return the key of an output's record: no item has two outputs with one secret.
 * @param {{itemId: string, secret: string}} output
 */
export function keyOf({ itemId, secret }) {
  return `${itemId}.${secret}`;
}

/** Return the item of an output's key: no item id has a dot. */
export function itemIdOf(key) {
  return key.slice(0, Math.max(0, key.indexOf(".")));
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

/**
 * Return the outputs that were handed out before there was `givenAt`, with it: whatever is given, or
 * was made by an operation to be given.
 * @param {OutputRecord[]} outputs
 * @param {OperationRecord[]} operations
 */
export function givenBefore(outputs, operations) {
  const made = operations.flatMap((operation) => operation.outputs);
  const links = new Set(made.filter(({ state }) => state === "given").map(({ key }) => key));
  return outputs
    .filter(({ key, state, before, givenAt }) => {
      return givenAt === undefined && (links.has(key) || [state, before].includes("given"));
    })
    .map((output) => ({ ...output, givenAt: output.createdAt }));
}

/** The records of one transaction of the store, and what of them was changed. */
export class Draft {
  /** @param {Slices} slices */
  constructor(slices) {
    this.slices = slices;
    this.changed = Object.fromEntries(KINDS.map((kind) => [kind, new Map()]));
  }

  output(key) {
    return this.slices.outputs.get(key);
  }

  operation(key) {
    return this.slices.operations.get(key);
  }

  /** Return outputs of an item, or all that were loaded. */
  outputs(fields) {
    return this.slices.outputs.list(fields);
  }

  /** Put an output that the wallet has not seen yet: no record is ever written over by another. */
  addOutput(record) {
    if (this.output(record.key)) {
      throw new WalletError("used_secret", "This secret was used for this deed before.");
    }
    this.put("outputs", record);
  }

  /** Change some fields of an output. */
  changeOutput(key, fields) {
    const record = existing(this.output(key));
    if (record.state === "spent" && (fields.state ?? "spent") !== "spent") {
      throw new Error("a spent output stays spent");
    }
    if (hasFields(record, fields)) return;
    const changed = Object.entries({ ...record, ...fields });
    // A field that was taken away is not there, rather than undefined.
    this.put("outputs", Object.fromEntries(changed.filter(([, value]) => value !== undefined)));
  }

  putOperation(record) {
    return this.put("operations", record);
  }

  /** Put an item, with what a wallet knows of it besides. */
  putItem(item) {
    return this.put("items", { ...item, key: item.id });
  }

  put(kind, record) {
    this.slices[kind].put(record);
    this.changed[kind].set(record.key, record);
    return record;
  }

  isChanged() {
    return Object.values(this.changed).some((records) => records.size);
  }

  /** Return what a store takes: the records to put, and the result of the transaction. */
  changes(result) {
    const changed = Object.entries(this.changed).map(([kind, all]) => [kind, [...all.values()]]);
    return { ...Object.fromEntries(changed), result };
  }
}
