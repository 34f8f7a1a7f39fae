// The records of records.js in IndexedDB. One `update` is one transaction, which the browser lets no
// other tab come between, and which is there wholly or not at all, on disk when its promise resolves.
//
// Nothing but IndexedDB's own requests may be waited for inside a transaction, or the browser commits
// it too soon: so all is read first, and what decides is a plain function.

const NAME = "deeds";
const VERSION = 1;
const KINDS = ["outputs", "operations", "items"];

/** The browser cannot keep what it should. The message is for people. */
export class StoreError extends Error {
  name = "StoreError";

  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/**
 * @typedef {Awaited<ReturnType<typeof openStore>>} Store
 */

/**
 * Open the store, and create it if it does not exist.
 *
 * @param {IDBFactory} [indexedDB]
 * @param {{makeChannel?: () => BroadcastChannel, onClosed?: () => void}} [options] `onClosed` is
 *   called when the store was closed for good, by a newer page in another tab or by the browser
 * @throws {StoreError}
 */
export async function openStore(
  indexedDB = globalThis.indexedDB,
  { makeChannel = () => new BroadcastChannel(NAME), onClosed = () => {} } = {},
) {
  const database = await openDatabase(indexedDB);
  const channel = makeChannel();
  const listeners = new Set();
  let isClosed = false;
  channel.onmessage = () => tell();
  // A newer page wants to change the store: stand aside, or it waits for ever.
  database.onversionchange = () => {
    close();
    onClosed();
  };
  database.onclose = () => {
    close();
    onClosed();
  };

  function tell() {
    for (const listener of listeners) listener();
  }

  function close() {
    isClosed = true;
    database.close();
    channel.close();
  }

  return {
    /**
     * Return what `look` makes of the records; it must not wait for anything.
     * @template Result
     * @param {(slices: import("./records.js").Slices) => Result} look
     * @returns {Promise<Result>}
     */
    read: (look) => transact(database, "readonly", (slices) => ({ result: look(slices) })),

    /**
     * Put the records that `apply` returns, and return its `result`.
     * @template Result
     * @param {(slices: import("./records.js").Slices) =>
     *   import("./records.js").Records & {result: Result}} apply must not wait for anything; if it
     *   throws, nothing is changed
     * @returns {Promise<Result>}
     */
    async update(apply) {
      const result = await transact(database, "readwrite", apply);
      // Closed in between, for a newer page: what was written is there all the same.
      if (!isClosed) channel.postMessage("changed");
      tell();
      return result;
    },

    /** Call `listener` after every change, in this tab or another; returns what stops that. */
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },

    close,
  };
}

/**
 * Ask the browser not to clear the store when the device runs out of room.
 * @param {StorageManager} [storage]
 * @returns {Promise<boolean>} whether it promises that
 */
export async function askToKeep(storage = globalThis.navigator?.storage) {
  return (await storage?.persist?.()) ?? false;
}

function openDatabase(indexedDB) {
  return new Promise((resolve, reject) => {
    if (!indexedDB) throw unavailable();
    // Firefox throws or refuses here where a person forbids pages to keep anything.
    const request = indexedDB.open(NAME, VERSION);
    request.onupgradeneeded = () => {
      for (const kind of KINDS) request.result.createObjectStore(kind, { keyPath: "key" });
    };
    let isBlocked = false;
    request.onerror = () => reject(storeError(request.error));
    request.onblocked = () => {
      isBlocked = true;
      reject(new StoreError("blocked", "Close the other tabs of this page, then reload it."));
    };
    request.onsuccess = () => {
      // The promise was rejected already; left open, it would block other pages.
      if (isBlocked) request.result.close();
      else resolve(request.result);
    };
  }).catch((error) => {
    throw error instanceof StoreError ? error : storeError(error);
  });
}

function transact(database, mode, apply) {
  return new Promise((resolve, reject) => {
    const transaction = begin(database, mode);
    let result;
    let failure;
    transaction.oncomplete = () => resolve(result);
    transaction.onabort = () => reject(failure ?? storeError(transaction.error));
    const requests = KINDS.map((kind) => transaction.objectStore(kind).getAll());
    // Requests of a transaction end in their order: with the last, all are there.
    requests.at(-1).onsuccess = () => {
      try {
        const changed = apply(slicesOf(requests));
        for (const kind of KINDS) {
          for (const record of changed[kind] ?? []) transaction.objectStore(kind).put(record);
        }
        result = changed.result;
      } catch (error) {
        failure = error;
        transaction.abort();
      }
    };
  });
}

function begin(database, mode) {
  try {
    return database.transaction(KINDS, mode, { durability: "strict" });
  } catch (error) {
    throw storeError(error);
  }
}

function slicesOf(requests) {
  return Object.fromEntries(
    KINDS.map((kind, place) => [
      kind,
      new Map(requests[place].result.map((record) => [record.key, record])),
    ]),
  );
}

function storeError(error) {
  if (error?.name === "QuotaExceededError") {
    return new StoreError(
      "full",
      "This device has no room left to keep it. Make some, then reload this page.",
    );
  }
  if (error?.name === "InvalidStateError") {
    return new StoreError("closed", "This page is out of date. Reload it.");
  }
  if (error?.name === "VersionError") {
    return new StoreError("too_old", "A newer page has been here. Reload this one.");
  }
  return unavailable();
}

function unavailable() {
  return new StoreError(
    "unavailable",
    "This browser keeps nothing for this page. A private window or a setting may be the reason.",
  );
}
