// Says whether a deed is one that this wallet knows, or only has the name of one.
// Anybody can mint a deed of any name: what makes two the same is their id.

import { aboutOf, dayOf, dayText, metadataOf, nameOf } from "../format/about.js";
import { fill, gettext } from "../format/gettext.js";
import { quoted } from "../texts.js";
import { markText } from "./card.js";
import { isMade } from "../wallet/states.js";

/**
 * @typedef {"minted" | "held" | "compared" | "wrong" | "two" | "nights" | "opened" | "new" | "date" | "copied" |
 *   "lookalike" | "unknown"} OriginKind of two alike a person has `compared` the mark of this one, or this is the
 *   `wrong` one
 * @typedef {{kind: OriginKind, text: string, short: string, tint: string}} Origin `tint` is the class of
 *   a notice, if a person has to look closer; of what is new there is nothing to say
 */

/** By its kind: what is said, what in a list, and the tint. */
const TEXTS = {
  minted: [gettext("Same as the one you made."), gettext("You made this"), ""],
  held: [gettext("Same as one that you have, or had."), "", ""],
  compared: [gettext("You compared the mark, and said that it is right."), "", "good"],
  wrong: [
    gettext(
      "Careful: you compared the mark {mark}, and said that it is right. This has the mark {own}.",
    ),
    gettext("Look-alike"),
    "bad",
  ],
  two: [
    gettext(
      "You have this ({own}) and another of this name ({mark}): the organiser's site or poster tells which mark is genuine.",
    ),
    gettext("Compare the marks"),
    "bad",
  ],
  nights: [
    gettext(
      "You have this ({own}) and one of another date: {date} ({mark}). Each date has its own mark.",
    ),
    gettext("Another date"),
    "wait",
  ],
  opened: [
    gettext(
      "This has the mark {own}. You opened another of this name, with the mark {mark}: the organiser's site or poster tells which is genuine.",
    ),
    gettext("Compare the marks"),
    "wait",
  ],
  new: ["", "", ""],
  date: [
    gettext("Same name, another date: {date}. Each date has its own mark."),
    gettext("Another date"),
    "wait",
  ],
  copied: [
    gettext(
      "Careful: you didn't make this. Your {name} has the mark {mark}, this has {own}.",
    ),
    gettext("Look-alike"),
    "bad",
  ],
  lookalike: [
    gettext(
      "Careful: this has the mark {own}, and your other {name} {mark}. The organiser's site or poster tells which is genuine.",
    ),
    gettext("Look-alike"),
    "bad",
  ],
  unknown: [gettext("We couldn't load what this is."), gettext("Not loaded"), "wait"],
};

// Behind each Latin letter, letters and digits that look like it. A capital stands here
// only where it looks like another letter than its small one.
const ALIKE =
  "aаαɑᴀᎪꓮ bвьΒʙᏏᏴꓐ cсϲςᴄᏟꓚ dԁđᴅᎠᏧꓓ eеєεҽᴇᎬꓰ fƒꓝ gɡցɢᏀᏳꓖ hһհнħΗʜᎻᏂꓧ jјϳȷյᎫꓙ kкκᴋᏦꓗ mмᴍΜᎷꓟ " +
  "lіιıɪӏłʟ1|ǀᎥᏞꓡꓲ nпηոռɴΝꓠ oоοσօჿოᴏø0ꓳ pрρᴘᏢꓑ qԛզ rгʀᴦᎡᏒꓣ sѕꜱՏᏕᏚꓢ tтτᴛᎢꓔ uυսᴜμꓴ vνѵᴠᏙꓦ " +
  "wԝωաѡᴡᎳᏔꓪ xхχꓫ yуүγΥʏᎩᎽꓬ zζᴢᏃꓜ";
const LATIN = new Map(
  ALIKE.split(" ").flatMap(([latin, ...letters]) =>
    letters.map((letter) => [letter, latin]),
  ),
);

/** What only the table of UTS 39 may know: of most names it is not needed. */
const FOREIGN = /(?![\0-\x7f\p{Emoji}ß€])[\p{L}\p{N}\p{S}]/u;
/** So long a page waits for that table, which is some 30 kB. */
const TABLE_WAIT_MS = 3_000;
/** By letters what they look like, once a name had some of these. @type {Map<string, string>} */
let prototypes = new Map();
let loading;

/**
 * Load what letters look like (the confusables of UTS 39), where one of these names
 * needs it; where that fails our own letters have to do, until the page is opened again.
 */
async function loadPrototypes(names) {
  const address = globalThis.document?.body.dataset.lookAlikes;
  if (!address || !names.some((name) => FOREIGN.test(plainOf(name)))) return;
  loading ??= fetch(address, { signal: AbortSignal.timeout(TABLE_WAIT_MS) })
    .then((answer) => answer.json())
    .then((table) => (prototypes = new Map(Object.entries(table))))
    .catch(() => {});
  await loading;
}

/** Return a name without what nobody sees: accents, blanks, and how letters are set. */
const plainOf = (name) =>
  name.normalize("NFKD").replace(/[\p{M}\p{C}\p{Z}\p{DI}\s\u2800]/gu, "");

/** Return a text in Latin letters, where we know what its letters look like. */
function latinOf(text, others = new Map()) {
  const cases = (letter) => [letter, letter.toLowerCase(), letter.toUpperCase()];
  const alike = (letter, table) =>
    table.get(cases(letter).find((each) => table.has(each)));
  const latin = (letter) => alike(letter, LATIN) ?? alike(letter, others) ?? letter;
  return Array.from(text, latin).join("");
}

/**
 * Return what two names have in common that a person takes for one: their case,
 * accents, blanks and signs do not count, nor does the script that a letter is from. It
 * is empty for no name.
 */
