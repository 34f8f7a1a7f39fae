// Paper tickets: sheets of eight, each with the code of its link, and nothing else on the paper.
// They are a part of the document that only a printer shows (css/print.css).

import { unitsText } from "../../format/amounts.js";
import { codeImage } from "../../ui/codes.js";
import { make } from "../../ui/dom.js";

export const PRINTED_MAX = 1000;
const TICKETS_ON_A_SHEET = 8;
/** How long a picture from elsewhere is waited for. */
const PICTURE_MS_MAX = 10_000;

/**
 * @typedef {object} Printed what stands on every ticket
 * @property {string} name
 * @property {string} image the address of a picture, or nothing
 * @property {string} [unit]
 * @property {Map<string, string>} codes SVG texts by the keys of outputs
 */

/**
 * Put sheets with these links into the document, and open the browser's own dialog for printing.
 * @param {import("../../wallet/records.js").OutputRecord[]} links
 * @param {Printed} printed
 */
export async function printLinks(links, printed) {
  removeSheets();
  const tickets = links.map((link) => makeTicket(link, printed));
  const sheets = make("div", { class: "sheets", "aria-hidden": "true" });
  for (let start = 0; start < tickets.length; start += TICKETS_ON_A_SHEET) {
    const onSheet = tickets.slice(start, start + TICKETS_ON_A_SHEET);
    sheets.append(make("div", { class: "sheet-of-tickets" }, ...onSheet));
  }
  document.body.append(sheets);
  await picturesOf(sheets);
  // Phones draw the preview after this event, so the sheets stay until the page is touched again.
  window.addEventListener("afterprint", removeAtNextTouch, { once: true });
  window.print();
}

/** Remove what was to be printed: from now on a printer gets the page itself. */
export function removeSheets() {
  document.querySelector(".sheets")?.remove();
}

function removeAtNextTouch() {
  for (const event of ["pointerdown", "keydown"]) {
    window.addEventListener(event, removeSheets, { once: true });
  }
}

/** @param {Printed} printed */
function makeTicket(link, printed) {
  const { name, image, unit, codes } = printed;
  return make(
    "div",
    { class: "ticket" },
    make(
      "div",
      { class: "ticket-text" },
      ...(image ? [pictureOf(image)] : []),
      make("p", { class: "ticket-name", dir: "auto" }, name),
      make("p", { class: "ticket-units", dir: "auto" }, unitsText(link.amount, unit)),
      make("p", { class: "ticket-number" }, numberText(link)),
    ),
    make("div", { class: "ticket-code" }, codeImage(codes.get(link.key) ?? "", "")),
  );
}

/** Return for example "17/200"; nothing for a link that was made alone. */
export function numberText({ number, of }) {
  return number ? `${number}/${of}` : "";
}

/** A broken picture leaves its place to the name. */
function pictureOf(src) {
  const picture = make("img", { class: "ticket-picture", alt: "", referrerpolicy: "no-referrer" });
  picture.addEventListener("error", () => picture.remove());
  picture.src = src;
  return picture;
}

/** Wait until all pictures are there, or will not come. */
function picturesOf(sheets) {
  const all = [...sheets.querySelectorAll("img")].map((image) => image.decode().catch(() => {}));
  return Promise.race([
    Promise.all(all),
    new Promise((resolve) => setTimeout(resolve, PICTURE_MS_MAX)),
  ]);
}
