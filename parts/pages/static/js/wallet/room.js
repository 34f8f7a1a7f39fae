// Checks that the disk has room before anything is written. If a write fails for lack
// of space, Chromium leaves half a record in the log of its databases and continues
// after it. Once the databases are opened again, everything after that record is lost,
// or all of them are. So nothing is written without room, and after a failed write the
// browser is first made to begin a new log.
//
// A file of the page shows both. If it can be written, there is room. It stays until
// the write has ended, so the next page sees that a write failed. Its name is also a
// lock that the page holds: a file whose lock is free belongs to a page that is gone.

const NAME = "deeds.room";
const FREE_BYTES = 1024 * 1024;
/**
 * Chromium begins a new log after 4 MiB at most, and releases the previous one when the
 * new one is full.
 */
const ROUNDS_COUNT = 3;
const PIECES_COUNT = 80;
/** getRandomValues fills at most 64 KiB; a larger record would become a file. */
const PIECE_BYTES = 60 * 1024;
const LEAVING_BYTES = 2 * ROUNDS_COUNT * PIECES_COUNT * PIECE_BYTES;

/**
 * Return an object that reserves room for the writes of a page.
 * @param {boolean} [isBroken] whether a write failed; if omitted, look for files of
 *   pages that are gone
 */
export function makeRoom(isBroken) {
  const own = crypto.randomUUID();
  /** @type {any} */
  let place = null;
  /** @type {Promise<void> | null} */
  let taking = null;
  let writesCount = 0;
  /** @type {Promise<void> | undefined} */
  let locking;
  /** @type {Promise<void> | undefined} */
  let giving;

  /** Remove the file in one call, because the page may be closing. */
  const giveBack = () => void (giving = place?.removeEntry(own).catch(() => {}));

  /** @throws {DOMException} QuotaExceededError, whatever the failure was */
  async function take() {
    try {
      // A file cannot be written while it is being removed.
      await giving;
      place = await findPlace();
      if (!place) return;
      await (locking ??= keepLock(own));
      if (isBroken !== false)
        await navigator.locks.request(NAME, () => leaveLog(place, own, isBroken));
      await write(place, own, FREE_BYTES);
    } catch {
      // The file would mean that a write failed, but none was begun.
      if (!isBroken) giveBack();
      throw new DOMException("", "QuotaExceededError");
    }
    isBroken = false;
  }

  return {
    /**
     * Return the result of `act`, which writes. If `act` throws an error whose cause is
     * an error of the browser, the write may have failed halfway.
     * @template Result
     * @param {() => Promise<Result>} act
     * @returns {Promise<Result>}
     * @throws {DOMException} QuotaExceededError: there is no room, and nothing was
     *   begun
     */
    async hold(act) {
      writesCount += 1;
      taking ??= take();
      let isTaken = false;
      try {
        await taking;
        isTaken = true;
        return await act();
      } catch (error) {
        isBroken ||= isTaken && Boolean(error.cause);
        throw error;
      } finally {
        writesCount -= 1;
        if (!writesCount || !isTaken || isBroken) taking = null;
        if (!writesCount && !isBroken) giveBack();
      }
    },
  };
}

/** Return whether there is room, as far as the browser knows. */
export const hasRoom = () =>
  makeRoom(false)
    .hold(async () => true)
    .catch(() => false);

/**
 * Return the directory for the files, or null if the browser has none. The databases of
 * such browsers work differently.
 */
async function findPlace() {
  const root = await navigator.storage?.getDirectory?.().catch(() => null);
  if (!root || !("createWritable" in FileSystemFileHandle.prototype)) return null;
  return root.getDirectoryHandle(NAME, { create: true });
}

const keepLock = (name) =>
  new Promise((resolve) => {
    navigator.locks.request(name, () => {
      resolve(undefined);
      return new Promise(() => {});
    });
  });

/** Return the names of the files of pages that are gone. */
async function leftIn(place) {
  const { held = [] } = await navigator.locks.query();
  const names = [];
  for await (const name of place.keys())
    if (!held.some((lock) => lock.name === name)) names.push(name);
  return names;
}

async function write(place, name, length) {
  const file = await place.getFileHandle(name, { create: true });
  const stream = await file.createWritable();
  await stream.write(new Uint8Array(length));
  await stream.close();
}

/**
 * Make the browser leave the log in which a write failed, and remove the files that
 * showed it.
 */
async function leaveLog(place, own, isBroken) {
  const left = await leftIn(place);
  if (!isBroken && !left.length) return;
  // These files may take up the room, or be about to be removed.
  for (const name of left) await write(place, name, 0).catch(() => {});
  await write(place, own, LEAVING_BYTES);
  await write(place, own, 0);
  for (let round = 0; round < ROUNDS_COUNT; round += 1) await writeBallast();
  for (const name of left) await place.removeEntry(name).catch(() => {});
}

/** Write enough into a database of its own to make the browser begin a new log. */
function writeBallast() {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(NAME);
    opening.onupgradeneeded = () => {
      const pieces = opening.result.createObjectStore("pieces", {
        autoIncrement: true,
      });
      for (let count = 0; count < PIECES_COUNT; count += 1)
        pieces.put(crypto.getRandomValues(new Uint8Array(PIECE_BYTES)));
    };
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      opening.result.close();
      indexedDB.deleteDatabase(NAME);
      resolve(undefined);
    };
  });
}
