// The mark of a deed: what tells it from another of the same name and picture. Two short ends of its
// id to be read aloud, and a small picture made from the letters between. deeds/page/card.py makes
// the same.

const END_LENGTH = 4;

/** Columns of the picture; the right half mirrors the left. */
const SIDE = 5;
const HALF = 3;

/**
 * Return for example "7kq2·m9xd".
 * @param {string} itemId
 */
export function markText(itemId) {
  const letters = lettersOf(itemId);
  return `${letters.slice(0, END_LENGTH)}·${letters.slice(-END_LENGTH)}`;
}

/**
 * Return the picture: the cells that are filled, of five by five, and a hue in degrees.
 * @param {string} itemId
 * @returns {{cells: [number, number][], hue: number}}
 */
export function markShape(itemId) {
  const hash = hashOf(lettersOf(itemId).slice(END_LENGTH, -END_LENGTH));
  /** @type {[number, number][]} */
  const cells = [];
  for (let place = 0; place < SIDE * SIDE; place += 1) {
    const [x, y] = [place % SIDE, Math.floor(place / SIDE)];
    const bit = y * HALF + Math.min(x, SIDE - 1 - x);
    if ((hash >>> bit) & 1) cells.push([x, y]);
  }
  return { cells, hue: (hash >>> (SIDE * HALF)) % 360 };
}

function lettersOf(itemId) {
  return itemId.replace(/^deed_/, "");
}

/** FNV-1a of 32 bits. An id is random and the service's choice, so that no stronger one is needed. */
function hashOf(letters) {
  let hash = 0x811c9dc5;
  for (const letter of letters) hash = Math.imul(hash ^ letter.charCodeAt(0), 0x01000193);
  return hash >>> 0;
}
