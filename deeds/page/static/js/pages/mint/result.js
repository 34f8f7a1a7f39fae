// What a mint gave: its outputs, to be saved before anybody leaves.

import { claimLink } from "../../format/claim_link.js";
import { formatRawOutput } from "../../format/raw_output.js";
import { copyText, download } from "../../ui/copying.js";
import { byId } from "../../ui/dom.js";
import { say } from "../../ui/notices.js";
import { makeOutputView } from "../../ui/output_view.js";

/**
 * Make the result work.
 * @param {{qr: (texts: string[]) => Promise<string[]>, onAnother: () => void}} options
 */
export function mintResult({ qr, onAnother }) {
  const saved = byId("saved", HTMLInputElement);
  const another = byId("mint-another", HTMLButtonElement);
  let outputs = [];

  // The browser's own question: it does not show the words of a page.
  window.addEventListener("beforeunload", (event) => {
    if (outputs.length && !saved.checked) event.preventDefault();
  });
  saved.addEventListener("change", () => {
    another.disabled = !saved.checked;
  });
  another.addEventListener("click", () => {
    outputs = [];
    onAnother();
  });
  byId("copy-all").addEventListener("click", async () => {
    const isCopied = await copyText(linesOf(outputs));
    say(isCopied ? "All are copied." : "This browser does not let pages copy. Download them.");
  });
  byId("download-all").addEventListener("click", () => {
    download(linesOf(outputs), "text/plain", `${outputs[0].itemId}.txt`);
  });

  return {
    /** Show the outputs of an operation that is done. */
    show({ itemId, body }) {
      outputs = body.outputs.map(({ amount, secret }) => ({ itemId, amount, secret }));
      saved.checked = false;
      another.disabled = true;
      byId("minted-link", HTMLAnchorElement).href = `/item/${itemId}`;
      const isOne = outputs.length === 1;
      const views = outputs.map((output, place) =>
        makeOutputView(output, { qr, isOpen: isOne, title: isOne ? "" : `Part ${place + 1}` }),
      );
      byId("minted-outputs").replaceChildren(...views);
    },
  };
}

function linesOf(outputs) {
  const lines = outputs.flatMap((output) => [
    claimLink(location.origin, output),
    formatRawOutput(output),
    "",
  ]);
  return lines.join("\n");
}
