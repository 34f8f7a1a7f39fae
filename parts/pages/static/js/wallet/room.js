// Asks whether the disk has room, before something is written. When a write breaks off
// for want of room, Chromium leaves half a record in the log of its databases and goes
// on behind it: once they are opened again, all that is behind it is gone, or all of
// them. So nothing is written while there is no room; and after a write that broke off
// that log is left behind first.
//
// A file of the page's own tells both: it can be written, so there is room, and it stays
// until the write has ended, so the next page sees one that broke off. Its name is a lock
// that the page keeps: what nobody holds is of a page that is gone.

const NAME = "deeds.room";
const FREE_BYTES = 1024 * 1024;
/**
 * Chromium begins a new log after 4 MiB at most, and has let go of the one before it
 * when the next is full.
 */
const ROUNDS_COUNT = 3;
const PIECES_COUNT = 80;
/** As many as random bytes can be asked for at once; a bigger record is a file. */
const PIECE_BYTES = 60 * 1024;
const LEAVING_BYTES = 2 * ROUNDS_COUNT * PIECES_COUNT * PIECE_BYTES;

/**
 * Return what holds room for the writes of a page.
 * @param {boolean} [isBroken] whether a write broke off; unless given, files are looked for
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

  /** With one call: the page may be left just now. */
  const giveBack = () => void (giving = place?.removeEntry(own).catch(() => {}));

  /** @throws {DOMException} QuotaExceededError: by whatever name it failed */
  async function take() {
    try {
      // While a file is removed it cannot be written.
      await giving;
      place = await findPlace();
      if (!place) return;
      await (locking ??= keepLock(own));
      if (isBroken !== false)
        await navigator.locks.request(NAME, () => leaveLog(place, own, isBroken));
      await write(place, own, FREE_BYTES);
    } catch {
      // It tells of a write that broke off, and none was begun.
      if (!isBroken) giveBack();
      throw new DOMException("", "QuotaExceededError");
    }
    isBroken = false;
  }

  return {
    /**
     * Return what `act` makes, which writes. It may have broken off where it throws an
     * error with a cause, the browser's.
     * @template Result
     * @param {() => Promise<Result>} act
     * @returns {Promise<Result>}
     * @throws {DOMException} QuotaExceededError: there is no room, and nothing was begun
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

/** Return whether there is room, as far as this browser says. */
export const hasRoom = () =>
  makeRoom(false)
    .hold(async () => true)
    .catch(() => false);

/**
 * Return the place for the files. A browser that has no such place cannot be asked, and
 * its databases are of another kind.
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

/** Leave the log behind in which a write broke off, and what told of it. */
async function leaveLog(place, own, isBroken) {
  const left = await leftIn(place);
  if (!isBroken && !left.length) return;
  // They may hold the room themselves, or be on their way out.
  for (const name of left) await write(place, name, 0).catch(() => {});
  await write(place, own, LEAVING_BYTES);
  await write(place, own, 0);
  for (let round = 0; round < ROUNDS_COUNT; round += 1) await writeBallast();
  for (const name of left) await place.removeEntry(name).catch(() => {});
}

/** Write so much into a database of its own that the browser begins a new log. */
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
