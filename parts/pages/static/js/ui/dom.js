// What each page needs of the browser: elements, lists of them, and to hand a text to
// the person, on the clipboard or as a file. Texts stay texts: nothing here, or
// anywhere in the page, turns one into HTML.

import { gettext } from "../format/gettext.js";

/** How many records a list draws before a person asks for more. */
const SHOWN_AT_ONCE = 100;

// A browser that is busy, or asks first where to put it, takes hold of it late.
const TAKEN_MS_MAX = 60_000;

/**
 * Return a new element.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | boolean | EventListener>} [attributes] `true` sets an empty one,
 *   `false` leaves it out; a function under `onclick` and the like listens
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
 * Return the first element that matches; what a page lacks is a fault that should be
 * seen at once.
 * @template {HTMLElement} [Kind=HTMLElement]
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => Kind} [kind] HTMLElement unless given
 * @returns {Kind}
 */
export function find(root, selector, kind) {
  const element = root.querySelector(selector);
  if (!(element instanceof (kind ?? HTMLElement)))
    throw new Error(`the page has no ${selector}`);
  return /** @type {Kind} */ (element);
}

/**
 * Return the element with this id.
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
 * Return what finds the parts of an element by their names.
 * @param {ParentNode} element
 * @param {string} [attribute] the one that names a part, after "data-"
 */
export function partsIn(element, attribute = "part") {
  return (name) => find(element, `[data-${attribute}="${name}"]`);
}

/** Give each of these elements, by their ids or other names, its value of a property. */
export function setEach(
  property,
  values,
  elementOf = /** @type {(name: string) => HTMLElement} */ (byId),
) {
  for (const [name, value] of Object.entries(values)) elementOf(name)[property] = value;
}

/** Write a text into an element; what did not change is not spoken again. */
export function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** How many outputs the service takes at once, as the page says. */
export const arrayMax = () => Number(document.body.dataset.arrayMax);

let idsCount = 0;

/** Return an id that no other element has. */
export function freshId() {
  idsCount += 1;
  return `made-${idsCount}`;
}

/**
 * Return a button that does no more than `act`, which gets the button; screen readers
 * say also what it is about.
 */
export function makeButton(text, act, { kind = "quiet", about = "" } = {}) {
  const button = make("button", { type: "button", class: `button ${kind}` }, text);
  button.onclick = () => act(button);
  if (about) button.append(make("span", { class: "unseen" }, about));
  return button;
}

export const makeHint = (...content) => make("p", { class: "hint" }, ...content);

/** Return a row of buttons. */
export const makeActions = (...buttons) => make("p", { class: "actions" }, ...buttons);

/**
 * Return the heading of the part of the page that an element is in. It gets the focus
 * when what had it is gone: a person who uses the keyboard must not be thrown back to
 * the start of the page.
 */
export function headingOf(/** @type {Element} */ element) {
  const own = element.closest("[data-holding]")?.querySelector("[data-focus]");
  return /** @type {HTMLElement} */ (
    own ?? document.querySelector("main h1[tabindex]") ?? byId("main")
  );
}

/**
 * Return what draws records in their order, a hundred at a time. What is there already
 * is left: what a person has typed, opened or focused stays when something else
 * changes.
 * @template Record
 * @param {Element} list holds nothing else
 * @param {HTMLElement | null} more the button that shows a hundred more; without it all are shown
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

  /** Give the focus to what can be done with a row, or to what the list is about. */
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
 * Show the first of these; return the button to the next, and how far it is. While some
 * are left to be shown, the button passes over the others.
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
 * Copy a text, or what a promise brings: Safari copies only what is asked for within
 * the tap.
 * @returns {Promise<boolean>} whether the browser did
 */
export async function copyText(text) {
  const blobOf = (whole) => new Blob([whole], { type: "text/plain" });
  try {
    // In this order nothing is promised where there is no clipboard.
    await navigator.clipboard.write([
      new ClipboardItem({ "text/plain": Promise.resolve(text).then(blobOf) }),
    ]);
    return true;
  } catch {
    // Not over http but on localhost, and not where the person has refused it. What
    // went wrong with the text itself is thrown.
    await text;
    return false;
  }
}

/**
 * Write what is in a place as large as all of it can be seen, by `--fit` of its style,
 * now and whenever its size changes; return what does so after a change of the text.
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
 * Do it when a person comes back to the page, and when the network does; return what
 * ends that.
 */
export function onReturn(act) {
  const ending = new AbortController();
  const { signal } = ending;
  for (const event of ["focus", "online", "visibilitychange"])
    window.addEventListener(event, () => act(), { signal });
  return () => ending.abort();
}

/** Wait for so long; return the value. */
export const pause = (milliseconds, value) =>
  new Promise((resolve) => setTimeout(resolve, milliseconds, value));

export function download(text, type, name) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), TAKEN_MS_MAX);
}

/** Keep the screen on, where browsers can; return what ends that. */
export function keepAwake() {
  let lock;
  const take = () => {
    // The browser has released it when the page was hidden.
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
