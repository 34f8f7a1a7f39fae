// Fills in a card of templates/_card.html. What it shows was written by strangers: it goes into the
// page as text, and a picture only from where deeds/page/card.py lets one come.

import { unitsText } from "../format/amounts.js";
import { copyTemplate, find } from "./dom.js";

const SHOWN = /^(?:https?:\/\/|data:image\/)\S+$/i;

/**
 * @typedef {{name?: string, description?: string, image?: string}} Metadata
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

/** Return whether a browser can show what is at this address. */
function isShown(image) {
  return SHOWN.test(image);
}

/**
 * Return a new card of the page's own template.
 * @param {Metadata} metadata
 * @param {number} total
 */
export function makeCard(metadata, total) {
  const card = copyTemplate("card-template");
  fillCard(card, metadata, total);
  return card;
}

/**
 * Show a deed in a card that there is.
 * @param {ParentNode} card
 * @param {Metadata} metadata
 * @param {number} total
 */
export function fillCard(card, { name = "", description = "", image = "" }, total) {
  place(card, "name").textContent = name || "A deed without a name";
  place(card, "units").textContent = unitsText(total);
  place(card, "description").textContent = description;
  const note = place(card, "image-note");
  note.hidden = !image || isShown(image);
  note.textContent = note.hidden ? "" : `Browsers cannot show its picture: ${image}`;
  showImage(place(card, "image"), isShown(image) ? image : "");
}

function place(card, name) {
  return find(card, `[data-card="${name}"]`);
}

/** Without a picture, or with a broken one, the drawing behind it is seen. */
function showImage(picture, address) {
  if ((picture.getAttribute("src") ?? "") === address) return;
  picture.onerror = () => {
    picture.hidden = true;
  };
  picture.hidden = !address;
  if (address) picture.src = address;
  else picture.removeAttribute("src");
}
