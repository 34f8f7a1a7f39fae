// The page of a deed: additions to what the service renders, which is complete without
// them.

import { gettext } from "../../format/gettext.js";
import { saveDate } from "../../ui/calendar.js";
import { byId, put } from "../../ui/dom.js";
import { sayCopied, sayError } from "../../ui/forms.js";
import { findOrigins } from "../../ui/origin.js";
import { makePageApi, makeTeller, openWallet } from "../open_wallet.js";

const { copy: itemId = "" } = byId("copy-id").dataset;

byId("copy-id").onclick = () => sayCopied(itemId, gettext("The ID is copied."));

document
  .getElementById("calendar")
  ?.addEventListener("click", () =>
    makePageApi().item(itemId).then(saveDate).catch(sayError),
  );

// The pattern is behind the picture, which may have failed to load before this runs.
for (const image of document.images) {
  const hide = () => (image.hidden = true);
  image.addEventListener("error", hide);
  if (image.complete && image.naturalWidth === 0) hide();
}

// An existing wallet finishes what has begun; viewing a deed creates no wallet.
const databases = (await globalThis.indexedDB?.databases?.().catch(() => [])) ?? [];
const isThere = databases.some(({ name }) => name === "deeds");
const opened = isThere && (await openWallet(makeTeller()));
if (opened) {
  const item = await opened.wallet.item(itemId);
  const origin = (await findOrigins(opened.store, [item])).get(itemId);
  put(byId("origin"), origin?.text);
  byId("origin").className = origin?.text ? `notice ${origin.tint}` : "";
}
