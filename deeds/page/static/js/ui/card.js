// Fills in a card of templates/_card.html. What it shows was written by strangers: it goes into the
// page as text, and a picture only from where deeds/page/card.py lets one come.

import { formatAmount, unitsText } from "../format/amounts.js";
import { markShape, markText } from "../format/item_mark.js";
import { nameKey } from "../wallet/origin.js";
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

/**
 * Return the metadata of a registry item; what is no text there is left out.
 * @param {{metadata?: string | null}} item
 * @returns {Metadata}
 */
export function metadataOf(item) {
  try {
    const about = JSON.parse(item.metadata ?? "{}") ?? {};
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

/** Return what a deed is called. */
export const displayName = ({ name = "" }) => name || "A deed without a name";

/** Return what makes a person take deeds for one: the name, or without one the picture. */
export function likenessOf(item) {
  const metadata = metadataOf(item);
  const key = nameKey(displayName(metadata));
  return key === nameKey(displayName({})) ? `${key} ${metadata.image}` : key;
}

/** Return whether a browser can show what is at this address. */
export function isShown(image) {
  return SHOWN.test(image);
}

/** Return a new card of the page's own template, filled in. */
export function makeCard(metadata, total, options = {}) {
  const card = copyTemplate("card-template");
  fillCard(card, metadata, total, options);
  return card;
}

/**
 * Show a deed in a card that there is.
 * @param {ParentNode} card
 * @param {Metadata} metadata
 * @param {number} total
 * @param {CardOptions} [options]
 */
export function fillCard(card, { name = "", description = "", image = "" }, total, options = {}) {
  const { itemId = "", amount, unit, pictures = "shown" } = options;
  place(card, "name").textContent = displayName({ name });
  place(card, "units").textContent = unitsText(amount ?? total, unit);
  place(card, "of").textContent = amount === undefined ? "in all" : `of ${formatAmount(total)}`;
  place(card, "mark").replaceChildren(...(itemId ? makeMark(itemId).childNodes : []));
  place(card, "description").textContent = description;
  const unseen = isShown(image) ? "" : image;
  place(card, "image-note").textContent = unseen && `Browsers cannot show its picture: ${unseen}`;
  showImage(card, unseen ? "" : image, pictures);
}

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

function place(card, name) {
  return find(card, `[data-card="${name}"]`);
}

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
