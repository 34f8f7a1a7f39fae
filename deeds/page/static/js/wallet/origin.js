// Says whether a deed is one that this wallet knows, or only has the name of one. Anybody can mint a
// deed of any name: what makes two the same is their id.

/**
 * @typedef {"minted" | "held" | "new" | "lookalike"} OriginKind
 * @typedef {{kind: OriginKind, text: string}} Origin
 * @typedef {{id: string, alike: string, isMinted?: boolean}} Named an item with the key of its name
 */

const TEXTS = {
  minted: "Same deed as the one you minted.",
  held: "You hold this deed already.",
  new: "You have not seen this deed before.",
  lookalike: "Another deed of the same name is in your wallet: ask the sender.",
};

// Letters that look like Latin ones, each before the one that it is taken for; capitals that look
// like others than their small letters stand here too, so this goes before their case is folded.
const ALIKE =
  "АA ВB ЕE ЅS ІI ЈJ КK МM НH ОO РP СC ТT УY ХX ԚQ ԜW аa вb еe ѕs іi јj кk мm нh оo рp сc тt уy хx ԁd ԛq " +
  "ԝw һh гr пn ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX αa βb γy εe ηn ιi κk νv οo ρp σo τt υu χx ωw " +
  "ıi ɑa ɡg 0o 1l |l";
const LATIN = new Map(ALIKE.split(" ").map(([letter, latin]) => [letter, latin]));

/**
 * Return what two names have in common that a person takes for one: their case, accents, blanks and
 * marks do not count, nor does the script that a letter is from. It is empty for no name.
 * @param {string} name
 */
export function nameKey(name) {
  const plain = name.normalize("NFKD").replace(/[\p{M}\p{C}\p{Z}\s]/gu, "");
  const latin = Array.from(plain, (letter) => LATIN.get(letter) ?? letter).join("");
  // By way of the capitals, so that "ß" is "ss". An "l" is often told from an "I" by nobody.
  const folded = latin.toUpperCase().toLowerCase().replaceAll("i", "l");
  // Of a name without letters, the marks are all that there is.
  return folded.replace(/[^\p{L}\p{N}]/gu, "") || folded;
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
  const kind = kindOf(item, relatedTo(item, items));
  return { kind, text: TEXTS[kind] };
}

/** @returns {OriginKind} */
function kindOf(item, related) {
  const own = related.find(({ id }) => id === item.id);
  if (own?.isMinted) return "minted";
  // Before what is held: whoever has claimed a forgery must not be told that all is well.
  if (related.length > (own ? 1 : 0)) return "lookalike";
  return own ? "held" : "new";
}

/**
 * Return what to say of items, by their ids.
 * @param {Pick<import("./store.js").Store, "read">} store
 * @param {import("./records.js").Item[]} items
 * @param {(item: import("./records.js").Item) => string} nameOf
 * @returns {Promise<Map<string, Origin>>}
 */
export async function findOrigins(store, items, nameOf) {
  const named = (item) => ({ ...item, alike: nameKey(nameOf(item)) });
  const asked = items.map(named);
  let related = [];
  /** @type {import("./records.js").Plan} */
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
    const isOwn = (each) => each.isMinted || outputs.list({ itemId: each.id }).some(wasHere);
    const own = related.filter(isOwn);
    return new Map(asked.map((item) => [item.id, originOf(item, own)]));
  });
}

/**
 * What was only looked at, or was never made, was not here.
 * @param {Partial<import("./records.js").OutputRecord>} output
 */
export const wasHere = ({ state, neverHeld }) =>
  state !== "offered" && state !== "void" && !neverHeld;
