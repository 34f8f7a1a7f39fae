// Reads a scanner that acts as a keyboard, by USB or Bluetooth, wherever the focus is,
// and whatever layout this device has: most scanners type as a US keyboard.

import { readLinks } from "../../format/claim_link.js";
import { isStrongSecret } from "../../format/raw_output.js";

/** Fewer characters are no ticket. */
const KEYS_MIN = 20;
/** Nobody types that many keys, half of them each within so long. */
const GAP_MS = 50;
/** A scan may pause for so long: by radio, or on a busy phone. */
const PAUSE_MS = 400;
/** After a pause, a busy page has so long to hand over the keys that came meanwhile. */
const LATE_MS = 100;

const TYPED_IN = "input, textarea, select, [contenteditable]";

/** What the keys of a US keyboard type, alone and with Shift: the signs of links. */
const US_SIGNS = {
  Minus: "-_",
  Equal: "=+",
  Semicolon: ";:",
  Period: ".>",
  Slash: "/?",
};
const US_DIGITS = ")!@#$%^&*(";

/** @typedef {{byKey: string, byCode: string}} Scan what was typed, by this device's layout and the US one */

/**
 * Return what a US keyboard types with a key. Shift alone decides on capitals: a
 * scanner does not know that Caps Lock is on.
 */
function usCharacter({ code, shiftKey }) {
  const [, letter, digit] = /^(?:Key([A-Z])|Digit([0-9]))$/.exec(code) ?? [];
  if (letter) return shiftKey ? letter : letter.toLowerCase();
  if (digit) return shiftKey ? US_DIGITS[digit] : digit;
  return US_SIGNS[code]?.[Number(shiftKey)];
}

/** Return whether a key is pressed for something else than what it types. */
function isCommand(/** @type {KeyboardEvent} */ event) {
  const { ctrlKey, altKey, metaKey, repeat } = event;
  // AltGr, which types signs, counts as both on Windows.
  const isHeld = (ctrlKey || altKey) && !event.getModifierState("AltGraph");
  return isHeld || metaKey || repeat;
}

/**
 * Return what hears of each key that goes down, and tells of each scan. It holds back
 * the end of a scan, and what follows two characters at that pace: a blank would press
 * the button that has the focus, and a slash open Firefox's search.
 * @param {(scan: Scan) => void} onScan
 */
export function makeKeyReader(onScan) {
  let byKey = "";
  let byCode = "";
  let quickCount = 0;
  let lastAt = 0;
  let hasEnded = false;
  let timer;

  /** Return whether a scan ends here. */
  function end() {
    clearTimeout(timer);
    const scan = { byKey, byCode };
    const isScan = byCode.length >= KEYS_MIN && 2 * quickCount >= byCode.length;
    forget();
    if (isScan) onScan(scan);
    return isScan;
  }

  function forget() {
    byKey = "";
    byCode = "";
    quickCount = 0;
  }

  return (/** @type {KeyboardEvent} */ event) => {
    const { key, target, timeStamp } = event;
    const gapMs = timeStamp - lastAt;
    const isOver = gapMs > PAUSE_MS + LATE_MS;
    lastAt = timeStamp;
    if (isOver) hasEnded = false;
    if (isCommand(event) || /** @type {Element} */ (target).closest(TYPED_IN))
      return forget();
    if (key === "Enter" || key === "Tab") {
      // Some send two of them.
      hasEnded = end() || hasEnded;
      if (hasEnded) event.preventDefault();
      return;
    }
    const us = usCharacter(event);
    const own = key.length === 1 ? key : "";
    // Shift, or an arrow; a dead key types by its place alone.
    if (!own && us === undefined) return;
    if (isOver) end();
    hasEnded = false;
    byKey += own;
    byCode += us ?? own;
    if (gapMs <= GAP_MS) quickCount += 1;
    if (quickCount) event.preventDefault();
    clearTimeout(timer);
    timer = setTimeout(() => (timer = setTimeout(end, LATE_MS)), PAUSE_MS);
  };
}

/**
 * Return the text of a scan that is a ticket. Capitals, of a scanner or its Caps Lock,
 * are undone only where the secret proves that it has none.
 */
export async function textOfScan(/** @type {Scan} */ { byKey, byCode }) {
  const typed = [byKey, byCode];
  for (const text of [...typed, ...typed.map((each) => each.toLowerCase())]) {
    const [link] = (await readLinks(text)).links;
    if (!link) continue;
    if (typed.includes(text) || (await isStrongSecret(link.output.secret))) return text;
  }
  return byKey;
}
