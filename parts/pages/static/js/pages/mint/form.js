// The form of the Mint page: its content, its errors, and a draft that outlives the
// page, so that nothing typed is lost. The draft never contains secrets that a person
// chose.

import { aboutOf, metadataOf, writeAbout } from "../../format/about.js";
import { isSign, parseAmount, sumOf, unitsText } from "../../format/amounts.js";
import { gettext, joinTexts, ngettext } from "../../format/gettext.js";
import { checkSecret } from "../../format/raw_output.js";
import { textFor } from "../../texts.js";
import { arrayMax, byId, copyTemplate, find } from "../../ui/dom.js";
import { clearWhenTyped, readField, showError } from "../../ui/forms.js";
import { checkLinks, checkUnit } from "../../wallet/links.js";
import { inTab } from "../../wallet/store.js";
import { imageField } from "./image_field.js";

/**
 * Limits in characters. The service accepts longer texts, but nobody could read them on
 * a ticket.
 */
const NAME_MAX = 100;
const DESCRIPTION_MAX = 1000;
const DRAFT = "deeds-mint";

/**
 * @typedef {{count: number, each?: number, total: number, text: string}} Sum
 * @typedef {{metadata: string, unit: string} & Sum} Shown the item that the form
 *   describes so far; `text` says how many, or the error if `total` is 0
 */

/**
 * Set up the form, with a preview of the picture. Without a draft, texts that were
 * typed before this script loaded stay.
 * @param {(shown: Shown) => void} onChange
 */
export function mintForm(/** @type {HTMLElement} */ picture, onChange) {
  const form = byId("mint-form", HTMLFormElement);
  const different = byId("different", HTMLDetailsElement);
  const {
    name,
    description,
    count,
    each,
    image: link,
  } = /** @type {any} */ (form.elements);
  const facts = factFields(form);
  const image = imageField(picture, draw);
  const rows = outputRows(draw);
  const draftFields = [name, description, ...facts.fields, count, each, link];

  function shown() {
    const values = facts.values();
    const metadata = JSON.stringify({
      name: name.value.trim() || undefined,
      description: writeAbout({ text: description.value, ...values }) || undefined,
      image: image.address() || undefined,
    });
    return { metadata, unit: values.unit, ...sum(values.unit) };
  }

  function sum(word) {
    try {
      if (different.open) return sumOfRows(rows.amounts().map(parseAmount), word);
      const links = { count: parseAmount(count.value), each: parseAmount(each.value) };
      return sumOfLinks(links, word);
    } catch (error) {
      return { count: 0, total: 0, text: textFor(error) };
    }
  }

  function draw() {
    const now = shown();
    byId("total").textContent = now.text;
    count.disabled = each.disabled = different.open;
    readField(name, atMost(NAME_MAX));
    readField(description, atMost(DESCRIPTION_MAX));
    saveDraft();
    onChange(now);
  }

  function saveDraft() {
    const texts = draftFields.map(({ value }) => value);
    const choices = { isDifferent: different.open, amounts: rows.amounts() };
    const draft = { texts, uploaded: image.uploaded(), ...choices };
    inTab.write(DRAFT, JSON.stringify(draft));
  }

  function fill({ texts = draftFields.map(({ value }) => value), ...draft }) {
    for (const [place, value] of texts.entries()) draftFields[place].value = value;
    different.open = Boolean(draft.isDifferent);
    facts.drawKind();
    image.setUploaded(draft.uploaded ?? "");
    rows.fill(draft.amounts ?? ["1"]);
  }

  clearWhenTyped(form);
  form.oninput = draw;
  different.ontoggle = () => {
    clearErrors(form);
    draw();
  };

  fill(JSON.parse(inTab.read(DRAFT) || "{}"));
  return {
    shown,
    saveDraft,

    /** Return what to mint, or null after showing errors beside the fields. */
    async read() {
      await image.read();
      clearErrors(form);
      facts.check();
      const amounts = different.open
        ? { outputs: rows.read() }
        : { links: readLinks(count, each) };
      if (leadToWrong(form)) return null;
      const { metadata, unit: word } = shown();
      const about = metadata === "{}" ? {} : { metadata: JSON.parse(metadata) };
      return { ...amounts, unit: word, ...about };
    },

    /** Forget the draft: the wallet has recorded the request. */
    dropDraft: () => inTab.write(DRAFT, ""),

    reset: () => fill({ texts: draftFields.map(({ defaultValue }) => defaultValue) }),

    /** Fill in the fields of an item with this many links, except its dates. */
    fillLike(item, links) {
      fill(textsOf(item, links));
      // If the person leaves without a change, there is no draft to keep.
      this.dropDraft();
    },
  };
}

/**
 * Return the texts of the fields for an item with this many links, without its dates.
 */
function textsOf(item, links) {
  const { text, place } = aboutOf(item);
  const { name = "", image = "" } = metadataOf(item);
  const [one = "", several = ""] = item.unit?.split("/") ?? [];
  const uploaded = image.startsWith("data:") ? image : "";
  const facts = [one, several, "", place, ""];
  const last = [links, item.total / links, uploaded ? "" : image];
  return { texts: [name, text, ...facts, ...last], uploaded };
}

/** Hide errors of amounts and secrets: fields that are not used are not wrong. */
function clearErrors(form) {
  for (const field of form.querySelectorAll("#many [aria-invalid]"))
    showError(field, "");
}

