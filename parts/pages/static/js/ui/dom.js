// DOM functions that all pages use: elements, lists, and giving a text to the person by
// clipboard or file. No code of the pages turns text into HTML.

import { gettext } from "../format/gettext.js";

/** Records that a list shows before a person asks for more. */
const SHOWN_AT_ONCE = 100;

// A busy browser, or one that first asks where to save the file, reads it late.
const TAKEN_MS_MAX = 60_000;

/**
 * Return a new element.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | boolean | EventListener>} [attributes] `true` sets an
 *   empty attribute, `false` omits it; a function, for example under `onclick`, becomes
 *   the listener
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element[name] = value;
    else if (value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/**
 * Return the first element that matches. Throw an error if there is none, which is a
 * defect of the page.
 * @template {HTMLElement} [Kind=HTMLElement]
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => Kind} [kind] HTMLElement by default
 * @returns {Kind}
 */
export function find(root, selector, kind) {
  const element = root.querySelector(selector);
  if (!(element instanceof (kind ?? HTMLElement)))
    throw new Error(`the page has no ${selector}`);
  return /** @type {Kind} */ (element);
}

/**
 * @template {HTMLElement} [Kind=HTMLElement]
 * @param {string} id
 * @param {new () => Kind} [kind]
 */
export function byId(id, kind) {
  return find(document, `#${id}`, kind);
}

export function copyTemplate(id) {
  const { content } = byId(id, HTMLTemplateElement);
  return /** @type {HTMLElement} */ (content.firstElementChild?.cloneNode(true));
}

/**
 * Return a function that finds the parts of an element by name.
 * @param {ParentNode} element
 * @param {string} [attribute] the attribute that names a part, without "data-"
 */
export function partsIn(element, attribute = "part") {
  return (name) => find(element, `[data-${attribute}="${name}"]`);
}

/**
 * Set a property of several elements. `values` maps their ids, or other names, to the
 * values.
 */
export function setEach(
  property,
  values,
  elementOf = /** @type {(name: string) => HTMLElement} */ (byId),
) {
  for (const [name, value] of Object.entries(values)) elementOf(name)[property] = value;
}

/** Set the text of an element if it differs: screen readers would repeat it. */
export function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Return how many inputs or outputs the service takes in a request, as the page states.
 */
export const arrayMax = () => Number(document.body.dataset.arrayMax);

let idsCount = 0;

/** Return an id that no other element has. */
export function freshId() {
  idsCount += 1;
  return `made-${idsCount}`;
}

/**
 * Return a button that calls `act` with itself. Screen readers add `about` to its text.
 */
export function makeButton(text, act, { kind = "quiet", about = "" } = {}) {
  const button = make("button", { type: "button", class: `button ${kind}` }, text);
  button.onclick = () => act(button);
  if (about) button.append(make("span", { class: "unseen" }, about));
  return button;
}

export const makeHint = (...content) => make("p", { class: "hint" }, ...content);

export const makeActions = (...buttons) => make("p", { class: "actions" }, ...buttons);

/**
 * Return the heading of the section that an element is in. It gets the focus when the
 * focused element is removed: keyboard users must not be sent back to the start of the
 * page.
 */
export function headingOf(/** @type {Element} */ element) {
  const own = element.closest("[data-holding]")?.querySelector("[data-focus]");
  return /** @type {HTMLElement} */ (
    own ?? document.querySelector("main h1[tabindex]") ?? byId("main")
  );
}

/**
 * Return a function that draws records in order, a hundred at a time. Rows that exist
 * are reused, so what a person has typed, opened or focused stays when something else
 * changes.
 * @template Record
 * @param {Element} list contains the rows only
 * @param {HTMLElement | null} more the button that shows a hundred more; if null, all
 *   are shown
 * @param {{
 *   keyOf: (record: Record) => string,
 *   make: (record: Record) => {element: Element, update?: (record: Record) => void},
 * }} options
 * @returns {(records: Record[]) => void}
 */
