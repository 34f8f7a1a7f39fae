// Shows a link that gives units away: to copy, as a QR code, and to share where the device can.

import { unitsText } from "../../format/amounts.js";
import { claimLink } from "../../format/claim_link.js";
import { openDialog } from "../../ui/dialog.js";
import { make, makeButton } from "../../ui/dom.js";
import { say } from "../../ui/notices.js";
import { makeOutputView } from "../../ui/output_view.js";

/**
 * @param {import("../../format/raw_output.js").RawOutput} output
 * @param {object} options
 * @param {string} options.title
 * @param {string} options.name what the deed is called
 * @param {boolean} [options.isNew] shows the QR code at once
 * @param {HTMLElement} options.opener
 * @param {(texts: string[]) => Promise<string[]>} options.qr see wallet/api.js
 */
export function showLink(output, { title, name, isNew = false, opener, qr }) {
  const hint = "Whoever opens it first can take the units. Until then you can take them back.";
  openDialog({
    title,
    content: [
      make("p", { class: "hint" }, hint),
      make("ul", { class: "plain" }, makeOutputView(output, { qr, isOpen: isNew })),
    ],
    actions: "share" in navigator ? [shareButton(output, name)] : [],
    closeText: "Done",
    opener,
  });
}

function shareButton(output, name) {
  const text = `${unitsText(output.amount)} of ${name}`;
  return makeButton(
    "Share",
    async () => {
      try {
        await navigator.share({ text, url: claimLink(location.origin, output) });
      } catch (error) {
        // Who thinks better of it has said so already.
        if (error.name !== "AbortError") say("This device did not share it. Copy the link.");
      }
    },
    "",
  );
}
