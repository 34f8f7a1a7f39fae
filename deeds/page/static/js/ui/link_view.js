// Shows one link to its owner: what it is worth, the ways of handing it over, a copy to keep, and the
// raw output for developers.
//
// Whoever sees a link can claim it. So before it is shown, copied, shared, drawn or downloaded, the
// wallet writes down that it is handed out: nothing else in this browser spends it from then on.

import { unitsText } from "../format/amounts.js";
import { formatRawOutput } from "../format/raw_output.js";
import { quoted } from "../texts/operations.js";
import { textFor } from "../texts/problems.js";
import { makeCard, metadataOf } from "./card.js";
import { codeImage, codesOf, linkOf } from "./codes.js";
import { copyText, download } from "./copying.js";
import { openDialog } from "./dialog.js";
import { freshId, make, makeButton } from "./dom.js";
import { say } from "./notices.js";

/**
 * @typedef {import("../wallet/records.js").OutputRecord} OutputRecord
 * @typedef {import("./codes.js").CodeTools & {
 *   wallet: {giveOut: (keys: string[]) => Promise<OutputRecord[]>},
 *   item: import("../wallet/records.js").Item | null,
 * }} LinkTools
 */

/**
 * Return the view of a link. The page needs the template of cards.
 * @param {OutputRecord} output held or given
 * @param {LinkTools} tools
 * @returns {HTMLElement}
 */
export function makeLinkView(output, tools) {
  const link = linkOf(output, tools.unit);
  const about = { name: nameOf(tools), units: unitsText(output.amount, tools.unit) };
  const byHand = make("div", {});
  const handOver = handingOver(output, tools);
  const copy = () => handOver(() => copyLink(link, byHand, about));
  const canShare = "share" in navigator;
  return make(
    "div",
    { class: "link-view stack" },
    cardOf(output, tools),
    make(
      "p",
      { class: "actions" },
      ...(canShare ? [makeButton("Share", () => handOver(() => share(link, about)), "wide")] : []),
      makeButton("Copy link", copy, canShare ? "quiet" : "wide"),
    ),
    byHand,
    qrPlace(output, tools, handOver, about),
    keepSection(() => handOver(() => downloadLink(link, output, about))),
    developersFold(output, link, handOver),
  );
}

/**
 * Hand a link out, and show it in a dialog. Nothing is shown where it cannot be handed out.
 * @param {OutputRecord} output held or given
 * @param {LinkTools & {opener: HTMLElement, title?: string}} tools
 */
export async function openLinkDialog(output, { opener, title = "Your link", ...tools }) {
  await handingOver(output, tools)(([given]) => {
    const hint = "Whoever opens it first can claim it. Until then you can take it back.";
    openDialog({
      title,
      content: [make("p", { class: "hint" }, hint), makeLinkView({ ...output, ...given }, tools)],
      closeText: "Done",
      opener,
    });
  });
}

/** Return what first writes down that the link is handed out, and hands it over only then. */
function handingOver(output, { wallet }) {
  return async (act) => {
    try {
      await act(await wallet.giveOut([output.key]));
    } catch (error) {
      say(textFor(error));
    }
  };
}

function nameOf({ item }) {
  return quoted((item && metadataOf(item).name) || "A deed without a name");
}

function cardOf({ amount }, { item }) {
  return makeCard(item ? metadataOf(item) : {}, amount);
}

async function share(url, { name, units }) {
  try {
    await navigator.share({ text: `${units} of ${name}`, url });
  } catch (error) {
    // A person who changes their mind has seen that already.
    if (error.name !== "AbortError") say("This device did not share it. Copy the link.");
  }
}

/** Copy the link; where the browser does not let pages copy, show it marked to be copied by hand. */
async function copyLink(link, byHand, { units }) {
  if (await copyText(link)) {
    say(`The link to ${units} is copied.`);
    return;
  }
  byHand.replaceChildren(makeCopyField("Link", link));
  byHand.querySelector("input")?.focus();
  say("This browser does not let pages copy. The link is marked for you to copy it.");
}

function downloadLink(link, output, { name, units }) {
  const lines = [`${units} of ${name}`, link, formatRawOutput(output), ""];
  download(lines.join("\n"), "text/plain", `${output.itemId}.txt`);
}

/** The code stands there at once if the link was handed out before, else after a tap. */
function qrPlace(output, tools, handOver, { name, units }) {
  const place = make("div", { class: "qr", role: "status" });
  const show = () =>
    handOver(async () => {
      const svg = (await codesOf([output], tools)).get(output.key) ?? "";
      place.replaceChildren(codeImage(svg, `QR code of the link to ${units} of ${name}`));
    });
  if (output.state === "given") show();
  else place.append(makeButton("Show QR code", show));
  return place;
}

function keepSection(onDownload) {
  return make(
    "section",
    { class: "stack" },
    make("h3", {}, "Keep a copy"),
    make("p", { class: "hint" }, "This link is like cash. If you lose it, we can't restore it."),
    make("p", { class: "actions" }, makeButton("Download", onDownload)),
  );
}

function developersFold(output, link, handOver) {
  const place = make("div", { class: "stack" });
  const details = make("details", {}, make("summary", {}, "For developers"), place);
  details.addEventListener("toggle", () => {
    if (!details.open || place.hasChildNodes()) return;
    handOver(() =>
      place.replaceChildren(
        makeCopyField("Claim link", link),
        makeCopyField("Raw output", formatRawOutput(output)),
      ),
    );
  });
  return details;
}

/** Return a text that cannot be changed, with its label and a button that copies it. */
function makeCopyField(label, text) {
  const id = freshId("copy");
  const field = make("input", { id, type: "text", readonly: true, value: text, dir: "ltr" });
  field.addEventListener("focus", () => field.select());
  const button = makeButton("Copy", async () => {
    if (await copyText(text)) say("Copied.");
    else field.focus();
  });
  button.append(make("span", { class: "unseen" }, ` the ${label.toLowerCase()}`));
  return make(
    "div",
    { class: "field" },
    make("label", { for: id }, label),
    make("div", { class: "row-line" }, make("div", { class: "field" }, field), button),
  );
}
