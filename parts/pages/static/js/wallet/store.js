// The records of records.js in IndexedDB, and short texts beside them in localStorage
// and sessionStorage. One `update` is one transaction: other tabs cannot interleave, it
// is stored whole or not at all, and it is on disk when its promise resolves.
//
// Only IndexedDB's own requests may be awaited inside a transaction, or the browser
// commits it too early. So the records of a plan are loaded first, and a synchronous
// function decides what to change.

import { gettext } from "../format/gettext.js";
import { KINDS, load, WalletError } from "./records.js";
import { hasRoom, makeRoom } from "./room.js";
import { newSeed } from "./seeds.js";

const NAME = "deeds";
const VERSION = 5;

/** What to show for each thing that the browser cannot do. */
const TEXTS = {
  full: gettext(
    "This device is full: free some space, then try again. Your links stay good.",
  ),
  newer: gettext("A newer version of this page was open here. Reload this page."),
  blocked: gettext("Close the other tabs of this page, then reload it."),
  gone: gettext("This page's data was deleted in this browser."),
  closed: gettext("The browser has closed its storage. Reload this page."),
  unavailable: gettext(
    "This browser saves nothing for this page. A private window or a setting may be the reason.",
  ),
};

/**
 * The code for an error of the browser, by the name of the error.
 * @type {Map<string, keyof typeof TEXTS>}
 */
const CODES = new Map([
  ["QuotaExceededError", "full"],
  ["VersionError", "newer"],
]);

/** The browser cannot store what it should. */
export class StoreError extends WalletError {
  name = "StoreError";

  /**
   * @param {keyof typeof TEXTS} code
   * @param {any} [cause] the error that the browser threw
   */
  constructor(code, cause) {
    super(code, TEXTS[code]);
    this.cause = cause;
  }
}

/**
 * Return the error for what the browser has thrown. A full disk has many names, so
 * check for it first. `otherwise` is the code if there is room and the database exists.
 */
async function meaningOf(/** @type {any} */ { cause, name }, otherwise) {
  const known = CODES.get(cause?.name ?? name);
  if (known) return new StoreError(known);
  if (!(await hasRoom())) return new StoreError("full");
  const names = await indexedDB.databases?.().catch(() => null);
  const isThere = names?.some(({ name }) => name === NAME) ?? true;
  return new StoreError(otherwise === "closed" && !isThere ? "gone" : otherwise);
}

/**
 * Open the store, and create it if it does not exist.
 * @typedef {Awaited<ReturnType<typeof openStore>>} Store
 * @param {(error: StoreError) => void} [onClosed] called with the reason when the store
 *   was closed for good
 * @throws {StoreError}
 */
