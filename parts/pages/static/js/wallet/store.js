// The records of records.js in IndexedDB. One `update` is one transaction, which the
// browser lets no other tab come between, and which is there wholly or not at all, on
// disk when its promise resolves.
//
// Nothing but IndexedDB's own requests may be waited for inside a transaction, or the
// browser commits it too soon: so what is wanted is read first, and what decides is a
// plain function.

import { gettext } from "../format/gettext.js";
import { KINDS, load, WalletError, whole } from "./records.js";
import { newSeed } from "./seeds.js";
import { believed, inState, withEnds } from "./states.js";

const NAME = "deeds";
const VERSION = 5;

/** One index for all of an item, and for what of it is in a state. */
const INDEXES = { item: ["itemId", "state"], state: "state" };
const INDEXED_KINDS = ["outputs", "operations"];

/** Messages for people, by the browser's name for what it cannot do. */
const TEXTS = {
  QuotaExceededError: gettext(
    "This device has no room left to keep it. Make some, then reload this page.",
  ),
  InvalidStateError: gettext("This page is out of date. Reload it."),
  VersionError: gettext("A newer page has been here. Reload this one."),
  blocked: gettext("Close the other tabs of this page, then reload it."),
  unavailable: gettext(
    "This browser keeps nothing for this page. A private window or a setting may be the reason.",
  ),
};

/** The browser cannot keep what it should. */
class StoreError extends WalletError {
  name = "StoreError";

  /** @param {any} error */
  constructor(error) {
    const code = error?.name in TEXTS ? error.name : "unavailable";
    super(code, TEXTS[code]);
  }
}

/**
 * @typedef {Awaited<ReturnType<typeof openStore>>} Store
 *
 * Open the store, and create it if it does not exist.
 * @param {() => void} [onClosed] called when it was closed for good, by a newer page in another tab
 *   or by the browser
 * @throws {StoreError}
 */
export async function openStore(onClosed = () => {}) {
  const database = await openDatabase();
  const channel = new BroadcastChannel(NAME);
  const listeners = new Set();
  let isClosed = false;
  const tell = () => listeners.forEach((listener) => listener());
  channel.onmessage = tell;
  database.onclose = () => {
    close();
    onClosed();
  };
  // A newer page wants to change the store: stand aside, or it waits for ever.
  database.onversionchange = database.onclose;

  function close() {
    isClosed = true;
    database.close();
    channel.close();
  }

  return {
    /**
     * Return what `look` makes of the records; it must not wait for anything, and sees
     * no others.
     * @template Result
     * @param {import("./records.js").Plan} wanted
     * @param {(slices: import("./records.js").Slices) => Result} look
     * @returns {Promise<Result>}
     */
    read: (wanted, look) =>
      transact(database, "readonly", wanted, (slices) => ({ result: look(slices) })),

    /**
     * Put the records that `apply` returns by their kind, and return its `result`; it
     * must not wait for anything, and if it throws, nothing is changed.
     * @param {import("./records.js").Plan} wanted
     * @param {(slices: import("./records.js").Slices) => any} apply
     */
    async update(wanted, apply) {
      let isTold = false;
      const result = await transact(database, "readwrite", wanted, (slices) => {
        const changed = apply(slices);
        // Nobody shows more or less because a picture was kept.
        isTold = KINDS.some((kind) => kind !== "codes" && changed[kind]);
        return changed;
      });
      // Closed in between, for a newer page: what was written is there all the same.
      if (isTold && !isClosed) channel.postMessage("changed");
      if (isTold) tell();
      return result;
    },

    /**
     * Call `listener` after every change, in this tab or another; returns what stops
     * that.
     */
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },

    close,
  };
}

/** Ask the browser not to clear the store when the device runs out of room. */
export const askToKeep = async () => globalThis.navigator?.storage?.persist?.();

/**
 * Return what `act` makes of this tab's own storage, or null where the browser keeps
 * nothing.
 */
export function inSession(act, findStorage = () => sessionStorage) {
  try {
    return act(findStorage());
  } catch {
    return null;
  }
}

function openDatabase() {
  return new Promise((resolve, reject) => {
    // Firefox throws or refuses here where a person forbids pages to keep anything.
    const request = indexedDB.open(NAME, VERSION);
    request.onupgradeneeded = ({ oldVersion }) =>
      oldVersion ? convert(request.transaction) : create(request.result);
    let isBlocked = false;
    request.onerror = () => reject(request.error);
    request.onblocked = () => {
      isBlocked = true;
      reject({ name: "blocked" });
    };
    request.onsuccess = () => {
      // The promise was rejected already; left open, it would block other pages.
      if (isBlocked) request.result.close();
      else resolve(request.result);
    };
  }).catch((error) => {
    throw new StoreError(error);
  });
}

function create(/** @type {IDBDatabase} */ database) {
  for (const kind of KINDS) {
    const records = database.createObjectStore(kind, { keyPath: "key" });
    const indexes = INDEXED_KINDS.includes(kind) ? INDEXES : {};
    for (const [name, fields] of Object.entries(indexes))
      records.createIndex(name, fields);
    if (kind === "seeds") records.put(newSeed());
  }
}

/** Version 4 wrote down the states of outputs, and not what they follow from. */
function convert(/** @type {any} */ transaction) {
  const outputs = transaction.objectStore("outputs");
  transaction.objectStore("operations").getAll().onsuccess = ({
    target: { result: all },
  }) => {
    outputs.getAll().onsuccess = ({ target: { result: stored } }) => {
      for (const output of withEnds(stored, all))
        outputs.put(whole(inState(believed(output))));
    };
  };
}

function transact(database, mode, wanted, apply) {
  return new Promise((resolve, reject) => {
    const transaction = begin(database, mode);
    let result;
    let failure;
    transaction.oncomplete = () => resolve(result);
    transaction.onabort = () => reject(failure ?? new StoreError(transaction.error));

    async function run() {
      const changed = apply(
        await load(wanted, (...query) => ask(transaction, ...query)),
      );
      for (const kind of KINDS) {
        for (const record of changed[kind]?.values() ?? [])
          transaction.objectStore(kind).put(record);
      }
      result = changed.result;
    }

    run().catch((error) => {
      failure = error;
      transaction.abort();
    });
  });
}

/**
 * Ask for what one query of records.js wants: a key finds one record or none, all else
 * a list.
 */
function ask(transaction, kind, query) {
  const request = requestOf(transaction.objectStore(kind), query);
  // One that fails ends its transaction.
  return new Promise((resolve) => {
    request.onsuccess = () => resolve([request.result ?? []].flat());
  });
}

function requestOf(records, query) {
  if (query === "all") return records.getAll();
  if (typeof query === "string") return records.get(query);
  const { itemId, state } = query;
  if (itemId === undefined) return records.index("state").getAll(state);
  const all = IDBKeyRange.bound([itemId], [itemId, []]);
  return records.index("item").getAll(state === undefined ? all : [itemId, state]);
}

function begin(database, mode) {
  try {
    return database.transaction(KINDS, mode, { durability: "strict" });
  } catch (error) {
    throw new StoreError(error);
  }
}
