// Tells and asks a person: notices, fields and dialogs. What is wrong with a field is
// said beside it, in the element whose id is the field's and "-error". The field names
// it in aria-describedby, so that a screen reader speaks both together. A dialog is the
// browser's own, which keeps the focus within and gives it back, and closes on Escape.

import { parseAmount, unitsText } from "../format/amounts.js";
import { gettext } from "../format/gettext.js";
import { textFor } from "../texts.js";
import {
  byId,
  copyTemplate,
  copyText,
  find,
  freshId,
  headingOf,
  make,
  makeButton,
} from "./dom.js";
import { openerOf } from "./menu.js";

/** What stands in a field of a number is replaced by what is typed, not continued. */
function selectNumber({ target: field }) {
  const isNumeric = field instanceof HTMLInputElement && field.inputMode === "numeric";
  // A tap puts its cursor there after that, and a person may have gone on by then.
  if (isNumeric) setTimeout(() => document.activeElement === field && field.select());
}

for (const event of ["focusin", "click"])
  globalThis.document?.addEventListener(event, selectNumber);

/** How long it stays there, in milliseconds: two lines are read in less. */
const STAY_MS = 4000;
const LETTER_MS = 60;

/**
 * Return what is missing for secrets to be made and kept, in whole sentences; nothing
 * if all is there. Browsers give WebCrypto only to pages that came by https or from the
 * machine itself.
 * @param {{crypto?: Crypto, indexedDB?: IDBFactory, isSecureContext?: boolean}} [browser]
 */
export function whatIsMissing(browser = globalThis) {
  const missing = [];
  if (!browser.isSecureContext) {
    missing.push(
      gettext(
        "This page wasn't loaded over https, so the browser creates no secrets for it.",
      ),
    );
  } else if (!browser.crypto?.subtle || !browser.crypto.randomUUID) {
    missing.push(gettext("This browser is too old for this page."));
  }
  if (!browser.indexedDB)
    missing.push(gettext("This browser doesn't let pages store data."));
  return missing;
}

/** Say at the head of the page what is missing, or anything else in its place. */
export function showMissing(...sentences) {
  byId("missing").replaceChildren(...nodesOf(sentences));
  byId("missing").hidden = !sentences.length;
}

/** Say there what went wrong. */
export const showFault = (error) => showMissing(textFor(error));

/**
 * Show and speak a text; it goes away by itself and takes the place of the one before
 * it.
 */
export function say(text) {
  // While a dialog is open, all else is out of reach, for screen readers too.
  const dialogs = document.querySelectorAll("dialog[open] [data-notices]");
  const notice = make("p", {}, text);
  ([...dialogs].at(-1) ?? byId("notices")).replaceChildren(notice);
  setTimeout(() => notice.remove(), STAY_MS + LETTER_MS * text.length);
}

/** Copy a text, and say whether the browser did. */
export async function sayCopied(
  text,
  said = gettext("Copied."),
  otherwise = gettext("This browser doesn't let pages copy."),
) {
  say((await copyText(text)) ? said : otherwise);
}

/** Say what went wrong. */
export const sayError = (error) => say(textFor(error));

/** Show what is wrong with a field, or hide that for an empty text. */
export function showError(field, text) {
  // Beside a field that has left the page meanwhile, too.
  find(field.getRootNode(), `#${field.id}-error`).textContent = text;
  if (text) field.setAttribute("aria-invalid", "true");
  else field.removeAttribute("aria-invalid");
}

/** Take back what is said of a field once something else is typed into it. */
export function clearWhenTyped(form) {
  form.addEventListener(
    "input",
    ({ target }) => target.ariaInvalid && showError(target, ""),
  );
}

/**
 * Return what `read` makes of a field, or null after showing beside it what `read`
 * throws.
 */
export function readField(field, read) {
  try {
    const value = read(field.value);
    showError(field, "");
    return value;
  } catch (error) {
    showError(field, error.message);
    return null;
  }
}

/** Do what a form is for, once at a time. */
export function onSubmit(form, button, act) {
  form.onsubmit = (event) => {
    event.preventDefault();
    return onceAtATime(button, act);
  };
}

/** Do what a button is for, unless that is under way. */
export async function onceAtATime(button, act) {
  if (button.disabled) return;
  button.disabled = true;
  await act();
  button.disabled = false;
}

export class FieldError extends Error {
  name = "FieldError";

  /** @param {HTMLInputElement} field */
  constructor(field, message) {
    super(message);
    this.field = field;
  }

  show() {
    showError(this.field, this.message);
    this.field.focus();
    this.field.select();
  }
}

/** Return the amount in a field. @throws {FieldError} */
export function readAmount(field) {
  try {
    return parseAmount(field.value);
  } catch (error) {
    throw new FieldError(field, error.message);
  }
}

/** Return the amount in a field of an item, of which there are no more than all. */
export function readAmountOf(field, item) {
  const amount = readAmount(field);
  if (!item || amount <= item.total) return amount;
  const values = { units: unitsText(item.total, item.unit) };
  throw new FieldError(field, gettext("There are only {units} in all.", values));
}

