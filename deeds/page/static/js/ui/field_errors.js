// Says beside a field what is wrong with it. In the HTML the field names the place of its error in
// aria-describedby, so that a screen reader speaks both together.

import { find } from "./dom.js";

/**
 * Show what is wrong with a field, or hide that for an empty text.
 * @param {HTMLInputElement | HTMLTextAreaElement} field
 * @param {HTMLElement} place
 * @param {string} text
 */
export function showError(field, place, text) {
  place.textContent = text;
  place.hidden = !text;
  if (text) field.setAttribute("aria-invalid", "true");
  else field.removeAttribute("aria-invalid");
}

/**
 * Move to the first field that something is wrong with.
 * @param {ParentNode} form
 * @returns {boolean} whether there is one
 */
export function focusFirstError(form) {
  if (!form.querySelector("[aria-invalid=true]")) return false;
  find(form, "[aria-invalid=true]").focus();
  return true;
}

/**
 * Return what a field says, or null after showing what is wrong with it.
 * @template Value
 * @param {HTMLInputElement | HTMLTextAreaElement} field
 * @param {HTMLElement} place
 * @param {(text: string) => Value} read throws an error with a message for people
 * @returns {Value | null}
 */
export function readField(field, place, read) {
  try {
    const value = read(field.value);
    showError(field, place, "");
    return value;
  } catch (error) {
    showError(field, place, error.message);
    return null;
  }
}
