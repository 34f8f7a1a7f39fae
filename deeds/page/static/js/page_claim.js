// The Claim page: what somebody was sent, and one button that takes custody of it.

import { makeApi } from "./api.js";
import { readRawOutputs } from "./claim_link.js";
import { makeClaimList } from "./claim_list.js";
import { claimView } from "./claim_view.js";
import { makeClaims } from "./claims.js";
import { byId } from "./dom.js";
import { makeTeller } from "./earlier.js";
import { showError } from "./field_errors.js";
import { readAddress } from "./link_of_address.js";
import { openWallet } from "./open_wallet.js";
import { textFor } from "./problem_texts.js";
import { scanButton } from "./scan_button.js";

const paste = byId("paste");
const list = makeClaimList();
let mistake = null;
let receive = (outputs) => list.add(outputs);
let refuse = (error) => {
  mistake = error;
};

// Before anything is waited for: the secret goes out of the address bar at once.
readAddress({ onOutput: (output) => receive([output]), onError: (error) => refuse(error) });

const tell = makeTeller();
const opened = await openWallet((outcomes) => {
  claims.note(outcomes);
  tell(outcomes);
});
const api = opened?.api ?? makeApi((...request) => fetch(...request));
const view = claimView();
const claims = makeClaims({ list, view, ...opened, api });

receive = (outputs) => {
  showError(paste, byId("paste-error"), "");
  claims.receive(outputs);
};
refuse = (error) => {
  view.setAdding(true);
  showError(paste, byId("paste-error"), textFor(error));
  paste.focus();
};

/** Take the deeds out of a text; return whether there were any. */
function read(text, onError) {
  try {
    receive(readRawOutputs(text));
    return true;
  } catch (error) {
    onError(error);
    return false;
  }
}

byId("paste-form").addEventListener("submit", (event) => {
  event.preventDefault();
  // What was taken in need not stay to be read by others.
  if (read(paste.value, refuse)) paste.value = "";
});
byId("claim-button").addEventListener("click", () => claims.take());
byId("add-more").addEventListener("click", () => {
  view.setAdding(true);
  paste.focus();
});
byId("put-away").addEventListener("click", async () => {
  await claims.putAway();
  paste.focus();
});
scanButton((text) => read(text, () => {}));

claims.show();
byId("main").dataset.ready = "";
if (mistake) refuse(mistake);
