// Asks into which amounts an output is to be split; what is left of it is a part of its own.

import { AmountError, formatAmount, parseAmount, sumOf, unitsText } from "../../format/amounts.js";
import { ask } from "../../ui/dialog.js";
import { byId, find, freshId, make, makeButton } from "../../ui/dom.js";
import { focusFirstError, showError } from "../../ui/field_errors.js";
import { INPUTS_COUNT_MAX } from "../../wallet/beginning.js";

/**
 * @param {import("../../wallet/records.js").OutputRecord} output
 * @param {object} options
 * @param {HTMLElement} options.opener
 * @param {(amounts: number[], onWait: (text: string) => void) => Promise<string>} options.split
 *   returns what stands in the way
 */
export function askToSplit(output, { opener, split }) {
  const rest = make("p", { class: "hint", "aria-live": "polite" });
  const list = make("ol", { class: "rows plain" });
  const draw = () => {
    rest.textContent = restText(list, output.amount);
    addButton.disabled = list.children.length >= INPUTS_COUNT_MAX - 1;
  };
  const addButton = makeButton("Add a part", () => {
    const row = makeRow(list.children.length + 1);
    list.append(row);
    find(row, "input").focus();
    draw();
  });
  list.append(makeRow(1));
  find(list, "input").setAttribute("autofocus", "");
  list.addEventListener("input", (event) => {
    const field = /** @type {HTMLInputElement} */ (event.target);
    showError(field, placeOf(field), "");
    draw();
  });
  draw();
  ask({
    title: `Split ${unitsText(output.amount)}`,
    content: [list, make("p", { class: "actions" }, addButton), rest],
    yes: "Split",
    opener,
    said: `${unitsText(output.amount)} are split.`,
    act: async (onWait) => {
      const amounts = readAmounts(list, output.amount);
      if (!amounts) return "Look at the amounts again.";
      return split(amounts, onWait);
    },
  });
}

function makeRow(number) {
  const [id, errorId] = [freshId("part"), freshId("part-error")];
  return make(
    "li",
    {},
    make(
      "div",
      { class: "field" },
      make("label", { for: id }, `Units of part ${number}`),
      make("input", {
        id,
        type: "text",
        inputmode: "numeric",
        dir: "ltr",
        autocomplete: "off",
        "aria-describedby": errorId,
      }),
    ),
    make("p", { id: errorId, class: "error", hidden: true }),
  );
}

/** Return the amounts, without rows that were left empty; or null after saying what is wrong. */
function readAmounts(list, whole) {
  const fields = [...list.querySelectorAll("input")];
  const filled = fields.filter(({ value }, place) => place === 0 || value.trim());
  const amounts = filled.map((field) => {
    try {
      const amount = parseAmount(field.value);
      showError(field, placeOf(field), "");
      return amount;
    } catch (error) {
      showError(field, placeOf(field), error.message);
      return 0;
    }
  });
  const sum = amounts.reduce((total, amount) => total + amount, 0);
  const last = filled.at(-1);
  if (!focusFirstError(list)) {
    if (sum > whole) {
      showError(last, placeOf(last), `Together they are more than ${formatAmount(whole)}.`);
    } else if (amounts[0] === whole) {
      showError(last, placeOf(last), "That is all of it: a part is less.");
    }
  }
  return focusFirstError(list) ? null : amounts;
}

function restText(list, whole) {
  const texts = Array.from(list.querySelectorAll("input"), ({ value }) => value.trim());
  try {
    const left = whole - sumOf(texts.filter(Boolean).map(parseAmount));
    if (left < 0) return `That is ${formatAmount(-left)} more than there is.`;
    return left ? `What is left stays one part: ${unitsText(left)}.` : "Nothing is left.";
  } catch (error) {
    if (error instanceof AmountError) return "";
    throw error;
  }
}

function placeOf(field) {
  return byId(field.getAttribute("aria-describedby"));
}
