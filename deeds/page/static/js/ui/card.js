// Fills in a card of templates/_card.html. What it shows was written by strangers: it goes into the
// page as text, and a picture only from where deeds/page/card.py lets one come.

import { formatAmount, unitsText } from "../format/amounts.js";
import { markShape, markText } from "../format/item_mark.js";
import { copyTemplate, find, make } from "./dom.js";

const SHOWN = /^(?:https?:\/\/|data:image\/)\S+$/i;

const SVG = "http://www.w3.org/2000/svg";

/**
 * @typedef {{name?: string, description?: string, image?: string}} Metadata
 *
 * @typedef {object} CardOptions
 * @property {string} [itemId] for the mark
 * @property {number} [amount] how many of all units the card is about; all of them unless given
 * @property {string} [unit] what the issuer calls one
 * @property {"shown" | "ask"} [pictures] "ask": one of another host is loaded after a tap only, for
 *   it tells its host who is looking
 */

/**
 * Return the metadata of a registry item; what is no text there is left out.
 * @param {{metadata?: string | null}} item
 * @returns {Metadata}
 */
export function metadataOf(item) {
  try {
    const about = JSON.parse(item.metadata ?? "{}") ?? {};
    const texts = ["name", "description", "image"].map((name) => [name, about[name]]);
    return Object.fromEntries(texts.filter(([, text]) => typeof text === "string" && text.trim()));
  } catch {
    return {};
  }
}

/**
 * Return whether a browser can show what is at this address.
 * @param {string} image
 */
export function isShown(image) {
  return SHOWN.test(image);
}

/**
 * Return a new card of the page's own template.
 * @param {Metadata} metadata
 * @param {number} total
 * @param {CardOptions} [options]
 */
export function makeCard(metadata, total, options) {
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
  place(card, "name").textContent = name || "A deed without a name";
  place(card, "units").textContent = unitsText(amount ?? total, unit);
  place(card, "of").textContent = amount === undefined ? "in all" : `of ${formatAmount(total)}`;
  place(card, "mark").replaceChildren(...(itemId ? markParts(itemId) : []));
  place(card, "mark").hidden = !itemId;
  place(card, "description").textContent = description;
  const note = place(card, "image-note");
  note.hidden = !image || isShown(image);
  note.textContent = note.hidden ? "" : `Browsers cannot show its picture: ${image}`;
  showImage(card, isShown(image) ? image : "", pictures);
}

/**
 * Return the mark of a deed: its small picture and text. The card of templates/_card.html has the
 * same.
 * @param {string} itemId
 */
export function makeMark(itemId) {
  return make("span", { class: "mark" }, ...markParts(itemId));
}

function markParts(itemId) {
  const { cells, hue } = markShape(itemId);
  const picture = makeSvg("svg", { viewBox: "0 0 7 7", "aria-hidden": "true", focusable: "false" });
  const filled = cells.map(([x, y]) => `M${x + 1} ${y + 1}h1v1h-1z`).join("");
  picture.append(
    makeSvg("path", { fill: `hsl(${hue} 60% 88%)`, d: "M0 0h7v7H0z" }),
    makeSvg("path", { fill: `hsl(${hue} 60% 32%)`, d: filled }),
  );
  return [picture, make("span", { class: "unseen" }, "Mark "), markText(itemId)];
}

function makeSvg(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
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
  if (!isThere) putImage(picture, host ? "" : address);
}

function putImage(picture, address) {
  picture.onerror = () => {
    picture.hidden = true;
  };
  picture.hidden = !address;
  if (address) picture.src = address;
  else picture.removeAttribute("src");
}

/** Return the host that a picture comes from; nothing for one of ours, or within the metadata. */
function foreignHost(address) {
  try {
    const { origin, host } = new URL(address);
    return origin === location.origin ? "" : host;
  } catch {
    return "";
  }
}