export function nameKey(name) {
  const latin = latinOf(plainOf(name));
  // By way of the capitals, so that "ß" is "ss". An "l" is often told from an "I" by
  // nobody.
  const folded = latin.toUpperCase().toLowerCase().replaceAll("i", "l");
  const joined = folded
    .replaceAll("rn", "m")
    .replaceAll("vv", "w")
    .replaceAll("cl", "d");
  // Of a name without letters, the signs are all that there is.
  return joined.replace(/[^\p{L}\p{N}]/gu, "") || joined;
}

/**
 * Return what makes a person take deeds for one, by our letters and by those of UTS 39:
 * the name, or without one the picture. One of them is enough.
 */
export function likenessOf(item) {
  const name = nameOf(item);
  const key = nameKey(name);
  if (key === nameKey(nameOf({}))) return [`${key} ${metadataOf(item).image}`];
  return [key, nameKey(latinOf(plainOf(name), prototypes))];
}

/** Return by what items are related: the id, and what it looks like. */
const looksOf = (item) => [item.id, ...new Set(likenessOf(item))].filter(Boolean);

/** Return what finds those of these items that are an item, or look like it. */
export function alikeAmong(items) {
  // Each is looked for among few: a list may ask for hundreds.
  const byLooks = new Map();
  for (const item of items)
    for (const look of looksOf(item))
      byLooks.set(look, [...(byLooks.get(look) ?? []), item]);
  return (item) => looksOf(item).flatMap((look) => byLooks.get(look) ?? []);
}

/**
 * Return what to say of an item.
 * @param {import("../wallet/records.js").Item} item
 * @param {(import("../wallet/records.js").Item & {isCompared?: boolean})[]} items of its looks, or
 *   itself, what this wallet has minted, or holds or has held; not what it only looked at
 * @param {import("../wallet/records.js").Item[]} [opened] of its looks, what is looked at with it
 * @returns {Origin}
 */
export function originOf(item, items, opened = []) {
  const known = items.find(({ id }) => id === item.id);
  const others = items.filter(({ id }) => id !== item.id);
  if (known?.isMinted) return originAs("minted");
  // Whoever made the other one knows which is genuine; of two that are held nobody here
  // does, whichever came first.
  const made = others.find(({ isMinted }) => isMinted);
  const isSame = (each) => each.id !== item.id && !isOtherDay(item, each);
  const alike = others.filter(isSame);
  const compared = alike.find(({ isCompared }) => isCompared);
  const same = compared ?? alike[0];
  // Two of one day are more than two nights. Of two that are both new one may be forged.
  const other = made ?? same ?? others[0] ?? opened.find(isSame);
  if (!other || (known && !others.length)) return originAs(known ? "held" : "new");
  const values = {
    own: markText(item.id),
    mark: markText(other.id),
    name: quoted(nameOf(other)),
    date: dayText(aboutOf(known ? other : item)),
  };
  if (made) return originAs("copied", values);
  if (!others.length) return originAs("opened", values);
  if (!same) return originAs(known ? "nights" : "date", values);
  if (known?.isCompared) return originAs("compared", values);
  if (compared) return originAs("wrong", values);
  return originAs(known ? "two" : "lookalike", values);
}

/** Return whether both say a day, and not the same. */
export function isOtherDay(...items) {
  const [one, other] = items.map((item) => dayOf(aboutOf(item)));
  return Boolean(one && other && one !== other);
}

/** @param {OriginKind} kind @returns {Origin} */
export function originAs(kind, values = {}) {
  const [text, short, tint] = TEXTS[kind];
  return { kind, text: fill(text, values), short, tint };
}

/** Return whether nothing speaks against claiming a deed with others, or paying for it. */
export const isSafe = (/** @type {Origin | undefined} */ origin) =>
  origin !== undefined && origin.tint !== "bad" && origin.kind !== "unknown";

/**
 * Return what to say of items that are opened together, by their ids.
 * @param {Pick<import("../wallet/store.js").Store, "read">} store
 * @param {import("../wallet/records.js").Item[]} items
 * @returns {Promise<Map<string, Origin>>}
 */
export async function findOrigins(store, items) {
  if (!items.length) return new Map();
  // No file says what a person has compared: the note is of this browser alone.
  const all = await store.read({ items: "all", notes: "all" }, ({ items, notes }) =>
    items.list().map((item) => ({
      ...item,
      isCompared: notes.get(item.id)?.isCompared,
    })),
  );
  await loadPrototypes([...items, ...all].map(nameOf));
  const alikeOf = alikeAmong(all);
  const own = await findOwn(store, [...new Set(items.flatMap(alikeOf))]);
  const ownIds = new Set(own.map(({ id }) => id));
  const ownOf = (item) => alikeOf(item).filter(({ id }) => ownIds.has(id));
  const openedOf = alikeAmong(items);
  return new Map(
    items.map((item) => [item.id, originOf(item, ownOf(item), openedOf(item))]),
  );
}

/**
 * Return those of the items that this wallet has minted, or holds or has held; not what
 * it only looked at.
 * @template {import("../wallet/records.js").Item} Known
 * @param {Pick<import("../wallet/store.js").Store, "read">} store
 * @param {Known[]} items
 * @returns {Promise<Known[]>}
 */
export function findOwn(store, items) {
  const unsure = items.filter((each) => !each.isMinted);
  const wanted = { outputs: unsure.map(({ id }) => ({ itemId: id })) };
  return store.read(wanted, ({ outputs }) =>
    items.filter(
      (each) => each.isMinted || outputs.list({ itemId: each.id }).some(isMade),
    ),
  );
}
