// Texts, amounts, dates and lists in the language of the page. The texts in the code
// are English; for another language, the script of its catalogue has run before.

const NARROW_SPACE = "\u202f";

/**
 * Translations by English text. A text with a plural has a list of forms, and `place`
 * returns the index of the form for a count.
 * @type {{texts: Readonly<Record<string, string | string[]>>, place: (count: number) => number}}
 */
const CATALOGUE = /** @type {any} */ (globalThis).deedsCatalogue ?? { texts: {} };

const language = globalThis.document?.documentElement.lang || "en";

/** Locale for dates and lists: the person's own if it is in the page's language. */
export const LOCALE =
  globalThis.navigator?.languages?.find((each) => each.split("-")[0] === language) ??
  language;

/**
 * Return a translated text with `{name}` replaced by the value of that name. Names
 * without a value are kept for `fill`.
 */
export function gettext(text, values = {}) {
  const translated = CATALOGUE.texts[text];
  return fill(typeof translated === "string" ? translated : text, values);
}

/**
 * Return the translated form of a text for a count, which the text may contain as
 * `{count}`.
 */
export function ngettext(one, many, count, values = {}) {
  const forms = CATALOGUE.texts[one];
  const english = count === 1 ? one : many;
  const text = forms ? forms[CATALOGUE.place(count)] : english;
  return fill(text, { count, ...values });
}

/**
 * Replace each `{name}` by the value of that name, numbers as amounts. Names without a
 * value are kept.
 */
export function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (place, name) => {
    const value = values[name] ?? place;
    return typeof value === "number" ? formatAmount(value) : value;
  });
}

/**
 * Return an ordinal, for example "2nd", by the language's rules in Intl.PluralRules.
 */
export function ordinal(n) {
  const rules = new Intl.PluralRules(language, { type: "ordinal" });
  const texts = { one: gettext("{n}st"), two: gettext("{n}nd"), few: gettext("{n}rd") };
  return fill(texts[rules.select(n)] ?? gettext("{n}th"), { n });
}

/**
 * Return a stranger's words for use within a sentence. Isolation marks keep
 * right-to-left text from changing the sentence's direction.
 */
export const isolated = (text) =>
  /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(text) ? `\u2068${text}\u2069` : text;

/** Return a text as it is compared in searches: without accents, in lower case. */
export const plain = (text) =>
  text.normalize("NFD").replace(/\p{M}/gu, "").toLocaleLowerCase().trim();

/** Return for example "a, b and c". */
export const listText = (texts) => new Intl.ListFormat(LOCALE).format(texts);

/** Return the texts that are not empty, joined. */
export const joinTexts = (texts, sign = " · ") => texts.filter(Boolean).join(sign);

/**
 * Return a number with its digits in groups of three. They are separated by narrow
 * spaces, which no language misreads.
 */
export function formatAmount(/** @type {number} */ amount) {
  return String(amount).replace(/\B(?=(\d{3})+$)/g, NARROW_SPACE);
}
