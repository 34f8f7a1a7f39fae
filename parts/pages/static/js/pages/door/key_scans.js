// Reads scanners that act as keyboards, on USB or Bluetooth, wherever the focus is.
// They work with any keyboard layout of the device; most scanners type as a US
// keyboard.

import { readLinks } from "../../format/claim_link.js";
import { isStrongSecret } from "../../format/raw_output.js";

/** A ticket has at least this many characters. */
const KEYS_MIN = 20;
/**
 * At most this long between two keys counts as quick. No person types KEYS_MIN keys
 * with half of them quick.
 */
const GAP_MS = 50;
/** A scan may pause this long, by radio or on a busy phone. */
const PAUSE_MS = 400;
/**
 * How long a busy page may take after a pause to deliver the keys that came meanwhile.
 */
const LATE_MS = 100;

const TYPED_IN = "input, textarea, select, [contenteditable]";

/**
 * The signs in links, as typed by the keys of a US keyboard, without and with Shift.
 */
const US_SIGNS = {
  Minus: "-_",
  Equal: "=+",
  Semicolon: ";:",
  Period: ".>",
  Slash: "/?",
};
const US_DIGITS = ")!@#$%^&*(";

/**
 * @typedef {{byKey: string, byCode: string}} Scan what was typed, by this device's
 *   layout and by the US layout
 */

/**
 * Return the character that a US keyboard types. Only Shift decides on capitals,
 * because a scanner does not know that Caps Lock is on.
 */
function usCharacter({ code, shiftKey }) {
  const [, letter, digit] = /^(?:Key([A-Z])|Digit([0-9]))$/.exec(code) ?? [];
  if (letter) return shiftKey ? letter : letter.toLowerCase();
  if (digit) return shiftKey ? US_DIGITS[digit] : digit;
  return US_SIGNS[code]?.[Number(shiftKey)];
}

/** Return whether a key is a command or a repetition, and types nothing. */
function isCommand(/** @type {KeyboardEvent} */ event) {
  const { ctrlKey, altKey, metaKey, repeat } = event;
  // On Windows, AltGr, which types signs, counts as Ctrl and Alt.
  const isHeld = (ctrlKey || altKey) && !event.getModifierState("AltGraph");
  return isHeld || metaKey || repeat;
}

/**
 * Return a listener for keydown events that reports each scan. It suppresses the end of
 * a scan, and what follows two quick characters: a blank would press the focused
 * button, and a slash open Firefox's search.
 * @param {(scan: Scan) => void} onScan
 */
export function makeKeyReader(onScan) {
  let byKey = "";
  let byCode = "";
  let quickCount = 0;
  let lastAt = 0;
  let hasEnded = false;
  let timer;

  /** End the text typed so far; return whether it was a scan. */
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
      // Some scanners send two of them.
      hasEnded = end() || hasEnded;
      if (hasEnded) event.preventDefault();
      return;
    }
    const us = usCharacter(event);
    const own = key.length === 1 ? key : "";
    // Shift or an arrow. A dead key has only a US character.
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
 * Return the text of a scan that is a ticket. Capitals, from a scanner or its Caps
 * Lock, are undone only if the checksum of the secret proves that it has none.
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
