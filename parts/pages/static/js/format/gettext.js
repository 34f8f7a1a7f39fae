// Texts in the language of the page, and how it writes amounts, dates and lists. The
// texts of the code are English; where the page is in another language, the script of
// its catalogue has run before.

const NARROW_SPACE = "\u202f";

/**
 * Of each English text its translation; of one with a plural, its forms, and the place
 * among them of the form that a count takes.
 * @type {{texts: Readonly<Record<string, string | string[]>>, place: (count: number) => number}}
 */
const CATALOGUE = /** @type {any} */ (globalThis).deedsCatalogue ?? { texts: {} };

const language = globalThis.document?.documentElement.lang || "en";

/** What the person's browser writes dates and lists by: their own locale if the page speaks it. */
export const LOCALE =
  globalThis.navigator?.languages?.find((each) => each.split("-")[0] === language) ??
  language;

/**
 * Return a text with these values in the place of their names in braces; a name without
 * one stays, for `fill`.
 */
export function gettext(text, values = {}) {
  const translated = CATALOGUE.texts[text];
  return fill(typeof translated === "string" ? translated : text, values);
}

/** Return the form of a text for a count, which it may name too, as `{count}`. */
export function ngettext(one, many, count, values = {}) {
  const forms = CATALOGUE.texts[one];
  const english = count === 1 ? one : many;
  const text = forms ? forms[CATALOGUE.place(count)] : english;
  return fill(text, { count, ...values });
}

/**
 * Return the text with these values in the place of their names, numbers as amounts;
 * others stay.
 */
export function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (place, name) => {
    const value = values[name] ?? place;
    return typeof value === "number" ? formatAmount(value) : value;
  });
}

/** Return for example "2nd": Intl.PluralRules tells how a language counts. */
export function ordinal(n) {
  const rules = new Intl.PluralRules(language, { type: "ordinal" });
  const texts = { one: gettext("{n}st"), two: gettext("{n}nd"), few: gettext("{n}rd") };
  return fill(texts[rules.select(n)] ?? gettext("{n}th"), { n });
}

/**
 * Return words of a stranger for use within a sentence, which keeps its own direction:
 * only what is written from right to left needs signs for that.
 */
export const isolated = (text) =>
  /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(text) ? `\u2068${text}\u2069` : text;

/** Return a text as it is searched: without accents, and in one case. */
export const plain = (text) =>
  text.normalize("NFD").replace(/\p{M}/gu, "").toLocaleLowerCase().trim();

/** Return for example "a, b and c". */
export const listText = (texts) => new Intl.ListFormat(LOCALE).format(texts);

/** Return these texts in one, but those that are empty. */
export const joinTexts = (texts, sign = " · ") => texts.filter(Boolean).join(sign);

/**
 * Return the digits in groups of three, which narrow spaces part: no language reads
 * them wrongly.
 */
export function formatAmount(/** @type {number} */ amount) {
  return String(amount).replace(/\B(?=(\d{3})+$)/g, NARROW_SPACE);
}
