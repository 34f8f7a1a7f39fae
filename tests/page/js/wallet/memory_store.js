// The store of store.js in memory, for tests: one transaction after the other, all or nothing. What
// goes in and out is copied, as a database does.

import { hasFields, KINDS, makeSlices, queriesOf } from "../../../../deeds/page/static/js/wallet/records.js";

export function memoryStore() {
  const kept = Object.fromEntries(KINDS.map((kind) => [kind, new Map()]));
  const loaded = [];

  function load(wanted) {
    const slices = makeSlices();
    for (let plan = wanted; plan; plan = plan.next?.(slices)) {
      for (const { kind, query } of queriesOf(plan)) {
        const found = find(kept[kind], query);
        loaded.push(...found.map(({ key }) => key));
        slices[kind].take(query, found);
      }
    }
    return slices;
  }

  return {
    async read(wanted, look) {
      return structuredClone(look(load(wanted)));
    },
    async update(wanted, apply) {
      const { result, ...changed } = structuredClone(apply(load(wanted)));
      for (const kind of KINDS) {
        // No rule changes a record that it was shown: it puts another.
        for (const record of changed[kind] ?? []) kept[kind].set(record.key, Object.freeze(record));
      }
      return result;
    },
    /** What is kept, for the test to look at, and the key of each record that was ever loaded. */
    kept,
    loaded,
  };
}

function find(records, query) {
  if (query === "all") return [...records.values()];
  if (typeof query !== "string") {
    return [...records.values()].filter((record) => hasFields(record, query));
  }
  return records.has(query) ? [records.get(query)] : [];
}

/** Return the slices of all that is kept, or of records of a test's own. */
export function slicesOf(kept) {
  const slices = makeSlices();
  for (const kind of KINDS) slices[kind].take("all", [...(kept[kind]?.values() ?? [])]);
  return slices;
}
