// Shows an output to its owner: the claim link and the raw output, each to copy, and the link
// as a QR code.

import { unitsText } from "../format/amounts.js";
import { claimLink } from "../format/claim_link.js";
import { formatRawOutput } from "../format/raw_output.js";
import { textFor } from "../texts/problems.js";
import { copyText } from "./copying.js";
import { freshId, make, makeButton } from "./dom.js";
import { say } from "./notices.js";

/**
 * Return a list element for an output.
 * @param {import("../format/raw_output.js").RawOutput} output
 * @param {object} options
 * @param {(texts: string[]) => Promise<string[]>} options.qr see wallet/api.js
 * @param {string} [options.title] stands before the units
 * @param {boolean} [options.isOpen] whether the QR code is there at once
 */
export function makeOutputView(output, { qr, title = "", isOpen = false }) {
  const link = claimLink(location.origin, output);
  const units = unitsText(output.amount);
  return make(
    "li",
    { class: "output" },
    make("p", { class: "output-units" }, title ? `${title}: ${units}` : units),
    makeCopyField("Claim link", link, `The link to ${units} is copied.`),
    makeCopyField("Raw output", formatRawOutput(output), "The raw output is copied."),
    makeQrView(link, `QR code of the claim link to ${units}`, qr, isOpen),
  );
}

/** Return a text that cannot be changed, with its label and a button that copies it. */
export function makeCopyField(label, text, said) {
  const id = freshId("copy");
  const field = make("input", { id, type: "text", readonly: true, value: text, dir: "ltr" });
  field.addEventListener("focus", () => field.select());
  const button = makeButton("Copy", async () => {
    if (await copyText(text)) say(said);
    else {
      field.focus();
      say("This browser does not let pages copy. The text is marked for you to copy it.");
    }
  });
  button.append(make("span", { class: "unseen" }, ` the ${label.toLowerCase()}`));
  return make(
    "div",
    { class: "field" },
    make("label", { for: id }, label),
    make("div", { class: "row-line" }, make("div", { class: "field" }, field), button),
  );
}

function makeQrView(text, description, qr, isOpen) {
  const place = make("div", { class: "qr" });
  const details = make("details", {}, make("summary", {}, "QR code"), place);
  // Asked for only when somebody wants it: a code takes the service as long as many swaps.
  details.addEventListener("toggle", () => {
    if (details.open && !place.hasChildNodes()) fillQr(details, place, text, description, qr);
  });
  details.open = isOpen;
  return details;
}

// One after the other: the service makes few at once.
let last = Promise.resolve();

function fillQr(details, place, text, description, qr) {
  const image = make("img", { alt: description, width: "256", height: "256" });
  place.append(image);
  last = last.then(async () => {
    try {
      const svg = new Blob(await qr([text]), { type: "image/svg+xml" });
      const url = URL.createObjectURL(svg);
      image.addEventListener("load", () => URL.revokeObjectURL(url), { once: true });
      image.src = url;
    } catch (error) {
      place.replaceChildren();
      details.open = false;
      say(textFor(error));
    }
  });
}
