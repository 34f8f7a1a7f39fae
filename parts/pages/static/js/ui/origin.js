// Judges whether a deed is known to this wallet, or only has the name of one that is.
// Anybody can mint a deed of any name; only its id identifies it.

import { aboutOf, dayOf, dayText, metadataOf, nameOf } from "../format/about.js";
import { fill, gettext } from "../format/gettext.js";
import { quoted } from "../texts.js";
import { markText } from "./card.js";
import { isMade } from "../wallet/states.js";

/**
 * @typedef {"minted" | "held" | "compared" | "wrong" | "two" | "nights" | "opened" | "new" | "date" | "copied" |
 *   "lookalike" | "unknown"} OriginKind of two look-alikes, `compared` is the one whose
 *   mark the person has compared, `wrong` the other
 * @typedef {{kind: OriginKind, text: string, short: string, tint: string}} Origin
 *   `tint` is the class of a notice, set if the person must look closer; a new deed has
 *   no text
 */

/** By kind: the text, the short text for lists, and the tint. */
const TEXTS = {
  minted: [gettext("Same as the one you made."), gettext("You made this"), ""],
  held: [gettext("Same as one that you have, or had."), "", ""],
  compared: [gettext("You compared the mark, and confirmed it."), "", "good"],
  wrong: [
    gettext("Careful: you confirmed the mark {mark}. This has the mark {own}."),
    gettext("Look-alike"),
    "bad",
  ],
  two: [
    gettext(
      "You have this ({own}) and another of this name ({mark}): the organiser's site or poster shows which mark is genuine.",
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
      "This has the mark {own}. You opened another of this name, with the mark {mark}: the organiser's site or poster shows which is genuine.",
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
      "Careful: this has the mark {own}, and your other {name} {mark}. The organiser's site or poster shows which is genuine.",
    ),
    gettext("Look-alike"),
    "bad",
  ],
  unknown: [gettext("We couldn't load what this is."), gettext("Not loaded"), "wait"],
};

// Each Latin letter is followed by letters and digits that look like it. A capital is
// listed only if it looks like another letter than its lower case.
const ALIKE =
  "aаαɑᴀᎪꓮ bвьΒʙᏏᏴꓐ cсϲςᴄᏟꓚ dԁđᴅᎠᏧꓓ eеєεҽᴇᎬꓰ fƒꓝ gɡցɢᏀᏳꓖ hһհнħΗʜᎻᏂꓧ jјϳȷյᎫꓙ kкκᴋᏦꓗ mмᴍΜᎷꓟ " +
  "lіιıɪӏłʟ1|ǀᎥᏞꓡꓲ nпηոռɴΝꓠ oоοσօჿოᴏø0ꓳ pрρᴘᏢꓑ qԛզ rгʀᴦᎡᏒꓣ sѕꜱՏᏕᏚꓢ tтτᴛᎢꓔ uυսᴜμꓴ vνѵᴠᏙꓦ " +
  "wԝωաѡᴡᎳᏔꓪ xхχꓫ yуүγΥʏᎩᎽꓬ zζᴢᏃꓜ";
const LATIN = new Map(
  ALIKE.split(" ").flatMap(([latin, ...letters]) =>
    letters.map((letter) => [letter, latin]),
  ),
);

/** Letters that only the table of UTS 39 may know. Most names do not need it. */
const FOREIGN = /(?![\0-\x7f\p{Emoji}ß€])[\p{L}\p{N}\p{S}]/u;
/** How long a page waits for that table, which has about 30 kB. */
const TABLE_WAIT_MS = 3_000;
/**
 * What letters look like, loaded when a name first needs it.
 * @type {Map<string, string>}
 */
let prototypes = new Map();
let loading;

/**
 * Load the table of confusable letters (UTS 39) if one of these names needs it. If that
 * fails, our own table must suffice until the page is opened again.
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

/**
 * Return a name without accents, blanks, invisible characters and styles of letters.
 */
const plainOf = (name) =>
  name.normalize("NFKD").replace(/[\p{M}\p{C}\p{Z}\p{DI}\s\u2800]/gu, "");

/** Replace letters by the Latin letters that they look like, where that is known. */
function latinOf(text, others = new Map()) {
  const cases = (letter) => [letter, letter.toLowerCase(), letter.toUpperCase()];
  const alike = (letter, table) =>
    table.get(cases(letter).find((each) => table.has(each)));
  const latin = (letter) => alike(letter, LATIN) ?? alike(letter, others) ?? letter;
  return Array.from(text, latin).join("");
}

