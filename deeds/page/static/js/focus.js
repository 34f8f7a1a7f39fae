// Where the focus goes when what had it is gone: a person who uses the keyboard must not be thrown
// back to the start of the page.

/**
 * Return the heading of the part of the page that an element is in.
 * @param {Element} element
 * @returns {HTMLElement}
 */
export function headingOf(element) {
  const own = element.closest("[data-holding]")?.querySelector("[data-focus]");
  return own ?? document.getElementById("holdings-title");
}
