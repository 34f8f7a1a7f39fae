// Shows a deed: its card (templates/_card.html) and its mark; and says whether it is one that this
// wallet knows, or only has the name of one. Anybody can mint a deed of any name: what makes two the
// same is their id. What a card shows was written by strangers: it goes into the page as text, and a
// picture only from where deeds/page/card.py lets one come.

import { formatAmount, unitsText } from "../format/amounts.js";
import { copyTemplate, find, make } from "./dom.js";

const SHOWN = /^(?:https?:\/\/|data:image\/)\S+$/i;
// What turns the direction of writing makes one name look like another; deeds/page/card.py too
// leaves it out, and texts of which nothing is seen.
const TURNS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const BLANK = /^[\p{M}\p{C}\p{Z}\p{DI}\s\u2800]*$/u;

/**
 * @typedef {{name?: string, description?: string, image?: string}} Metadata
 * @typedef {{itemId?: string, amount?: number, unit?: string, pictures?: "shown" | "ask"}} CardOptions
 *   `amount` of all units is what the card is about, all of them unless given; `unit` is what the
 *   issuer calls one. "ask": a picture of another host, which learns who is looking, needs a tap.
 */

/** Return what of a registry item's metadata is text. @returns {Metadata} */
export function metadataOf(item) {
  try {
    const about = JSON.parse(item?.metadata ?? "{}") ?? {};
    const texts = ["name", "description", "image"].map((name) => [name, textOf(about[name])]);
    return Object.fromEntries(texts.filter(([, text]) => text));
  } catch {
    return {};
  }
}

function textOf(value) {
  const text = typeof value === "string" ? value.replace(TURNS, "") : "";
  return BLANK.test(text) ? "" : text;
}

const displayName = ({ name = "" }) => name || "A deed without a name";

/** Return the name of a registry item, which may not be known. */
export const nameOf = (item) => (item ? displayName(metadataOf(item)) : "A deed");

/** Return what makes a person take deeds for one: the name, or without one the picture. */
export function likenessOf(item) {
  const metadata = metadataOf(item);
  const key = nameKey(displayName(metadata));
  return key === nameKey(displayName({})) ? `${key} ${metadata.image}` : key;
}

export const isShown = (image) => SHOWN.test(image);

export function makeCard(item, options = {}) {
  const card = copyTemplate("card-template");
  fillCard(card, item, options);
  return card;
}

/** Show an item, which may not be known, in a card that there is. @param {CardOptions} [options] */
export function fillCard(card, item, options = {}) {
  const { itemId = "", amount, unit = item?.unit, pictures = "shown" } = options;
  const { description = "", image = "" } = metadataOf(item);
  const total = item?.total ?? amount ?? 0;
  place(card, "name").textContent = nameOf(item);
  place(card, "units").textContent = unitsText(amount ?? total, unit);
  place(card, "of").textContent = amount === undefined ? "in all" : `of ${formatAmount(total)}`;
  place(card, "mark").replaceChildren(...(itemId ? makeMark(itemId).childNodes : []));
  place(card, "description").textContent = description;
  const unseen = isShown(image) ? "" : image;
  place(card, "image-note").textContent = unseen && `Browsers cannot show its picture: ${unseen}`;
  showImage(card, unseen ? "" : image, pictures);
}

const place = (card, name) => find(card, `[data-card="${name}"]`);

/** Without a picture, or with a broken one, the drawing behind it is seen. */
function showImage(card, address, pictures) {
  const [picture, button] = [place(card, "image"), place(card, "ask")];
  const isThere = (picture.getAttribute("src") ?? "") === address;
  const host = pictures === "ask" && !isThere ? foreignHost(address) : "";
  button.hidden = !host;
  button.textContent = host && `Show picture from ${host}`;
  button.onclick = () => showImage(card, address, "shown");
  if (isThere) return;
  picture.onerror = () => picture.toggleAttribute("hidden", true);
  picture.hidden = !address || Boolean(host);
  if (picture.hidden) picture.removeAttribute("src");
  else picture.setAttribute("src", address);
}

/** Return the host that a picture comes from; nothing for one of ours, or within the metadata. */
function foreignHost(address) {
  const { host } = make("a", { href: address });
  return host === location.host ? "" : host;
}

// The mark of a deed tells it from another of the same name and picture: two short ends of its id to
// be read aloud, and a small picture made from the letters between. deeds/page/card.py makes the same.

const END_LENGTH = 4;
/** Columns of the picture; the right half mirrors the left. */
const SIDE = 5;
const HALF = 3;

/** Return the mark of a deed: its small picture and text. */
export function makeMark(itemId) {
  const mark = copyTemplate("mark-template");
  const { cells, hue } = markShape(itemId);
  const [ground, drawing] = mark.querySelectorAll("path");
  ground.setAttribute("fill", `hsl(${hue} 60% 88%)`);
  drawing.setAttribute("fill", `hsl(${hue} 60% 32%)`);
  drawing.setAttribute("d", cells.map(([x, y]) => `M${x + 1} ${y + 1}h1v1h-1z`).join(""));
  mark.append(markText(itemId));
  return mark;
}

