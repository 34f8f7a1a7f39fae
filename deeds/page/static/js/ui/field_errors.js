// Says beside a field what is wrong with it: in the element whose id is the field's and "-error". The
// field names it in aria-describedby, so that a screen reader speaks both together.

import { find, freshId, make } from "./dom.js";

/** Show what is wrong with a field, or hide that for an empty text. */
export function showError(field, text) {
  // Beside a field that has left the page meanwhile, too.
  find(field.getRootNode(), `#${field.id}-error`).textContent = text;
  if (text) field.setAttribute("aria-invalid", "true");
  else field.removeAttribute("aria-invalid");
}

/** Move to the first field that something is wrong with; return whether there is one. */
export function focusFirstError(form) {
  if (!form.querySelector("[aria-invalid=true]")) return false;
  find(form, "[aria-invalid=true]").focus();
  return true;
}

/** Return what `read` makes of a field, or null after showing beside it what `read` throws. */
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
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (button.disabled) return;
    button.disabled = true;
    await act();
    button.disabled = false;
  });
}

export class FieldError extends Error {
  name = "FieldError";

  /** @param {HTMLInputElement} field one of `makeField` */
  constructor(field, message) {
    super(message);
    this.field = field;
  }

  show() {
    showError(this.field, this.message);
    this.field.focus();
  }
}

/** Return a field with its label and the place of its error. */
export function makeField(label, attributes, hint = "") {
  const id = freshId("field");
  const place = make("p", { id: `${id}-error`, class: "error" });
  const described = hint ? `${id}-error ${id}-hint` : `${id}-error`;
  const field = make("input", { type: "text", ...attributes, id, "aria-describedby": described });
  field.addEventListener("input", () => showError(field, ""));
  const element = make("div", { class: "field" }, make("label", { for: id }, label), field);
  if (hint) element.append(make("p", { id: `${id}-hint`, class: "hint" }, hint));
  element.append(place);
  return { element, field };
}
