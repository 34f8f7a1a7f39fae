// The rows of the Mint page's form: one for each output, with an amount and perhaps a secret of a
// person's own.

import { AmountError, parseAmount, sumOf } from "../../format/amounts.js";
import { checkSecret } from "../../format/raw_output.js";
import { isStrongSecret } from "../../format/strong_secret.js";
import { byId, copyTemplate, find } from "../../ui/dom.js";
import { showError } from "../../ui/field_errors.js";
import { hintOf } from "./secret_hint.js";

const NUMBERED = ["id", "for", "aria-describedby"];

/**
 * Make the rows work.
 * @param {{countMax: number, onChange: () => void}} options
 */
export function outputRows({ countMax, onChange }) {
  const list = byId("outputs");
  const addButton = byId("add-output", HTMLButtonElement);
  let number = 1;

  const rows = () => Array.from(list.children);

  function renumber() {
    const all = rows();
    all.forEach((row, place) => {
      find(row, "[data-row-name]").textContent = ` part ${place + 1}`;
      find(row, "[data-do=remove]", HTMLButtonElement).disabled = all.length === 1;
    });
    addButton.disabled = all.length >= countMax;
    onChange();
  }

  function add() {
    number += 1;
    const row = copyTemplate("output-row");
    numberIds(row, number);
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
    /** Return what is typed so far as the total, or null while it is invalid. */
    total() {
      try {
        return sumOf(rows().map((row) => parseAmount(fieldOf(row, "amount").value)));
      } catch (error) {
        if (error instanceof AmountError) return null;
        throw error;
      }
    },

    /**
     * Return the outputs, or null after saying beside the fields what is wrong.
     * @returns {{amount: number, secret?: string}[] | null}
     */
    read() {
      const outputs = rows().map(readRow);
      refuseRepeated(rows());
      return list.querySelector("[aria-invalid=true]") ? null : outputs;
    },

    /** Go back to one row. */
    reset() {
      for (const row of rows().slice(1)) row.remove();
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
  const field = fieldOf(row, name);
  const place = find(row, `[data-error=${name}]`);
  try {
    const value = read(field.value);
    showError(field, place, "");
    return value;
  } catch (error) {
    showError(field, place, error.message);
    return null;
  }
}

function refuseRepeated(rows) {
  const seen = new Set();
  for (const row of rows) {
    const field = fieldOf(row, "secret");
    if (!fieldOf(row, "own").checked || field.ariaInvalid) continue;
    if (seen.has(field.value)) {
      showError(field, find(row, "[data-error=secret]"), "Another part has this secret already.");
    }
    seen.add(field.value);
  }
}

function clearError(row, field) {
  const place = row.querySelector(`[data-error=${field.dataset.field}]`);
  if (place) showError(field, place, "");
}

async function showSecret(row, { dataset, checked }) {
  const field = fieldOf(row, "secret");
  if (dataset.field === "own") {
    find(row, "[data-part=secret]").hidden = !checked;
    showError(field, find(row, "[data-error=secret]"), "");
    if (checked) field.focus();
  }
  if (dataset.field !== "secret" && dataset.field !== "own") return;
  const { value } = field;
  const isStrong = await isStrongSecret(value);
  if (field.value !== value) return;
  find(row, "[data-hint=secret]").textContent = value ? hintOf(value, isStrong).text : "";
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
