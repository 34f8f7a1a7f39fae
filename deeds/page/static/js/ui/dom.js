// Makes elements. Texts stay texts: nothing here, or anywhere in the page, turns one into HTML.

/**
 * Return a new element.
 * @param {string} tag
 * @param {Record<string, string | boolean | EventListener>} [attributes] `true` sets an empty one,
 *   `false` none; a function under `onclick` and the like listens
 * @param {...(Node | string)} children
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/**
 * Return the element with this id; what a page lacks is a fault that should be seen at once.
 * @param {string} id
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no ${id}`);
  return element;
}

let idsCount = 0;

/** Return an id that no other element has. */
export function freshId(word) {
  idsCount += 1;
  return `${word}-made-${idsCount}`;
}

/** Return a button that does no more than `onclick` says. */
export function makeButton(text, onclick, kind = "quiet") {
  return make("button", { type: "button", class: `button ${kind}`, onclick }, text);
}

/**
 * Return the heading of the part of the page that an element is in. It gets the focus when what had
 * it is gone: a person who uses the keyboard must not be thrown back to the start of the page.
 * @param {Element} element
 * @returns {HTMLElement}
 */
export function headingOf(element) {
  const own = element.closest("[data-holding]")?.querySelector("[data-focus]");
  return own ?? document.getElementById("holdings-title");
}