export function listInPieces(list, more, { keyOf, make: makeRow }) {
  let shownCount = more ? SHOWN_AT_ONCE : Infinity;
  let views = new Map();
  /** @type {Record[]} */
  let all = [];

  function draw(records) {
    const before = views;
    const viewOf = (record) => before.get(keyOf(record)) ?? makeRow(record);
    all = records;
    const shown = all.slice(0, shownCount);
    views = new Map(shown.map((record) => [keyOf(record), viewOf(record)]));
    for (const record of shown) views.get(keyOf(record)).update?.(record);
    let focusedPlace = -1;
    for (const [key, { element }] of before) {
      if (views.has(key)) continue;
      if (element.contains(document.activeElement))
        focusedPlace = [...list.children].indexOf(element);
      element.remove();
    }
    [...views.values()].forEach(({ element }, place) => {
      if (list.children[place] !== element)
        list.insertBefore(element, list.children[place]);
    });
    if (more) more.hidden = all.length <= shownCount;
    if (focusedPlace >= 0) focusRow(focusedPlace);
  }

  /**
   * Focus the first link or button of a row, else the row or the heading of the list.
   */
  function focusRow(place) {
    const row = list.children[place];
    /** @type {HTMLElement} */ (
      row?.querySelector("a, button") ?? row ?? headingOf(list)
    ).focus();
  }

  more?.addEventListener("click", () => {
    const first = shownCount;
    shownCount += SHOWN_AT_ONCE;
    draw(all);
    focusRow(first);
  });
  return draw;
}

/**
 * Show the first element. Return the button that shows the next one, and the position;
 * nothing for a single element. As long as any element is left, the button skips those
 * that are not.
 * @param {(each: any) => boolean} [isLeft]
 */
export function oneAfterTheOther(all, show, isLeft = () => true) {
  const step = make("span", { class: "faint", role: "status" });
  let place = 0;
  const draw = () => {
    step.textContent = gettext("{number} of {total}", {
      number: place + 1,
      total: all.length,
    });
    show(all[place]);
  };
  const showNext = () => {
    const others = [...all.slice(place + 1), ...all.slice(0, place)];
    place = all.indexOf(others.find(isLeft) ?? others[0]);
    draw();
  };
  draw();
  return all.length > 1 ? [makeButton(gettext("Next"), showNext), step] : [];
}

/**
 * Copy a text, or the result of a promise: Safari permits copying only if it is
 * requested during the tap.
 * @returns {Promise<boolean>} whether the browser copied it
 */
export async function copyText(text) {
  const blobOf = (whole) => new Blob([whole], { type: "text/plain" });
  try {
    // Without a clipboard this fails before a promise is created.
    await navigator.clipboard.write([
      new ClipboardItem({ "text/plain": Promise.resolve(text).then(blobOf) }),
    ]);
    return true;
  } catch {
    // The clipboard needs https or localhost, and the person's consent. If the text
    // itself failed, throw that error.
    await text;
    return false;
  }
}

/**
 * Scale the text of an element, by `--fit` in its style, to the largest size at which
 * all of it is visible, now and whenever the element's size changes. Return a function
 * to call after the text has changed.
 */
export function keepFitting(/** @type {HTMLElement} */ place) {
  function fit() {
    for (let percent = 100; percent > 20; percent -= 5) {
      place.style.setProperty("--fit", `${percent / 100}`);
      const { scrollHeight, clientHeight, scrollWidth, clientWidth } = place;
      if (scrollHeight <= clientHeight && scrollWidth <= clientWidth) return;
    }
  }
  new ResizeObserver(fit).observe(place);
  return fit;
}

/**
 * Call `act` when the person returns to the page and when the network does. Return a
 * function that stops this.
 */
export function onReturn(act) {
  const ending = new AbortController();
  const { signal } = ending;
  for (const event of ["focus", "online", "visibilitychange"])
    window.addEventListener(event, () => act(), { signal });
  return () => ending.abort();
}

/** Wait, then resolve to the value. */
export const pause = (milliseconds, value) =>
  new Promise((resolve) => setTimeout(resolve, milliseconds, value));

export function download(text, type, name) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), TAKEN_MS_MAX);
}

/** Keep the screen on, if the browser can. Return a function that stops this. */
export function keepAwake() {
  let lock;
  const take = () => {
    // Browsers release the lock when the page is hidden.
    if (!document.hidden)
      lock = navigator.wakeLock?.request("screen").catch(() => null);
  };
  document.addEventListener("visibilitychange", take);
  take();
  return async () => {
    document.removeEventListener("visibilitychange", take);
    (await lock)?.release();
  };
}
