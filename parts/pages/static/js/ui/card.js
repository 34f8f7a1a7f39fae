// Shows a deed: its card (templates/_card.html) and its mark. What a card shows was
// written by strangers: it goes into the page as text, and a picture only from where
// parts/pages/card.py lets one come.

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
 *   `amount` of all units is what the card is about, all of them unless given; `unit` is what the
 *   issuer calls one. "ask": a picture of another host, which learns who is looking, needs a tap.
 */

/** Return the address of an item's picture, where browsers can show it. */
export function imageOf(item) {
  const { image = "" } = metadataOf(item);
  return SHOWN.test(image) ? image : "";
}

export function makeCard(item, options) {
  const card = copyTemplate("card-template");
  fillCard(card, item, options);
  return card;
}

/** Show an item, which may not be known, in a card that there is. */
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
  // What it says may be behind what is at the foot of the window.
  genuine.ontoggle = () => genuine.scrollIntoView({ block: "nearest" });
  part("mark").replaceChildren(...(itemId ? makeMark(itemId).childNodes : []));
  drawPattern(part("pattern"), itemId);
  showImage(part, image, pictures);
}

/**
 * Fold texts that are new to a card: those of strangers must not push out of view what
 * the page says itself.
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

/** Without a picture, or with a broken one, the drawing behind it is seen. */
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

/** Return a picture that takes no room where it is broken. */
export function pictureOf(src, className) {
  const onerror = ({ target }) => target.remove();
  const referrerpolicy = "no-referrer";
  return make("img", { class: className, alt: "", referrerpolicy, onerror, src });
}

/** Return the small picture of an item, with the pattern of its mark where it has none. */
export function thumbnailOf(
  /** @type {{id: string, metadata?: string | null}} */ item,
) {
  const image = imageOf(item);
  const patterns = makeMark(item.id).querySelectorAll("svg");
  const pictures = image ? [pictureOf(image, "deed-image")] : [];
  return make("span", { class: "deed-frame" }, ...patterns, ...pictures);
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
// of its id to be read aloud, and a pattern drawn from the letters between, as in
// parts/pages/card.py.

const END_LENGTH = 4;
/** A column of petals for each letter, and a petal for each of its bits. */
const COLUMNS = 8;
const BITS = [4, 3, 2, 1, 0];

/** Return the mark of a deed: its small pattern and text. */
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

/** Draw the pattern of a deed into the three paths of a place. */
function drawPattern(place, itemId) {
  const paths = place.querySelectorAll("path");
  for (const [at, [colour, shape]] of patternOf(itemId).entries()) {
    paths[at].setAttribute("fill", colour);
    paths[at].setAttribute("d", shape);
  }
}

/**
 * Return the colour and the shape of the ground, of the dark petals, for the bits that
 * are 0, and of the light ones. The first letter gives the hue, and with the second how
 * far away that of the light petals is.
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