/** Focus the first field with an error. Return whether there is one. */
function leadToWrong(form) {
  const wrong = form.querySelector("[aria-invalid=true]");
  const fold = wrong?.closest("details");
  if (fold) fold.open = true;
  wrong?.focus();
  return Boolean(wrong);
}

/** Return the number and size of links, or show an error beside the field. */
function readLinks(count, each) {
  const links = readField(count, (text) =>
    checkLinks({ count: parseAmount(text), each: 1 }),
  );
  return readField(each, (text) =>
    checkLinks({ count: 1, ...links, each: parseAmount(text) }),
  );
}

const atMost = (max) => (text) => {
  const { length: now } = [...text.trim()];
  if (now <= max) return;
  throw new RangeError(
    gettext("Use at most {most} characters (now {now}).", { most: max, now }),
  );
};

/** Return the fields for the facts that end the description. */
function factFields(form) {
  const { one, several, date, place, until, kind } = form.elements;
  const line = ({ value }) => value.replace(/\s+/g, " ").trim();
  const time = ({ value }, clock = "") => (value ? new Date(value + clock) : null);
  const values = () => ({
    // A currency sign has no plural.
    unit: isSign(line(one)) ? line(one) : joinTexts([one, several].map(line), "/"),
    date: time(date),
    place: line(place),
    validUntil: time(until, "T23:59"),
  });
  // This listener runs before the preview is drawn.
  date.addEventListener("input", () => {
    if (date.value && !one.value && !several.value) kind[0].click();
  });
  for (const each of kind)
    each.onclick = () => ([one.value, several.value] = each.value.split("/"));

  return {
    fields: [one, several, date, place, until],
    values,
    drawKind() {
      for (const each of kind) each.checked = each.value === values().unit;
    },

    /** Show errors beside the fields. */
    check() {
      readField(one, (text) => checkWord(text || (several.value && "/")));
      readField(several, checkWord);
      readField(date, () => checkWhole(date, gettext("Enter a date and a time.")));
      readField(place, atMost(NAME_MAX));
      readField(until, () => checkUntil(until, values()));
    },
  };
}

function checkWord(text) {
  if (text === "/") throw new RangeError(gettext("Enter the word for one, too."));
  if (text.includes("/"))
    throw new RangeError(gettext("A word can't contain a slash."));
  checkUnit(text);
}

/** Throw if a date is incomplete: its value is empty, and it would count as no date. */
function checkWhole(/** @type {HTMLInputElement} */ field, text) {
  if (!field.validity.valid) throw new RangeError(text);
}

function checkUntil(field, { date, validUntil }) {
  checkWhole(field, gettext("Enter a date."));
  if (!validUntil) return;
  if (validUntil < (date ?? 0))
    throw new RangeError(gettext("This is before the date above."));
  if (validUntil < new Date()) throw new RangeError(gettext("This is in the past."));
}

/** Return how many units these links hold together. @returns {Sum} */
function sumOfLinks(/** @type {import("../../wallet/links.js").Links} */ links, unit) {
  const { count, each } = checkLinks(links);
  const total = count * each;
  const values = { ...wordsOf(count, each, unit), total };
  const text =
    count === 1
      ? gettext("{links}, {units}", values)
      : gettext("{links}, {units} each: {total} in all", values);
  return { count, each, total, text };
}

function sumOfRows(amounts, unit) {
  const total = sumOf(amounts);
  const { length: count } = amounts;
  const text = gettext("{links}, together {units}", wordsOf(count, total, unit));
  return { count, total, text };
}

const wordsOf = (count, amount, unit) => ({
  links: ngettext("{count} link", "{count} links", count),
  units: unitsText(amount, unit),
});

/** Set up the rows. `onChange` is called when rows are added or removed. */
function outputRows(onChange) {
  const list = byId("outputs");
  const addButton = byId("add-output", HTMLButtonElement);
  let number = 0;

  const rows = () => Array.from(list.children);

  function draw() {
    const all = rows();
    all.forEach((row, place) => {
      const text = gettext("link {number}", { number: place + 1 });
      find(row, "[data-row-name]").textContent = ` ${text}`;
      removeButtonOf(row).disabled = all.length === 1;
    });
    addButton.disabled = all.length >= arrayMax();
    onChange();
  }

  function makeRow(amount = "1") {
    number += 1;
    const row = copyTemplate("output-row");
    for (const { attributes } of row.querySelectorAll("[id], [for]"))
      for (const each of attributes)
        each.value = each.value.replaceAll("-0", `-${number}`);
    const [field, own, secret] = ["amount", "own", "secret"].map((name) =>
      fieldOf(row, name),
    );
    field.value = amount;
    own.onchange = () => own.checked && secret.focus();
    removeButtonOf(row).onclick = () => remove(row);
    return row;
  }

  function remove(row) {
    const next = row.nextElementSibling ?? row.previousElementSibling;
    row.remove();
    draw();
    fieldOf(next, "amount").focus();
  }

  addButton.onclick = () => {
    list.append(makeRow());
    draw();
    fieldOf(list.lastElementChild, "amount").focus();
  };

  // The browser asks in its own words and does not show the page's.
  window.addEventListener("beforeunload", (event) => {
    const isTyped = (row) => isOwn(row) && fieldOf(row, "secret").value;
    if (rows().some(isTyped)) event.preventDefault();
  });
  return {
    amounts: () => rows().map((row) => fieldOf(row, "amount").value),

    /** Return the outputs, or show errors beside their fields. */
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
    throw new RangeError(gettext("Another link already has this secret."));
  secrets.add(checkSecret(secret));
  return secret;
}
