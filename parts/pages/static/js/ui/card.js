// Shows a deed: its card (templates/_card.html) and its mark. Strangers write what a
// card shows, so it is inserted as text, and pictures only come from where
// parts/pages/card.py permits.

import {
  aboutOf,
  isExpired,
  isMixed,
  metadataOf,
  nameOf,
  untilText,
  whenText,
} from "../format/about.js";
import { unitsText } from "../format/amounts.js";
import { gettext } from "../format/gettext.js";
import { BASE32_ALPHABET } from "../format/raw_output.js";
import { copyTemplate, make, partsIn, setEach } from "./dom.js";

const SHOWN = /^(?:https?:\/\/|data:image\/)\S+$/i;

/**
 * @typedef {{itemId?: string, amount?: number, unit?: string, pictures?: "shown" | "ask"}} CardOptions
 *   `amount` is the number of units that the card is about, by default all; `unit` is
 *   the issuer's word for one; "ask" shows a picture from another host, which learns
 *   who is looking, only after a tap
 */

/**
 * Return the address of an item's picture, or an empty text if browsers cannot show it.
 */
export function imageOf(item) {
  const { image = "" } = metadataOf(item);
  return SHOWN.test(image) ? image : "";
}

export function makeCard(item, options) {
  const card = copyTemplate("card-template");
  fillCard(card, item, options);
  return card;
}

/** Show an item in an existing card; `item` may be null. */
export function fillCard(
  card,
  item,
  /** @type {CardOptions} */
  { itemId = "", amount, unit = item?.unit, pictures = "shown" } = {},
) {
  const image = imageOf(item);
  const about = aboutOf(item);
  const part = partsIn(card, "card");
  foldLong(card, part, nameOf(item), about.text);
  const unseen = image ? "" : metadataOf(item).image;
  setEach(
    "textContent",
    {
      name: nameOf(item),
      mixed: isMixed(nameOf(item))
        ? gettext("This name mixes alphabets: it may imitate another name.")
        : "",
      units: unitsText(amount ?? item?.total ?? 0, about.unit || unit),
      of: amount === undefined ? ` ${gettext("in all")}` : "",
      date: whenText(about),
      place: about.place,
      until: untilText(about),
      letters: itemId && markText(itemId),
      description: about.text,
      "image-note":
        unseen &&
        gettext("Browsers can't show this picture: {address}", { address: unseen }),
    },
    part,
  );
  part("until").classList.toggle("bad", isExpired(about));
  const genuine = part("genuine");
  genuine.hidden = !itemId;
  // The opened text may be hidden behind the bar at the bottom of the window.
  genuine.ontoggle = () => genuine.scrollIntoView({ block: "nearest" });
  part("mark").replaceChildren(...(itemId ? makeMark(itemId).childNodes : []));
  drawPattern(part("pattern"), itemId);
  showImage(part, image, pictures);
}

/**
 * Fold long texts when they are new to a card: texts of strangers must not push the
 * page's own out of view.
 */
function foldLong(card, part, name, text) {
  const isNew =
    part("description").textContent !== text || part("name").textContent !== name;
  if (!isNew) return;
  const isLong = name.length > 80 || text.length > 300 || text.split("\n").length > 6;
  const more = part("more");
  const fold = (isCut) => {
    card.toggleAttribute("data-cut", isCut);
    more.textContent = isCut ? gettext("More") : gettext("Less");
  };
  more.hidden = !isLong;
  more.onclick = () => fold(!card.hasAttribute("data-cut"));
  fold(isLong);
}

/**
 * Show a picture. Without one, or if it is broken, the pattern behind it is visible.
 */
function showImage(part, address, pictures) {
  const picture = part("image");
  const button = part("ask");
  const isThere = (picture.getAttribute("src") ?? "") === address;
  const host = pictures === "ask" && !isThere ? foreignHost(address) : "";
  button.hidden = !host;
  button.textContent = host && gettext("Show picture from {host}", { host });
  button.onclick = () => showImage(part, address, "shown");
  if (isThere) return;
  picture.onerror = () => (picture.hidden = true);
  picture.hidden = !address || Boolean(host);
  if (picture.hidden) picture.removeAttribute("src");
  else picture.setAttribute("src", address);
}

/** Return an image that is removed if it is broken. */
export function pictureOf(src, className, loading = "eager") {
  const onerror = ({ target }) => target.remove();
  const referrerpolicy = "no-referrer";
  const attributes = { class: className, alt: "", loading, referrerpolicy };
  return make("img", { ...attributes, onerror, src });
}

/** Return the thumbnail of an item, with the pattern of its mark behind it. */
export function thumbnailOf(
  /** @type {{id: string, metadata?: string | null}} */ item,
) {
  const image = imageOf(item);
  const patterns = makeMark(item.id).querySelectorAll("svg");
  const pictures = image ? [pictureOf(image, "deed-image", "lazy")] : [];
  return make("span", { class: "deed-frame" }, ...patterns, ...pictures);
}

/**
 * Return the host that a picture is loaded from; empty for our own and for data URLs.
 */
function foreignHost(address) {
  const { host } = make("a", { href: address });
  return host === location.host ? "" : host;
}

// The mark distinguishes a deed from another of the same name and picture: two short
// ends of its id, to be read aloud, and a pattern drawn from the letters between them,
// as in parts/pages/card.py.

const END_LENGTH = 4;
/** One column of petals per letter, one petal per bit. */
const COLUMNS = 8;
const BITS = [4, 3, 2, 1, 0];

/** Return the mark of a deed: a small pattern and a text. */
export function makeMark(itemId) {
  const mark = copyTemplate("mark-template");
  drawPattern(mark, itemId);
  mark.append(markText(itemId));
  return mark;
}

/** Return for example "7kq2·m9xd". */
export function markText(itemId) {
  const letters = lettersOf(itemId);
  return `${letters.slice(0, END_LENGTH)}·${letters.slice(-END_LENGTH)}`;
}

/** Draw the pattern of a deed into the three paths of an element. */
function drawPattern(place, itemId) {
  const paths = place.querySelectorAll("path");
  for (const [at, [colour, shape]] of patternOf(itemId).entries()) {
    paths[at].setAttribute("fill", colour);
    paths[at].setAttribute("d", shape);
  }
}

/**
 * Return colour and shape of the background, the dark petals (bits that are 0) and the
 * light petals (bits that are 1). The first letter sets the hue, the second how far the
 * hue of the light petals is from it.
 */
export function patternOf(itemId) {
  const letters = lettersOf(itemId).slice(END_LENGTH, END_LENGTH + COLUMNS);
  const values = Array.from(letters, (letter) => BASE32_ALPHABET.indexOf(letter));
  let dark = "";
  let light = "";
  for (const [x, value] of values.entries()) {
    for (const [y, place] of BITS.entries()) {
      if ((value >> place) & 1) light += `M${x} ${y}a1 1 0 0 1 1 1 1 1 0 0 1-1-1`;
      else dark += `M${x + 1} ${y}a1 1 0 0 0-1 1 1 1 0 0 0 1-1`;
    }
  }
  const [first = 0, second = 0] = values;
  const hue = (360 / 32) * first;
  const lightHue = (hue + 40 + 20 * (second % 8)) % 360;
  return [
    [`oklch(0.4 0.085 ${hue})`, "M0 0h8v5H0z"],
    [`oklch(0.55 0.105 ${hue})`, dark],
    [`oklch(0.82 0.115 ${lightHue})`, light],
  ];
}

const lettersOf = (itemId) => itemId.replace(/^deed_/, "");