export async function openStore(onClosed = () => {}) {
  const room = makeRoom();
  const database = await openDatabase(room);
  const channel = new BroadcastChannel(NAME);
  const listeners = new Set();
  /** @type {Promise<StoreError> | null} */
  let ending = null;
  const notify = () => listeners.forEach((listener) => listener());
  channel.onmessage = notify;
  database.onclose = () => end(meaningOf({}, "closed"));
  // A newer page wants to upgrade the store, and waits until all other pages close it.
  database.onversionchange = ({ newVersion }) =>
    end(Promise.resolve(new StoreError(newVersion ? "newer" : "gone")));

  function end(reason) {
    ending ??= reason;
    database.close();
    channel.close();
    reason.then(onClosed);
  }

  async function run(mode, plan, apply) {
    if (ending) throw await ending;
    const carryOut = () => transact(database, mode, plan, apply);
    try {
      return await (mode === "readonly" ? carryOut() : room.hold(carryOut));
    } catch (error) {
      const isOurs = error instanceof StoreError || CODES.has(error.name);
      if (!isOurs) throw error;
      throw await (ending ?? meaningOf(error, "closed"));
    }
  }

  return {
    /**
     * Return the result of `look`, which must not await anything and sees only the
     * records of the plan.
     * @template Result
     * @param {import("./records.js").Plan} plan
     * @param {(slices: import("./records.js").Slices) => Result} look
     * @returns {Promise<Result>}
     */
    read: (plan, look) => run("readonly", plan, (slices) => ({ result: look(slices) })),

    /**
     * Store the records that `apply` returns, by kind, and return its `result`. It must
     * not await anything. If it throws, nothing is changed.
     * @param {import("./records.js").Plan} plan
     * @param {(slices: import("./records.js").Slices) => any} apply
     */
    async update(plan, apply) {
      let hasNews = false;
      let isHolding = false;
      const result = await run("readwrite", plan, (slices) => {
        const changed = apply(slices);
        isHolding ||= Boolean(changed.outputs);
        // A stored QR code changes nothing that pages show.
        hasNews = KINDS.some((kind) => kind !== "codes" && changed[kind]);
        return changed;
      });
      // A database does not show that it was emptied, so remember that there was a
      // wallet.
      if (isHolding && !inBrowser.read(SINCE))
        inBrowser.write(SINCE, String(Date.now()));
      // The store may have been closed for a newer page, but the records are written.
      if (hasNews && !ending) channel.postMessage("changed");
      if (hasNews) notify();
      return result;
    },

    /**
     * Call `listener` after every change, in this tab or another. Return a function
     * that stops this.
     */
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Ask the browser not to evict the store when the device runs out of room. */
export const askToKeep = async () => globalThis.navigator?.storage?.persist?.();

/**
 * Names in localStorage of two times: since when there is a wallet, and since when
 * there was one that is gone.
 */
const SINCE = "deeds.since";
const LOST = "deeds.lost";

/**
 * Return functions that read and write texts in a storage, by name. Writing an empty
 * text removes the name. If there is no text, or the browser stores none, reading
 * returns an empty text. Nothing is thrown.
 * @param {() => Storage} findStorage may throw, and so may the storage
 */
export function textsIn(findStorage) {
  const attempt = (act) => {
    try {
      return act(findStorage());
    } catch {
      return null;
    }
  };
  return {
    read: (name) => attempt((storage) => storage.getItem(name)) ?? "",
    write: (name, text) =>
      attempt((storage) =>
        text ? storage.setItem(name, text) : storage.removeItem(name),
      ),
  };
}

/** Texts that all tabs share, beside the wallet. */
export const inBrowser = textsIn(() => localStorage);

/** Texts of this tab. */
export const inTab = textsIn(() => sessionStorage);

function noteLoss() {
  const since = inBrowser.read(SINCE);
  if (since) inBrowser.write(LOST, since);
  inBrowser.write(SINCE, "");
}

/** Return since when there was a wallet that is gone, in milliseconds, or 0. */
export const lostSince = () => Number(inBrowser.read(LOST));

/** Stop reporting the wallet that is gone. */
export const forgetLoss = () => inBrowser.write(LOST, "");

async function openDatabase(room) {
  // Without a wallet before, opening creates the database, which writes.
  const isNew = !inBrowser.read(SINCE);
  try {
    return await (isNew ? room.hold(requestDatabase) : requestDatabase());
  } catch (error) {
    if (error instanceof StoreError && !error.cause) throw error;
    throw await meaningOf(error, "unavailable");
  }
}

function requestDatabase() {
  return new Promise((resolve, reject) => {
    // Firefox throws or fails here if the person forbids pages to store data.
    const request = indexedDB.open(NAME, VERSION);
    request.onupgradeneeded = () => create(request.result);
    let isBlocked = false;
    request.onerror = () => reject(new StoreError("unavailable", request.error));
    request.onblocked = () => {
      isBlocked = true;
      reject(new StoreError("blocked"));
    };
    request.onsuccess = () => {
      // The promise was rejected already. An open database would block other pages.
      if (isBlocked) request.result.close();
      else resolve(request.result);
    };
  });
}

/** Create the stores of records. If older ones exist, this throws, and they stay. */
function create(/** @type {IDBDatabase} */ database) {
  for (const kind of KINDS) {
    const records = database.createObjectStore(kind, { keyPath: "key" });
    // One index for all records of an item, and for those of them in a state.
    records.createIndex("item", ["itemId", "state"]);
    records.createIndex("state", "state");
    if (kind === "seeds") records.put(newSeed());
  }
  noteLoss();
}

function transact(database, mode, plan, apply) {
  return new Promise((resolve, reject) => {
    const transaction = begin(database, mode);
    let result;
    let failure;
    transaction.oncomplete = () => resolve(result);
    transaction.onabort = () =>
      reject(failure ?? new StoreError("closed", transaction.error));

    async function run() {
      const changed = apply(await load(plan, (...query) => ask(transaction, ...query)));
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

/** Run one query of records.js: a key finds one record or none, others a list. */
function ask(transaction, kind, query) {
  const request = requestOf(transaction.objectStore(kind), query);
  // A request that fails aborts its transaction.
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
    throw new StoreError("closed", error);
  }
}
