// The rows of the Mint page's form: one for each link, with an amount and perhaps a secret of a
// person's own.

import { parseAmount } from "../../format/amounts.js";
import { checkSecret } from "../../format/raw_output.js";
import { byId, copyTemplate, find } from "../../ui/dom.js";
import { readField, showError } from "../../ui/field_errors.js";

const NUMBERED = ["id", "for", "aria-describedby"];

/** Without what people choose first. */
const COMMON =
  /^(?:pass ?word|passwort|secret|geheim|qwert[yz]|azerty|letmein|welcome|iloveyou|admin|test|deed|dragon|monkey|hello)/;

/**
 * Make the rows work.
 * @param {{countMax: number, onChange: () => void}} options
 */
export function outputRows({ countMax, onChange }) {
  const list = byId("outputs");
  const addButton = byId("add-output", HTMLButtonElement);
  let number = 0;

  const rows = () => Array.from(list.children);

  function renumber() {
    const all = rows();
    all.forEach((row, place) => {
      find(row, "[data-row-name]").textContent = ` link ${place + 1}`;
      find(row, "[data-do=remove]", HTMLButtonElement).disabled = all.length === 1;
    });
    addButton.disabled = all.length >= countMax;
    onChange();
  }

  function makeRow(amount = "1") {
    number += 1;
    const row = copyTemplate("output-row");
    numberIds(row, number);
    fieldOf(row, "amount").value = amount;
    return row;
  }

  function add() {
    const row = makeRow();
    list.append(row);
    renumber();
    fieldOf(row, "amount").focus();
    fieldOf(row, "amount").select();
  }

  function remove(row) {
    const next = row.nextElementSibling ?? row.previousElementSibling;
    row.remove();
    renumber();
    fieldOf(next, "amount").focus();
  }

  addButton.addEventListener("click", add);
  list.addEventListener("click", (event) => {
    const target = /** @type {Element} */ (event.target);
    if (target.closest("[data-do=remove]")) remove(target.closest("[data-row]"));
  });
  list.addEventListener("input", (event) => {
    const target = /** @type {HTMLInputElement} */ (event.target);
    const row = target.closest("[data-row]");
    clearError(row, target);
    showSecret(row, target);
    onChange();
  });

  return {
    /** Return the amounts as they are typed. */
    amounts: () => rows().map((row) => fieldOf(row, "amount").value),

    /** Return whether a person has typed a secret of their own. */
    hasSecrets: () =>
      rows().some((row) => fieldOf(row, "own").checked && fieldOf(row, "secret").value),

    /** Return the outputs; where one is wrong, say so beside its field. */
    read() {
      const outputs = rows().map(readRow);
      refuseRepeated(rows());
      return outputs;
    },

    /** Take back what was said of the fields. */
    clearErrors() {
      for (const field of list.querySelectorAll("[aria-invalid]")) {
        clearError(field.closest("[data-row]"), field);
      }
    },

    /** Show new rows with these amounts. */
    fill(amounts) {
      list.replaceChildren(...amounts.map(makeRow));
      renumber();
    },
  };
}

function readRow(row) {
  const amount = attempt(row, "amount", parseAmount);
  if (!fieldOf(row, "own").checked) return { amount };
  return { amount, secret: attempt(row, "secret", checkSecret) };
}

function attempt(row, name, read) {
  return readField(fieldOf(row, name), find(row, `[data-error=${name}]`), read);
}

function refuseRepeated(rows) {
  const seen = new Set();
  for (const row of rows) {
    const field = fieldOf(row, "secret");
    if (!fieldOf(row, "own").checked || field.ariaInvalid) continue;
    if (seen.has(field.value)) {
      showError(field, find(row, "[data-error=secret]"), "Another link has this secret already.");
    }
    seen.add(field.value);
  }
}

function clearError(row, field) {
  const place = row.querySelector(`[data-error=${field.dataset.field}]`);
  if (place) showError(field, place, "");
}

function showSecret(row, { dataset, checked }) {
  const field = fieldOf(row, "secret");
  if (dataset.field === "own") {
    find(row, "[data-part=secret]").hidden = !checked;
    showError(field, find(row, "[data-error=secret]"), "");
    if (checked) field.focus();
  }
  find(row, "[data-hint=secret]").textContent = field.value && hintOf(field.value);
}

function numberIds(row, number) {
  for (const element of row.querySelectorAll("*")) {
    for (const name of NUMBERED) {
      const text = element.getAttribute(name);
      if (text) element.setAttribute(name, text.replace(/-0(?= |$)/g, `-${number}`));
    }
  }
}

function fieldOf(row, name) {
  return find(row, `[data-field=${name}]`, HTMLInputElement);
}

/**
 * Return a plain word on how hard a secret is to guess, by its different characters that do not just
 * go on from the one before. The service hashes slowly what people make up and refuses who guesses
 * often, so this asks for less than a password store would.
 * @param {string} secret
 */
export function hintOf(secret) {
  const text = secret.toLowerCase().replace(COMMON, "");
  const goesOn = (place) => text.charCodeAt(place) === text.charCodeAt(place - 1) + 1;
  const { size } = new Set([...text].filter((_, place) => !goesOn(place)));
  if (size < 8) return "Easy to guess. Anyone who guesses it can claim the link.";
  return size < 11 ? "Could be guessed with patience. Longer is better." : "Hard to guess.";
}
