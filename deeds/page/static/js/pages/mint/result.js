// What a mint gave: links to hand over.

import { claimLink } from "../../format/claim_link.js";
import { makeCard } from "../../ui/card.js";
import { copyText, download } from "../../ui/copying.js";
import { byId, make, makeButton } from "../../ui/dom.js";
import { say } from "../../ui/notices.js";
import { makeOutputView } from "../../ui/output_view.js";
import { linksText } from "./form.js";

/**
 * Make the result work.
 * @param {import("../open_wallet.js").Opened} opened
 */
export function mintResult({ api }) {
  return {
    /** Show the outputs of an operation that is done. */
    async show({ itemId, body, amount }, { metadata }) {
      const outputs = body.outputs.map((output) => ({ ...output, itemId }));
      const isOne = outputs.length === 1;
      byId("public-page", HTMLAnchorElement).href = `/item/${itemId}`;
      byId("done-title").textContent = isOne
        ? "Your link is ready"
        : `${linksText(outputs.length)} are ready`;
      const views = outputs.map((output, place) =>
        makeOutputView(output, { qr: api.qr, isOpen: isOne, title: isOne ? "" : `${place + 1}` }),
      );
      byId("result").replaceChildren(
        makeCard(metadata, amount),
        isOne ? "" : copies(itemId, outputs),
        make("ol", { class: "stack plain" }, ...views),
      );
    },
  };
}

function copies(itemId, outputs) {
  const text = outputs.map((output) => claimLink(location.origin, output)).join("\n");
  const copy = async () => say((await copyText(text)) ? "All links are copied." : "Download them.");
  const save = () => download(text, "text/plain", `${itemId}.txt`);
  return make(
    "p",
    { class: "actions" },
    makeButton("Copy all links", copy),
    makeButton("Download", save),
  );
}
