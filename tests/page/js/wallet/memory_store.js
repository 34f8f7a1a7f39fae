// The store of store.js in memory, for tests: one transaction after the other, all or nothing. What
// goes in and out is copied, as a database does.

const KINDS = ["outputs", "operations", "items"];

export function memoryStore() {
  const kept = Object.fromEntries(KINDS.map((kind) => [kind, new Map()]));
  return {
    async read(look) {
      return structuredClone(look(kept));
    },
    async update(apply) {
      const { result, ...changed } = structuredClone(apply(structuredClone(kept)));
      for (const kind of KINDS) {
        for (const record of changed[kind]) kept[kind].set(record.key, record);
      }
      return result;
    },
    /** What is kept, for the test to look at. */
    kept,
  };
}
