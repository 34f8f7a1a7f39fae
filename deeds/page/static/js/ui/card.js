// Shows a deed: its card (templates/_card.html) and its mark. What a card shows was
// written by strangers: it goes into the page as text, and a picture only from where
// deeds/page/card.py lets one come.

import { unitsText } from "../format/amounts.js";
import { formatAmount } from "../format/gettext.js";
import { copyTemplate, find, make } from "./dom.js";

const SHOWN = /^(?:https?:\/\/|data:image\/)\S+$/i;
// What turns the direction of writing makes one name look like another;
// deeds/page/card.py too leaves it out, and texts of which nothing is seen.
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
    const texts = ["name", "description", "image"].map((name) => [
      name,
      textOf(about[name]),
    ]);
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

export const isShown = (image) => SHOWN.test(image);

export function makeCard(item, options = {}) {
  const card = copyTemplate("card-template");
  fillCard(card, item, options);
  return card;
}

/**
 * Show an item, which may not be known, in a card that there is. @param {CardOptions}
 * [options]
 */
export function fillCard(card, item, options = {}) {
  const { itemId = "", amount, unit = item?.unit, pictures = "shown" } = options;
  const { description = "", image = "" } = metadataOf(item);
  const total = item?.total ?? amount ?? 0;
  place(card, "name").textContent = nameOf(item);
  place(card, "units").textContent = unitsText(amount ?? total, unit);
  place(card, "of").textContent =
    amount === undefined ? "in all" : `of ${formatAmount(total)}`;
  place(card, "mark").replaceChildren(...(itemId ? makeMark(itemId).childNodes : []));
  place(card, "description").textContent = description;
  const unseen = isShown(image) ? "" : image;
  place(card, "image-note").textContent =
    unseen && `Browsers cannot show its picture: ${unseen}`;
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

/**
 * Return the host that a picture comes from; nothing for one of ours, or within the
 * metadata.
 */
function foreignHost(address) {
  const { host } = make("a", { href: address });
  return host === location.host ? "" : host;
}

// The mark of a deed tells it from another of the same name and picture: two short ends
// of its id to be read aloud, and a small picture made from the letters between.
// deeds/page/card.py makes the same.

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
  drawing.setAttribute(
    "d",
    cells.map(([x, y]) => `M${x + 1} ${y + 1}h1v1h-1z`).join(""),
  );
  mark.append(markText(itemId));
  return mark;
}

/** Return for example "7kq2·m9xd". */
export function markText(itemId) {
  const letters = lettersOf(itemId);
  return `${letters.slice(0, END_LENGTH)}·${letters.slice(-END_LENGTH)}`;
}

/**
 * Return the picture: the cells that are filled, of five by five, and a hue in degrees.
 */
export function markShape(itemId) {
  const hash = hashOf(lettersOf(itemId).slice(END_LENGTH, -END_LENGTH));
  /** @returns {[x: number, y: number]} */
  const cellAt = (_, place) => [place % SIDE, Math.floor(place / SIDE)];
  const cells = Array.from({ length: SIDE * SIDE }, cellAt);
  const isFilled = ([x, y]) => (hash >>> (y * HALF + Math.min(x, SIDE - 1 - x))) & 1;
  return { cells: cells.filter(isFilled), hue: (hash >>> (SIDE * HALF)) % 360 };
}

const lettersOf = (itemId) => itemId.replace(/^deed_/, "");

/**
 * FNV-1a of 32 bits. An id is random and the service's choice, so that no stronger one
 * is needed.
 */
function hashOf(letters) {
  let hash = 0x811c9dc5;
  for (const letter of letters)
    hash = Math.imul(hash ^ letter.charCodeAt(0), 0x01000193);
  return hash >>> 0;
}
