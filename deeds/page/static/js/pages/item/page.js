// The page of a deed: what goes beyond showing it. Without this it is whole all the
// same.

import { byId, copyText } from "../../ui/dom.js";
import { say } from "../../ui/forms.js";
import { makeTeller, openWallet } from "../open_wallet.js";

byId("copy-id").addEventListener("click", async () => {
  const isCopied = await copyText(byId("copy-id").dataset.copy ?? "");
  say(isCopied ? "The item id is copied." : "This browser does not let pages copy.");
});

// The drawing behind a broken picture is shown where the browser gives that room
// anyway; this is for those that draw a sign of their own. It may have broken before
// this ran.
for (const image of document.images) {
  const hide = () => image.toggleAttribute("hidden", true);
  image.addEventListener("error", hide);
  if (image.complete && image.naturalWidth === 0) hide();
}

// An existing wallet finishes what was begun; looking at a deed creates none.
const databases = (await globalThis.indexedDB?.databases?.().catch(() => [])) ?? [];
if (databases.some(({ name }) => name === "deeds")) await openWallet(makeTeller());
