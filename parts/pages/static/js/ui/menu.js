// Menus: a button, and behind it a list of what can be done besides. The browser itself
// opens the list over all else, and closes it with Escape, a tap elsewhere, or the button.

/** Between a list and its button, and the edge of the window. */
const GAP_PX = 8;

/** Make the menus of a place work: each list is a popover, and its button stands before it. */
export function setUpMenus(/** @type {ParentNode} */ place) {
  for (const list of place.querySelectorAll("[popover]")) {
    const button = /** @type {HTMLButtonElement} */ (list.previousElementSibling);
    const menu = /** @type {HTMLElement} */ (list);
    button.popoverTargetElement = menu;
    menu.addEventListener("beforetoggle", () => moveTo(menu, button, heightOf(menu)));
    const close = () => menu.hidePopover?.();
    list.parentElement?.addEventListener("keydown", (event) => step(event, menu));
    menu.addEventListener("click", close);
    menu.addEventListener("focusout", ({ relatedTarget }) => {
      if (relatedTarget instanceof Node && !menu.contains(relatedTarget)) close();
    });
  }
}

/** Let the arrow keys lead from entry to entry, from the button to the first or last. */
function step(event, /** @type {HTMLElement} */ menu) {
  const isDown = event.key === "ArrowDown";
  if (!menu.offsetHeight || !(isDown || event.key === "ArrowUp")) return;
  const entries = /** @type {HTMLElement[]} */ ([...menu.children]).filter(
    ({ hidden }) => !hidden,
  );
  const place = entries.findIndex((each) => each === document.activeElement);
  entries.at(isDown ? (place + 1) % entries.length : Math.max(place, 0) - 1)?.focus();
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
  const below = clientHeight - bottom - 2 * GAP_PX;
  const isLow = below < Math.min(height, top);
  const isRtl = document.dir === "rtl";
  style.insetInlineEnd = `${isRtl ? left : clientWidth - right}px`;
  style.top = isLow ? "auto" : `${bottom + scrollY}px`;
  style.bottom = isLow ? `${clientHeight - top - scrollY}px` : "auto";
  style.maxWidth = `${isRtl ? clientWidth - left : right}px`;
  style.maxHeight = `${(isLow ? top : clientHeight - bottom) - GAP_PX}px`;
}
