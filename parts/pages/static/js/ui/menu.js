// Menus: a button that opens a list of further actions. The list is a popover: the
// browser shows it above everything else, and closes it on Escape, a tap elsewhere, or
// the button.

/** Between a list and its button, and between a list and the edge of the window. */
const GAP_PX = 8;

/**
 * Set up the menus within an element: each list is a popover that follows its button.
 */
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
 * Move the focus between entries by the arrow keys, Home and End. From the button, the
 * arrow keys lead to the first or last entry.
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

/** Return the button of the menu that contains an element, or the element itself. */
export const openerOf = (/** @type {HTMLElement} */ element) =>
  /** @type {HTMLElement} */ (
    element.closest("[popover]")?.previousElementSibling ?? element
  );

/** Return the height of a closed list. */
function heightOf(/** @type {HTMLElement} */ menu) {
  menu.style.maxHeight = "";
  menu.style.display = "block";
  const { offsetHeight } = menu;
  menu.style.display = "";
  return offsetHeight;
}

/**
 * Place a list below its button, or above if it does not fit and there is more room.
 */
function moveTo({ style }, button, height) {
  const { left, right, top, bottom } = button.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const below = clientHeight - bottom - GAP_PX;
  const isLow = below - GAP_PX < Math.min(height, top);
  const isRtl = document.dir === "rtl";
  // Align with the nearer edge, so that the list stays in the column of its button.
  const atLeft = left < clientWidth - right;
  const edge = atLeft ? left : clientWidth - right;
  style.insetInlineStart = atLeft === isRtl ? "auto" : `${edge}px`;
  style.insetInlineEnd = atLeft === isRtl ? `${edge}px` : "auto";
  style.top = isLow ? "auto" : `${bottom + scrollY}px`;
  style.bottom = isLow ? `${clientHeight - top - scrollY}px` : "auto";
  style.maxWidth = `${clientWidth - edge}px`;
  style.maxHeight = `${isLow ? top - GAP_PX : below}px`;
}
