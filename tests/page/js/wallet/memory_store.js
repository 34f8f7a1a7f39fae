// The store of store.js in memory, for tests: one transaction after the other, all or
// nothing. Records are copied on the way in and out, as by a database. After each
// transaction it checks that the states of the outputs that were touched follow from
// the operations.

import assert from "node:assert/strict";

import {
  hasFields,
  keysOf,
  KINDS,
  load,
  makeSlices,
  whole,
} from "../../../../parts/pages/static/js/wallet/records.js";
import { newSeed } from "../../../../parts/pages/static/js/wallet/seeds.js";
import { inState, withEnds } from "../../../../parts/pages/static/js/wallet/states.js";

export function memoryStore(seed = newSeed(0)) {
  const kept = Object.fromEntries(KINDS.map((kind) => [kind, new Map()]));
  kept.seeds.set(seed.key, seed);
  const loaded = [];
  const touched = [];
  let last = Promise.resolve();

  function found(kind, query) {
    const records = find(kept[kind], query);
    loaded.push(...records.map(({ key }) => key));
    return records;
  }

  /** Carry out a transaction once the previous one has ended. */
  function transact(wanted, apply) {
    last = last.catch(() => {}).then(async () => apply(await load(wanted, found)));
    return last;
  }

  /** Store records, also from a test. */
  function put(records) {
    for (const kind of KINDS) {
      // Frozen, because rules must put a new record instead of changing one.
      for (const record of records[kind]?.values() ?? []) {
        touched.push(record, kept[kind].get(record.key));
        kept[kind].set(record.key, Object.freeze(record));
      }
    }
  }

  return {
    put,
    read: (wanted, look) => transact(wanted, (slices) => structuredClone(look(slices))),
    update: (wanted, apply) =>
      transact(wanted, (slices) => {
        const { result, ...changed } = structuredClone(apply(slices));
        put(changed);
        assertFollows(kept, touched.splice(0));
        return result;
      }),
    /** All records by kind and key, and the key of each record that was ever loaded. */
    kept,
    loaded,
  };
}

function assertFollows({ outputs, operations }, touched) {
  const named = ({ key, inputs = [], outputs: made = [] } = {}) => [
    key,
    ...inputs,
    ...keysOf(made),
  ];
  const keys = new Set(touched.flatMap(named));
  const stored = [...outputs.values()].filter(({ key }) => keys.has(key));
  const told = (output) => whole({ takers: {}, makers: {}, ...output });
  const followed = withEnds(stored, [...operations.values()]).map(inState);
  assert.deepEqual(stored.map(told), followed.map(whole));
}

function find(records, query) {
  if (query === "all") return [...records.values()];
  if (typeof query !== "string") {
    return [...records.values()].filter((record) => hasFields(record, query));
  }
  return records.has(query) ? [records.get(query)] : [];
}

/** Return slices of these records, all of which count as loaded. */
export function slicesOf(kept) {
  const slices = makeSlices();
  for (const kind of KINDS) slices[kind].take("all", [...(kept[kind]?.values() ?? [])]);
  return slices;
}
