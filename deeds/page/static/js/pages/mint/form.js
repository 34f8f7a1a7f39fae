// The form of the Mint page: what is typed, what is wrong with it, and a draft that
// outlives the page, so that nothing that was typed is lost. Secrets of a person's own
// are never in the draft.

import { parseAmount, sumOf, unitsText } from "../../format/amounts.js";
import { formatAmount } from "../../format/gettext.js";
import { checkSecret } from "../../format/raw_output.js";
import { countText, textFor } from "../../texts.js";
import { byId, copyTemplate, find } from "../../ui/dom.js";
import { clearWhenTyped, readField, showError } from "../../ui/forms.js";
import { checkLinks, checkUnit } from "../../wallet/links.js";
import { inSession } from "../../wallet/store.js";
import { imageField } from "./image_field.js";

/**
 * Characters at most. The service takes longer texts, which nobody could read on a
 * ticket.
 */
const [NAME_MAX, DESCRIPTION_MAX] = [100, 1000];
const DRAFT = "deeds-mint";

/**
 * @typedef {{count: number, total: number, text: string}} Sum
 * @typedef {{metadata: string, unit: string} & Sum} Shown what the form says so far, as an item;
 *   `text` says how many, or what is wrong while `total` is 0
 */

/**
 * Make the form work, with a preview of the picture. @param {(shown: Shown) => void}
 * onChange
 */
export function mintForm(/** @type {HTMLElement} */ picture, onChange) {
  const form = byId("mint-form", HTMLFormElement);
  const different = byId("different", HTMLDetailsElement);
  const [name, unit, count, each, link] = [
    "name",
    "unit",
    "count",
    "each",
    "image",
  ].map((id) => byId(id, HTMLInputElement));
  const description = byId("description", HTMLTextAreaElement);
  const image = imageField(picture, draw);
  const rows = outputRows(draw);
  const kept = [name, description, unit, count, each, link];

  function shown() {
    const texts = { name: name.value.trim(), description: description.value.trim() };
    const about = Object.entries({ ...texts, image: image.address() }).filter(
      ([, text]) => text,
    );
    const word = unit.value.trim();
    return {
      metadata: JSON.stringify(Object.fromEntries(about)),
      unit: word,
      ...sum(word),
    };
  }

  function sum(word) {
    try {
      if (different.open) return sumOfRows(rows.amounts().map(parseAmount), word);
      return sumOfLinks(
        { count: parseAmount(count.value), each: parseAmount(each.value) },
        word,
      );
    } catch (error) {
      return { count: 0, total: 0, text: textFor(error) };
    }
  }

  function draw() {
    const now = shown();
    byId("total").textContent = now.text;
    byId("each-label").textContent = `How many ${now.unit ? "" : "units "}each?`;
    count.disabled = each.disabled = different.open;
    readField(name, atMost(NAME_MAX));
    readField(description, atMost(DESCRIPTION_MAX));
    readField(unit, checkUnit);
    saveDraft();
    onChange(now);
  }

  function readLinks() {
    const links = readField(count, (text) =>
      checkLinks({ count: parseAmount(text), each: 1 }),
    );
    return readField(each, (text) =>
      checkLinks({ count: 1, ...links, each: parseAmount(text) }),
    );
  }

  function saveDraft() {
    const texts = kept.map(({ value }) => value);
    const choices = { isDifferent: different.open, amounts: rows.amounts() };
    const draft = JSON.stringify({ texts, uploaded: image.uploaded(), ...choices });
    inSession((storage) => storage.setItem(DRAFT, draft));
  }

  function fill({ texts = kept.map(({ defaultValue }) => defaultValue), ...draft }) {
    for (const [place, value] of texts.entries()) kept[place].value = value;
    different.open = Boolean(draft.isDifferent);
    image.setUploaded(draft.uploaded ?? "");
    rows.fill(draft.amounts ?? ["1"]);
  }

  /**
   * Take back what was said of amounts and secrets: what is out of play is not wrong.
   */
  function clearErrors() {
    for (const field of form.querySelectorAll("#many [aria-invalid]"))
      showError(field, "");
  }

  // The browser's own question: it does not show the words of a page.
  window.addEventListener("beforeunload", (event) => {
    if (rows.hasSecrets()) event.preventDefault();
  });
  clearWhenTyped(form);
  form.addEventListener("input", draw);
  different.addEventListener("toggle", () => {
    clearErrors();
    draw();
  });

  fill(JSON.parse(inSession((storage) => storage.getItem(DRAFT)) ?? "{}"));
  return {
    shown,
    saveDraft,

    /** Return what to ask for, or null after saying beside the fields what is wrong. */
    async read() {
      await image.read();
      clearErrors();
      const amounts = different.open
        ? { outputs: rows.read() }
        : { links: readLinks() };
      /** @type {HTMLElement | null} */
      const wrong = form.querySelector("[aria-invalid=true]");
      wrong?.focus();
      if (wrong) return null;
      const { metadata, unit: word } = shown();
      const about = metadata === "{}" ? {} : { metadata: JSON.parse(metadata) };
      return { ...amounts, unit: word, ...about };
    },

    /** Forget the draft: what was asked for is written down in the wallet. */
    dropDraft: () => inSession((storage) => storage.removeItem(DRAFT)),

    reset: () => fill({}),
  };
}

const atMost = (max) => (text) => {
  const { length } = [...text.trim()];
  if (length <= max) return;
  const [most, now] = [max, length].map(formatAmount);
  throw new RangeError(`Use at most ${most} characters (now ${now}).`);
};

/** Return how much so many links hold together. @returns {Sum} */
export function sumOfLinks(
  /** @type {import("../../wallet/links.js").Links} */ links,
  unit,
) {
  const { count, each } = checkLinks(links);
  const total = count * each;
  const text = `${countText(count, "link")}, ${unitsText(each, unit)}`;
  return {
    count,
    total,
    text: count === 1 ? text : `${text} each: ${formatAmount(total)} in all`,
  };
}

function sumOfRows(amounts, unit) {
  const total = sumOf(amounts);
  const { length: count } = amounts;
  return {
    count,
    total,
    text: `${countText(count, "link")}, together ${unitsText(total, unit)}`,
  };
}

/** Make the rows work; `onChange` is called when there are more or fewer of them. */
function outputRows(onChange) {
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
    const attributes = [...row.querySelectorAll("[id], [for]")].flatMap((each) => [
      ...each.attributes,
    ]);
    for (const each of attributes)
      each.value = each.value.replaceAll("-0", `-${number}`);
    const [field, own, secret] = ["amount", "own", "secret"].map((name) =>
      fieldOf(row, name),
    );
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
  return {
    amount,
    secret: readField(fieldOf(row, "secret"), (text) => checkNew(text, secrets)),
  };
}

function checkNew(secret, secrets) {
  if (secrets.has(secret))
    throw new RangeError("Another link has this secret already.");
  secrets.add(checkSecret(secret));
  return secret;
}
