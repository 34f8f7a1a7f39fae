// Says whether a deed is one that this wallet knows, or only has the name of one.
// Anybody can mint a deed of any name: what makes two the same is their id.

import { gettext } from "../format/gettext.js";
import { metadataOf, nameOf } from "../format/about.js";
import { isMade } from "../wallet/states.js";

/**
 * @typedef {"minted" | "held" | "new" | "lookalike" | "unknown"} OriginKind
 * @typedef {{kind: OriginKind, text: string, short: string}} Origin
 * @typedef {{id: string, alike: string, isMinted?: boolean}} Named an item with the key of its name
 */

const TEXTS = {
  minted: [gettext("Same as the one you made."), gettext("You made this")],
  held: [gettext("You have one of these already."), gettext("You have this")],
  new: [gettext("You have not seen this before."), gettext("New to you")],
  lookalike: [
    gettext("You have something else of the same name: ask the sender."),
    gettext("Look-alike"),
  ],
  unknown: [gettext("We could not load what this is."), gettext("Not loaded")],
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

/**
 * Return what two names have in common that a person takes for one: their case,
 * accents, blanks and signs do not count, nor does the script that a letter is from. It
 * is empty for no name.
 */
export function nameKey(name) {
  const plain = name.normalize("NFKD").replace(/[\p{M}\p{C}\p{Z}\p{DI}\s\u2800]/gu, "");
  const cases = (letter) => [letter, letter.toLowerCase(), letter.toUpperCase()];
  const alike = (letter) => LATIN.get(cases(letter).find((each) => LATIN.has(each)));
  const latin = Array.from(plain, (letter) => alike(letter) ?? letter).join("");
  // By way of the capitals, so that "ß" is "ss". An "l" is often told from an "I" by
  // nobody.
  const folded = latin.toUpperCase().toLowerCase().replaceAll("i", "l");
  // Of a name without letters, the signs are all that there is.
  return folded.replace(/[^\p{L}\p{N}]/gu, "") || folded;
}

/**
 * Return what makes a person take deeds for one: the name, or without one the picture.
 */
export function likenessOf(item) {
  const key = nameKey(nameOf(item));
  return key === nameKey(nameOf({})) ? `${key} ${metadataOf(item).image}` : key;
}

/** Return which of these items are another, or have its name. */
function relatedTo({ id, alike }, items) {
  return items.filter((each) => each.id === id || (alike && each.alike === alike));
}

/**
 * Return what to say of an item.
 * @param {Named} item
 * @param {Named[]} items what this wallet has minted, or holds or has held; not what it only looked at
 * @returns {Origin}
 */
export function originOf(item, items) {
  const related = relatedTo(item, items);
  const own = related.find(({ id }) => id === item.id);
  if (own?.isMinted) return originAs("minted");
  // Before what is held: whoever has claimed a forgery must not be told that all is
  // well.
  if (related.length > (own ? 1 : 0)) return originAs("lookalike");
  return originAs(own ? "held" : "new");
}

/** @param {OriginKind} kind @returns {Origin} */
export const originAs = (kind) => ({
  kind,
  text: TEXTS[kind][0],
  short: TEXTS[kind][1],
});

/**
 * Return what to say of items, by their ids.
 * @param {Pick<import("../wallet/store.js").Store, "read">} store
 * @param {import("../wallet/records.js").Item[]} items
 * @returns {Promise<Map<string, Origin>>}
 */
export async function findOrigins(store, items) {
  const named = (item) => ({ ...item, alike: likenessOf(item) });
  const asked = items.map(named);
  let related = [];
  /** @type {import("../wallet/records.js").Plan} */
  const wanted = {
    items: "all",
    next(slices) {
      const known = slices.items.list().map(named);
      related = [...new Set(asked.flatMap((item) => relatedTo(item, known)))];
      const unsure = related.filter((each) => !each.isMinted);
      return { outputs: unsure.map(({ id }) => ({ itemId: id })) };
    },
  };
  return store.read(wanted, ({ outputs }) => {
    const isOwn = (each) =>
      each.isMinted || outputs.list({ itemId: each.id }).some(isMade);
    const own = related.filter(isOwn);
    return new Map(asked.map((item) => [item.id, originOf(item, own)]));
  });
}
