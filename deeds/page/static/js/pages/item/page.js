// The page of a deed: what goes beyond showing it. Without this it is whole all the same.

import { copyText } from "../../ui/copying.js";
import { say } from "../../ui/notices.js";

const button = document.getElementById("copy-id");
button.addEventListener("click", async () => {
  const isCopied = await copyText(button.dataset.copy);
  say(isCopied ? "The item id is copied." : "This browser does not let pages copy.");
});

// The drawing behind a broken picture is shown where the browser gives that room anyway; this is
// for those that draw a sign of their own. It may have broken before this ran.
for (const image of document.querySelectorAll("[data-card=image]")) {
  const hide = () => {
    image.hidden = true;
  };
  image.addEventListener("error", hide);
  if (image.complete && image.naturalWidth === 0 && image.src) hide();
}

// Who has a wallet here has it finish what was begun; nobody gets one by looking at a deed.
const isKnown = ({ name }) => name === "deeds";
const databases = (await globalThis.indexedDB?.databases?.().catch(() => [])) ?? [];
if (databases.some(isKnown)) {
  const { openWallet, makeTeller } = await import("../open_wallet.js");
  await openWallet(makeTeller());
}
