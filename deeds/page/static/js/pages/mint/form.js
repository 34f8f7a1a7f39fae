// The form of the Mint page: what is typed, what is wrong with it, and a draft that outlives the
// page, so that nothing that was typed is lost. Secrets of a person's own are never in the draft.

import { AmountError, formatAmount, parseAmount, sumOf, unitsText } from "../../format/amounts.js";
import { byId } from "../../ui/dom.js";
import { focusFirstError, readField, showError } from "../../ui/field_errors.js";
import { checkLinks } from "../../wallet/links.js";
import { WalletError } from "../../wallet/records.js";
import { imageField } from "./image_field.js";
import { outputRows } from "./output_rows.js";

/** Characters at most. The service takes longer texts, which nobody could read on a ticket. */
const LENGTHS_MAX = { name: 100, description: 1000, unit: 20 };
const DRAFT = "deeds-mint";

/**
 * @typedef {{count: number, total: number, text: string}} Sum
 * @typedef {{metadata: Record<string, string>, unit: string} & Sum} Shown
 *   what the form says so far; `text` says how many, and `total` is 0 while that is invalid
 */

/**
 * Make the form work.
 * @param {object} options
 * @param {HTMLImageElement} options.picture where the picture is previewed
 * @param {number} options.countMax outputs of one mint
 * @param {(shown: Shown) => void} options.onChange
 */
export function mintForm({ picture, countMax, onChange }) {
  const form = byId("mint-form", HTMLFormElement);
  const different = byId("different", HTMLDetailsElement);
  const [name, unit, count, each, link] = ["name", "unit", "count", "each", "image"].map((id) =>
    byId(id, HTMLInputElement),
  );
  const description = byId("description", HTMLTextAreaElement);
  const image = imageField(picture, draw);
  const rows = outputRows({ countMax, onChange: draw });
  const kept = [name, description, unit, count, each, link];

  /** @param {HTMLElement} field */
  const placeOf = ({ id }) => byId(`${id}-error`);
  const read = (field, reader) => readField(field, placeOf(field), reader);

  /** Return what the form says so far. */
  function shown() {
    const texts = { name: name.value.trim(), description: description.value.trim() };
    const about = Object.entries({ ...texts, image: image.address() }).filter(([, text]) => text);
    const word = unit.value.trim();
    return { metadata: Object.fromEntries(about), unit: word, ...sum(word) };
  }

  function sum(word) {
    try {
      if (different.open) return sumOfRows(rows.amounts().map(parseAmount), word);
      return sumOfLinks({ count: parseAmount(count.value), each: parseAmount(each.value) }, word);
    } catch (error) {
      const isMistake = error instanceof AmountError || error instanceof WalletError;
      if (isMistake) return { count: 0, total: 0, text: "–" };
      throw error;
    }
  }

  function draw() {
    const now = shown();
    byId("total").textContent = now.text;
    byId("each-label").textContent = `How many ${now.unit ? "" : "units "}each?`;
    count.disabled = each.disabled = different.open;
    for (const field of [name, description, unit]) {
      read(field, (text) => checkLength(text.trim(), LENGTHS_MAX[field.id]));
    }
    saveDraft();
    onChange(now);
  }

  function readLinks() {
    const links = read(count, (text) => checkLinks({ count: parseAmount(text), each: 1 }));
    return read(each, (text) => checkLinks({ count: 1, ...links, each: parseAmount(text) }));
  }

  function saveDraft() {
    const texts = kept.map(({ value }) => value);
    const choices = { isDifferent: different.open, amounts: rows.amounts() };
    const draft = JSON.stringify({ texts, uploaded: image.uploaded(), ...choices });
    inSession((storage) => storage.setItem(DRAFT, draft));
  }

  function restoreDraft() {
    const draft = JSON.parse(inSession((storage) => storage.getItem(DRAFT)) ?? "null");
    if (!draft) return rows.fill(["1"]);
    for (const [place, value] of draft.texts.entries()) kept[place].value = value;
    different.open = draft.isDifferent;
    image.setUploaded(draft.uploaded);
    rows.fill(draft.amounts);
  }

  // The browser's own question: it does not show the words of a page.
  window.addEventListener("beforeunload", (event) => {
    if (rows.hasSecrets()) event.preventDefault();
  });
  form.addEventListener("input", draw);
  for (const field of [count, each]) {
    field.addEventListener("input", () => showError(field, placeOf(field), ""));
  }
  different.addEventListener("toggle", () => {
    // What is out of play is not wrong.
    for (const field of [count, each]) showError(field, placeOf(field), "");
    rows.clearErrors();
    draw();
  });

  restoreDraft();
  return {
    shown,
    saveDraft,

    /** Return what to ask for, or null after saying beside the fields what is wrong. */
    async read() {
      await image.read();
      const amounts = different.open ? { outputs: rows.read() } : { links: readLinks() };
      if (focusFirstError(form)) return null;
      const { metadata, unit: word } = shown();
      const about = Object.keys(metadata).length ? { metadata } : {};
      return { ...amounts, ...about, ...(word ? { unit: word } : {}) };
    },

    /** Forget the draft: what was asked for is written down in the wallet. */
    dropDraft: () => inSession((storage) => storage.removeItem(DRAFT)),

    /** Empty all fields. */
    reset() {
      form.reset();
      different.open = false;
      rows.fill(["1"]);
      image.setUploaded("");
      draw();
    },
  };
}

/** Return what comes of it, or null where the browser keeps nothing for this tab. */
function inSession(act) {
  try {
    return act(sessionStorage);
  } catch {
    return null;
  }
}

function checkLength(text, max) {
  const { length } = [...text];
  if (length <= max) return;
  throw new RangeError(`${formatAmount(length)} characters: at most ${formatAmount(max)} fit.`);
}

/**
 * Return how much so many links hold together.
 * @param {{count: number, each: number}} links
 * @param {string} unit
 * @returns {Sum}
 * @throws {AmountError | WalletError}
 */
export function sumOfLinks(links, unit) {
  const { count, each } = checkLinks(links);
  const total = count * each;
  const text = `${linksText(count)} × ${unitsText(each, unit)} = ${formatAmount(total)}`;
  return { count, total, text };
}

/** Return "1 link" or "200 links". */
export function linksText(count) {
  return `${formatAmount(count)} ${count === 1 ? "link" : "links"}`;
}

function sumOfRows(amounts, unit) {
  const total = sumOf(amounts);
  const { length: count } = amounts;
  return { count, total, text: `${linksText(count)}, together ${unitsText(total, unit)}` };
}