/** Return for example "7kq2·m9xd". */
export function markText(itemId) {
  const letters = lettersOf(itemId);
  return `${letters.slice(0, END_LENGTH)}·${letters.slice(-END_LENGTH)}`;
}

/** Return the picture: the cells that are filled, of five by five, and a hue in degrees. */
export function markShape(itemId) {
  const hash = hashOf(lettersOf(itemId).slice(END_LENGTH, -END_LENGTH));
  /** @returns {[x: number, y: number]} */
  const cellAt = (_, place) => [place % SIDE, Math.floor(place / SIDE)];
  const cells = Array.from({ length: SIDE * SIDE }, cellAt);
  const isFilled = ([x, y]) => (hash >>> (y * HALF + Math.min(x, SIDE - 1 - x))) & 1;
  return { cells: cells.filter(isFilled), hue: (hash >>> (SIDE * HALF)) % 360 };
}

const lettersOf = (itemId) => itemId.replace(/^deed_/, "");

/** FNV-1a of 32 bits. An id is random and the service's choice, so that no stronger one is needed. */
function hashOf(letters) {
  let hash = 0x811c9dc5;
  for (const letter of letters) hash = Math.imul(hash ^ letter.charCodeAt(0), 0x01000193);
  return hash >>> 0;
}

/**
 * @typedef {"minted" | "held" | "new" | "lookalike" | "unknown"} OriginKind
 * @typedef {{kind: OriginKind, text: string, short: string}} Origin
 * @typedef {{id: string, alike: string, isMinted?: boolean}} Named an item with the key of its name
 */

const TEXTS = {
  minted: ["Same deed as the one you minted.", "You made this"],
  held: ["You hold this deed already.", "You have this"],
  new: ["You have not seen this deed before.", "New to you"],
  lookalike: ["Another deed of the same name is in your wallet: ask the sender.", "Look-alike"],
  unknown: ["We could not load what this is.", "Not loaded"],
};

// Behind each Latin letter, letters and digits that look like it. A capital stands here only where it
// looks like another letter than its small one.
const ALIKE =
  "aаαɑᴀᎪꓮ bвьΒʙᏏᏴꓐ cсϲςᴄᏟꓚ dԁđᴅᎠᏧꓓ eеєεҽᴇᎬꓰ fƒꓝ gɡցɢᏀᏳꓖ hһհнħΗʜᎻᏂꓧ jјϳȷյᎫꓙ kкκᴋᏦꓗ mмᴍΜᎷꓟ " +
  "lіιıɪӏłʟ1|ǀᎥᏞꓡꓲ nпηոռɴΝꓠ oоοσօჿოᴏø0ꓳ pрρᴘᏢꓑ qԛզ rгʀᴦᎡᏒꓣ sѕꜱՏᏕᏚꓢ tтτᴛᎢꓔ uυսᴜμꓴ vνѵᴠᏙꓦ " +
  "wԝωաѡᴡᎳᏔꓪ xхχꓫ yуүγΥʏᎩᎽꓬ zζᴢᏃꓜ";
const LATIN = new Map(
  ALIKE.split(" ").flatMap(([latin, ...letters]) => letters.map((letter) => [letter, latin])),
);

/**
 * Return what two names have in common that a person takes for one: their case, accents, blanks and
 * marks do not count, nor does the script that a letter is from. It is empty for no name.
 */
export function nameKey(name) {
  const plain = name.normalize("NFKD").replace(/[\p{M}\p{C}\p{Z}\p{DI}\s\u2800]/gu, "");
  const cases = (letter) => [letter, letter.toLowerCase(), letter.toUpperCase()];
  const alike = (letter) => LATIN.get(cases(letter).find((each) => LATIN.has(each)));
  const latin = Array.from(plain, (letter) => alike(letter) ?? letter).join("");
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
  const related = relatedTo(item, items);
  const own = related.find(({ id }) => id === item.id);
  if (own?.isMinted) return originAs("minted");
  // Before what is held: whoever has claimed a forgery must not be told that all is well.
  if (related.length > (own ? 1 : 0)) return originAs("lookalike");
  return originAs(own ? "held" : "new");
}

/** @param {OriginKind} kind @returns {Origin} */
export const originAs = (kind) => ({ kind, text: TEXTS[kind][0], short: TEXTS[kind][1] });

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
    const isOwn = (each) => each.isMinted || outputs.list({ itemId: each.id }).some(wasHere);
    const own = related.filter(isOwn);
    return new Map(asked.map((item) => [item.id, originOf(item, own)]));
  });
}

/**
 * What was only looked at, or was never made, was not here.
 * @param {Partial<import("../wallet/records.js").OutputRecord>} output
 */
export const wasHere = ({ state = "", neverHeld }) =>
  !["seen", "coming", "void"].includes(state) && !neverHeld;
