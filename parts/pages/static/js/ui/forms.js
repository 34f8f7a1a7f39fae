// Notices, fields and dialogs. The error of a field is shown in the element whose id is
// the field's plus "-error". The field names it in aria-describedby, so screen readers
// speak both. Dialogs are native: they contain the focus, give it back, and close on
// Escape.

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

/** Select the content of a number field on focus, so that typing replaces it. */
function selectNumber({ target: field }) {
  const isNumeric = field instanceof HTMLInputElement && field.inputMode === "numeric";
  // A tap places the cursor after this event, and the person may have moved on by then.
  if (isNumeric) setTimeout(() => document.activeElement === field && field.select());
}

for (const event of ["focusin", "click"])
  globalThis.document?.addEventListener(event, selectNumber);

/** How long a notice stays, in milliseconds; each character adds LETTER_MS. */
const STAY_MS = 4000;
const LETTER_MS = 60;

/**
 * Return what the browser lacks to create and store secrets, in whole sentences; empty
 * if nothing. Browsers provide WebCrypto only to pages loaded over https or from
 * localhost.
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

/** Show sentences at the top of the page, or hide them if there are none. */
export function showMissing(...sentences) {
  byId("missing").replaceChildren(...nodesOf(sentences));
  byId("missing").hidden = !sentences.length;
}

/** Show an error at the top of the page. */
export const showFault = (error) => showMissing(textFor(error));

/**
 * Show and announce a notice. It replaces the previous one and disappears by itself.
 */
export function say(text) {
  // While a dialog is open, everything else is out of reach, for screen readers too.
  const dialogs = document.querySelectorAll("dialog[open] [data-notices]");
  const notice = make("p", {}, text);
  ([...dialogs].at(-1) ?? byId("notices")).replaceChildren(notice);
  setTimeout(() => notice.remove(), STAY_MS + LETTER_MS * text.length);
}

/** Copy a text, and say whether the browser did. */
export async function sayCopied(
  text,
  success = gettext("Copied."),
  failure = gettext("This browser doesn't let pages copy."),
) {
  say((await copyText(text)) ? success : failure);
}

/** Show an error as a notice. */
export const sayError = (error) => say(textFor(error));

/** Show the error of a field; an empty text hides it. */
export function showError(field, text) {
  // The field may have left the page meanwhile.
  find(field.getRootNode(), `#${field.id}-error`).textContent = text;
  if (text) field.setAttribute("aria-invalid", "true");
  else field.removeAttribute("aria-invalid");
}

/** Hide the error of a field as soon as its content changes. */
export function clearWhenTyped(form) {
  form.addEventListener(
    "input",
    ({ target }) => target.ariaInvalid && showError(target, ""),
  );
}

/**
 * Return what `read` makes of a field's text. If `read` throws, show the error beside
 * the field and return null.
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

/** Call `act` when the form is submitted, one call at a time. */
export function onSubmit(form, button, act) {
  form.onsubmit = (event) => {
    event.preventDefault();
    return onceAtATime(button, act);
  };
}

/** Call `act`, unless an earlier call has not ended. */
export async function onceAtATime(button, act) {
  if (button.disabled) return;
  button.disabled = true;
  await act().finally(() => (button.disabled = false));
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

/** Return the amount in a field, at most the total of the item. */
export function readAmountOf(field, item) {
  const amount = readAmount(field);
  if (!item || amount <= item.total) return amount;
  const values = { units: unitsText(item.total, item.unit) };
  throw new FieldError(field, gettext("There are only {units} in all.", values));
}

/** Return a field with its label and the element for its error. */
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

/** Return a field to choose one of these texts. */
export function selectField(label, texts) {
  const options = Object.entries(texts).map(([value, text]) =>
    make("option", { value }, text),
  );
  const select = make("select", { id: freshId() }, ...options);
  return { element: labelled(label, select), select };
}

/**
 * Open a modal dialog.
 * @typedef {{title: string, content: (Node | string)[], opener: HTMLElement}} Parts
 *   `opener` gets the focus afterwards
 * @param {Parts & {
 *   actions?: Node[], closeText?: string, kind?: string, onClose?: () => void,
 * }} parts `actions` are buttons beside the closing one, `kind` is a class of the
 *   dialog
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
  // Back leads to another view, so a question about this one is obsolete.
  window.addEventListener("hashchange", close, { once: true });
  element.onclose = () => {
    element.remove();
    // The action may have drawn another row in the place of this one.
    const after = rows[place]?.querySelector("a, button");
    giveBack([...places, after, ...elsewhere]);
    onClose();
  };
  document.body.append(element);
  element.showModal();
  if (!element.querySelector("[autofocus]")) heading.focus();
  return { close, closeButton };
}

/** Return nodes, with each text as a paragraph. */
const nodesOf = (content) =>
  content.map((each) => (typeof each === "string" ? make("p", {}, each) : each));

/** Focus the first of these elements that is still visible. */
function giveBack(places) {
  // The browser or the person has already moved the focus: typed text must not land
  // elsewhere.
  if (document.activeElement !== document.body) return;
  const isSeen = (place) =>
    place.checkVisibility?.({ visibilityProperty: true }) ?? true;
  places.find((place) => place?.isConnected && isSeen(place))?.focus();
}

/**
 * Ask a question, and call `act` if the person confirms. The dialog stays open until
 * `act` has ended, and shows its error.
 * @param {Parts & {
 *   yes?: string, no?: string, said?: string, canCancel?: boolean, isSure?: boolean,
 *   act: (onWait: (text: string) => boolean, fields: HTMLInputElement[]) => Promise<any>,
 * }} parts `yes` (by default the title) and `no` are the buttons' texts; `said`, else
 *   the text that `act` returns, is announced at the end. A FieldError that `act`
 *   throws is shown beside its field only. `onWait` shows why it takes longer, and
 *   returns whether the dialog is still open. Closing the dialog does not end what has
 *   begun, unless it `canCancel`. If the person `isSure`, `act` begins at once
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
    // The person may have closed the dialog meanwhile.
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
