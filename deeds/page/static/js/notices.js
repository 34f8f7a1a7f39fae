// Says a short thing at the foot of the window, to eyes and to screen readers alike.

/** How long it stays there, in milliseconds: two lines are read in less. */
const STAY_MS = 6000;

/**
 * Show and speak a text; it goes away by itself and takes the place of the one before it.
 * @param {string} text
 */
export function say(text) {
  // While a dialog is open, all else is out of reach, for screen readers too.
  const dialogs = document.querySelectorAll("dialog[open] [data-notices]");
  const place = [...dialogs].at(-1) ?? document.getElementById("notices");
  const notice = document.createElement("p");
  notice.textContent = text;
  place.replaceChildren(notice);
  setTimeout(() => notice.remove(), STAY_MS);
}
