// Menus: a button, and behind it a list of what can be done besides. The browser itself
// opens the list over all else, and closes it with Escape, a tap elsewhere, or the button.

/** Between a list and its button, and the edge of the window. */
const GAP_PX = 8;

/** Make the menus of a place work: each list is a popover, and its button stands before it. */
export function setUpMenus(/** @type {ParentNode} */ place) {
  /** @type {NodeListOf<HTMLElement>} */
  const lists = place.querySelectorAll("[popover]");
  for (const menu of lists) {
    const button = /** @type {HTMLButtonElement} */ (menu.previousElementSibling);
    button.popoverTargetElement = menu;
    menu.addEventListener("beforetoggle", () => moveTo(menu, button, heightOf(menu)));
    const close = () => menu.hidePopover?.();
    menu.parentElement?.addEventListener("keydown", (event) => step(event, menu));
    menu.addEventListener("click", close);
    menu.addEventListener("focusout", ({ relatedTarget }) => {
      if (relatedTarget instanceof Node && !menu.contains(relatedTarget)) close();
    });
  }
}

/**
 * Let the arrow keys lead from entry to entry, from the button to the first or last, and
 * Home and End to these.
 */
function step(event, /** @type {HTMLElement} */ menu) {
  const entries = /** @type {HTMLElement[]} */ ([...menu.children]).filter(
    ({ hidden }) => !hidden,
  );
  const place = entries.indexOf(/** @type {any} */ (document.activeElement));
  const next = {
    ArrowDown: (place + 1) % entries.length,
    ArrowUp: place < 0 ? place : place - 1,
    Home: 0,
    End: -1,
  }[event.key];
  if (!menu.offsetHeight || next === undefined) return;
  entries.at(next)?.focus();
  event.preventDefault();
}

/** Return what opens the menu that an element is in; the element itself where it is in none. */
export const openerOf = (/** @type {HTMLElement} */ element) =>
  /** @type {HTMLElement} */ (
    element.closest("[popover]")?.previousElementSibling ?? element
  );

/** Return how high a list is that is not open. */
function heightOf(/** @type {HTMLElement} */ menu) {
  menu.style.maxHeight = "";
  menu.style.display = "block";
  const { offsetHeight } = menu;
  menu.style.display = "";
  return offsetHeight;
}

/** Put a list below its button, or above it where there is more room, and needed. */
function moveTo({ style }, button, height) {
  const { left, right, top, bottom } = button.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const below = clientHeight - bottom - GAP_PX;
  const isLow = below - GAP_PX < Math.min(height, top);
  const isRtl = document.dir === "rtl";
  // From the edge that is nearer: so it stays within the column of its button.
  const atLeft = left < clientWidth - right;
  const edge = atLeft ? left : clientWidth - right;
  style.insetInlineStart = atLeft === isRtl ? "auto" : `${edge}px`;
  style.insetInlineEnd = atLeft === isRtl ? `${edge}px` : "auto";
  style.top = isLow ? "auto" : `${bottom + scrollY}px`;
  style.bottom = isLow ? `${clientHeight - top - scrollY}px` : "auto";
  style.maxWidth = `${clientWidth - edge}px`;
  style.maxHeight = `${isLow ? top - GAP_PX : below}px`;
}
