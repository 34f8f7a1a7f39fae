// The rows of the Mint page's form: one for each link, with an amount and perhaps a secret of a
// person's own.

import { parseAmount } from "../../format/amounts.js";
import { checkSecret } from "../../format/raw_output.js";
import { byId, copyTemplate, find } from "../../ui/dom.js";
import { readField } from "../../ui/forms.js";

/** Make the rows work; `onChange` is called when there are more or fewer of them. */
export function outputRows(onChange) {
  const list = byId("outputs");
  const addButton = byId("add-output", HTMLButtonElement);
  const countMax = Number(document.body.dataset.arrayMax);
  let number = 0;

  const rows = () => Array.from(list.children);

  function draw() {
    const all = rows();
    all.forEach((row, place) => {
      find(row, "[data-row-name]").textContent = ` link ${place + 1}`;
      removeButtonOf(row).disabled = all.length === 1;
    });
    addButton.disabled = all.length >= countMax;
    onChange();
  }

  function makeRow(amount = "1") {
    number += 1;
    const row = copyTemplate("output-row");
    const attributes = [...row.querySelectorAll("[id], [for]")].flatMap((each) => [...each.attributes]);
    for (const each of attributes) each.value = each.value.replaceAll("-0", `-${number}`);
    const [field, own, secret] = ["amount", "own", "secret"].map((name) => fieldOf(row, name));
    field.value = amount;
    own.addEventListener("change", () => own.checked && secret.focus());
    removeButtonOf(row).addEventListener("click", () => remove(row));
    return row;
  }

  function remove(row) {
    const next = row.nextElementSibling ?? row.previousElementSibling;
    row.remove();
    draw();
    fieldOf(next, "amount").focus();
  }

  addButton.addEventListener("click", () => {
    list.append(makeRow());
    draw();
    const field = fieldOf(list.lastElementChild, "amount");
    field.focus();
    field.select();
  });

  return {
    amounts: () => rows().map((row) => fieldOf(row, "amount").value),

    hasSecrets: () => rows().some((row) => isOwn(row) && fieldOf(row, "secret").value),

    /** Return the outputs; where one is wrong, say so beside its field. */
    read() {
      const secrets = new Set();
      return rows().map((row) => readRow(row, secrets));
    },

    fill(amounts) {
      list.replaceChildren(...amounts.map(makeRow));
      draw();
    },
  };
}

const fieldOf = (row, name) => find(row, `[data-field=${name}]`, HTMLInputElement);
const removeButtonOf = (row) => find(row, "[data-do=remove]", HTMLButtonElement);

const isOwn = (row) => fieldOf(row, "own").checked;

function readRow(row, secrets) {
  const amount = readField(fieldOf(row, "amount"), parseAmount);
  if (!isOwn(row)) return { amount };
  return { amount, secret: readField(fieldOf(row, "secret"), (text) => checkNew(text, secrets)) };
}

function checkNew(secret, secrets) {
  if (secrets.has(secret)) throw new RangeError("Another link has this secret already.");
  secrets.add(checkSecret(secret));
  return secret;
}