/** Return a field with its label and the place of its error. */
export function makeField(label, attributes) {
  const id = freshId();
  const place = make("p", { id: `${id}-error`, class: "error" });
  const field = make("input", {
    type: "text",
    ...attributes,
    id,
    "aria-describedby": place.id,
  });
  return { element: labelled(label, field, place), field };
}

const labelled = (label, field, ...more) =>
  make(
    "div",
    { class: "field" },
    make("label", { for: field.id }, label),
    field,
    ...more,
  );

/** Return a field in which one of these texts is chosen. */
export function selectField(label, texts) {
  const options = Object.entries(texts).map(([value, text]) =>
    make("option", { value }, text),
  );
  const select = make("select", { id: freshId() }, ...options);
  return { element: labelled(label, select), select };
}

/**
 * @typedef {{title: string, content: (Node | string)[], opener: HTMLElement}} Parts `opener` has the
 *   focus afterwards
 * @param {Parts & {
 *   actions?: Node[], closeText?: string, kind?: string, onClose?: () => void,
 * }} parts `actions` are buttons beside the one that closes, `kind` is a class of the dialog
 */
export function openDialog({
  title,
  content,
  actions = [],
  closeText = gettext("Close"),
  kind = "",
  onClose = () => {},
  opener,
}) {
  const row = /** @type {HTMLElement | null} */ (opener.closest("li[tabindex]"));
  const others = opener.closest("[role=group]")?.querySelectorAll("a, button") ?? [];
  const rows = row?.parentElement?.children ?? [];
  const place = [...rows].indexOf(/** @type {any} */ (row));
  const places = [openerOf(opener), row];
  const elsewhere = [...others, headingOf(opener)];
  const element = /** @type {HTMLDialogElement} */ (copyTemplate("dialog-template"));
  element.className = `sheet ${kind}`;
  element.ariaLabel = title;
  const close = () => element.close();
  const closeButton = makeButton(closeText, close);
  find(element, ".action-bar").append(...actions, closeButton);
  const heading = find(element, "h2");
  heading.textContent = title;
  heading.after(...nodesOf(content));
  // Back leads to another view: what is asked about this one is over.
  window.addEventListener("hashchange", close, { once: true });
  element.onclose = () => {
    element.remove();
    // What was done may have drawn another row in the place of this one.
    const after = rows[place]?.querySelector("a, button");
    giveBack([...places, after, ...elsewhere]);
    onClose();
  };
  document.body.append(element);
  element.showModal();
  if (!element.querySelector("[autofocus]")) heading.focus();
  return { close, closeButton };
}

/** Each text is a paragraph. */
const nodesOf = (content) =>
  content.map((each) => (typeof each === "string" ? make("p", {}, each) : each));

/** Give the focus back to the first of these that is still there. */
function giveBack(places) {
  // The browser has done so, or the person has gone on: what is typed must not land
  // elsewhere.
  if (document.activeElement !== document.body) return;
  const isSeen = (place) =>
    place.checkVisibility?.({ visibilityProperty: true }) ?? true;
  places.find((place) => place?.isConnected && isSeen(place))?.focus();
}

/**
 * Ask, and do it when the answer is yes. The dialog stays open until it is done, and
 * says why not.
 * @param {Parts & {
 *   yes?: string, no?: string, said?: string, canCancel?: boolean, isSure?: boolean,
 *   act: (onWait: (text: string) => boolean, fields: HTMLInputElement[]) => Promise<any>,
 * }} parts `yes` (the title) and `no` are on the buttons, `said` is said once it is done, unless `act` returns
 *   what to say. It throws what stands in the way: a FieldError
 *   is shown beside its field alone. `onWait` says why it takes longer, and returns whether the dialog
 *   is still open. What is begun goes on without the dialog, unless it `canCancel`. Where it
 *   `isSure` nothing is left to ask, and it is begun at once
 */
export function ask({
  title,
  content,
  yes = title,
  no = gettext("Cancel"),
  opener,
  said,
  canCancel = false,
  isSure = false,
  act,
}) {
  const form = /** @type {HTMLFormElement} */ (copyTemplate("question-template"));
  const progress = find(form, "[data-wait]");
  const problem = find(form, "[role=alert]");
  form.id = freshId();
  form.prepend(...nodesOf(content));
  const submit = make(
    "button",
    { class: "button", type: "submit", form: form.id },
    yes,
  );
  const { close, closeButton } = openDialog({
    title,
    content: [form],
    actions: [submit],
    closeText: no,
    opener,
  });
  const onWait = (text) => {
    progress.textContent = text;
    return progress.isConnected;
  };
  const refuse = (error) => {
    if (error instanceof FieldError) return error.show();
    // A person may have closed the dialog while it was done.
    if (!problem.isConnected) return sayError(error);
    problem.textContent = textFor(error);
    problem.focus();
  };
  const carryOut = async () => {
    problem.textContent = "";
    if (!canCancel) closeButton.textContent = gettext("Close");
    const done = await act(onWait, [...form.querySelectorAll("input")]).finally(() => {
      onWait("");
      closeButton.textContent = no;
    });
    close();
    if (said || done) say(said || done);
  };
  clearWhenTyped(form);
  onSubmit(form, submit, () => carryOut().catch(refuse));
  if (isSure) form.requestSubmit();
  return { close };
}