/**
 * Return a key that names have in common if a person may confuse them. Case, accents,
 * blanks, punctuation and script do not count. The key of an empty name is empty.
 */
export function nameKey(name) {
  const latin = latinOf(plainOf(name));
  // Upper case first, so that "ß" becomes "ss". Many fonts draw "l" and "I" alike.
  const folded = latin.toUpperCase().toLowerCase().replaceAll("i", "l");
  const joined = folded
    .replaceAll("rn", "m")
    .replaceAll("vv", "w")
    .replaceAll("cl", "d");
  // A name without letters has only its signs.
  return joined.replace(/[^\p{L}\p{N}]/gu, "") || joined;
}

/**
 * Return the keys by which people may confuse deeds, by our table and by that of UTS
 * 39: keys of the name, or of the picture if there is no name. Two deeds look alike if
 * they share a key.
 */
export function likenessOf(item) {
  const name = nameOf(item);
  const key = nameKey(name);
  if (key === nameKey(nameOf({}))) return [`${key} ${metadataOf(item).image}`];
  return [key, nameKey(latinOf(plainOf(name), prototypes))];
}

/** Return the keys that relate items: the id and those of what they look like. */
const looksOf = (item) => [item.id, ...new Set(likenessOf(item))].filter(Boolean);

/** Return a function that finds, among these items, an item and its look-alikes. */
export function alikeAmong(items) {
  // A list may ask for hundreds of items, so index them.
  const byLooks = new Map();
  for (const item of items)
    for (const look of looksOf(item))
      byLooks.set(look, [...(byLooks.get(look) ?? []), item]);
  return (item) => looksOf(item).flatMap((look) => byLooks.get(look) ?? []);
}

/**
 * Return what to say about the origin of an item.
 * @param {import("../wallet/records.js").Item} item
 * @param {(import("../wallet/records.js").Item & {isCompared?: boolean})[]} items the
 *   item itself and its look-alikes, if this wallet minted, holds or has held them; not
 *   what it only looked at
 * @param {import("../wallet/records.js").Item[]} [opened] look-alikes that are viewed
 *   together with it
 * @returns {Origin}
 */
export function originOf(item, items, opened = []) {
  const known = items.find(({ id }) => id === item.id);
  const others = items.filter(({ id }) => id !== item.id);
  if (known?.isMinted) return originAs("minted");
  // A deed that this wallet minted is the genuine one. If it only holds both, either
  // may be genuine, whichever came first.
  const made = others.find(({ isMinted }) => isMinted);
  const isSame = (each) => each.id !== item.id && !isOtherDay(item, each);
  const alike = others.filter(isSame);
  const compared = alike.find(({ isCompared }) => isCompared);
  const same = compared ?? alike[0];
  // Two deeds of one day are more suspicious than two nights. If both are new, one may
  // be forged.
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

/** Return whether both items state a day and the days differ. */
export function isOtherDay(...items) {
  const [one, other] = items.map((item) => dayOf(aboutOf(item)));
  return Boolean(one && other && one !== other);
}

/** @param {OriginKind} kind @returns {Origin} */
export function originAs(kind, values = {}) {
  const [text, short, tint] = TEXTS[kind];
  return { kind, text: fill(text, values), short, tint };
}

/** Return whether a deed may be claimed with others, or paid for, without a warning. */
export const isSafe = (/** @type {Origin | undefined} */ origin) =>
  origin !== undefined && origin.tint !== "bad" && origin.kind !== "unknown";

/**
 * Return the origins of items that are opened together, by item id.
 * @param {Pick<import("../wallet/store.js").Store, "read">} store
 * @param {import("../wallet/records.js").Item[]} items
 * @returns {Promise<Map<string, Origin>>}
 */
export async function findOrigins(store, items) {
  if (!items.length) return new Map();
  // What a person has compared is only in the notes of this browser, in no file.
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
 * Return the items that this wallet has minted, or holds or has held; not those that it
 * only looked at.
 * @template {import("../wallet/records.js").Item} Known
 * @param {Pick<import("../wallet/store.js").Store, "read">} store
 * @param {Known[]} items
 * @returns {Promise<Known[]>}
 */
export function findOwn(store, items) {
  const unsure = items.filter((each) => !each.isMinted);
  const plan = { outputs: unsure.map(({ id }) => ({ itemId: id })) };
  return store.read(plan, ({ outputs }) =>
    items.filter(
      (each) => each.isMinted || outputs.list({ itemId: each.id }).some(isMade),
    ),
  );
}
