// The Claim page: what somebody was sent, and one button that takes custody of it.

import { outputOfFragment, readRawOutputs } from "../../format/claim_link.js";
import { textFor } from "../../texts/problems.js";
import { byId } from "../../ui/dom.js";
import { showError } from "../../ui/field_errors.js";
import { makeApi } from "../../wallet/api.js";
import { makeTeller, openWallet } from "../open_wallet.js";
import { makeClaims } from "./claims.js";
import { makeClaimList } from "./list.js";
import { scanButton } from "./scan.js";
import { claimView } from "./view.js";

const paste = byId("paste", HTMLTextAreaElement);
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

/** Receive the deeds named in a text; return whether there were any. */
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

/**
 * Read the fragment now and whenever it changes, and remove it from the address and from this
 * entry of the history before anything else is done.
 * @param {object} on
 * @param {(output: import("../../format/raw_output.js").RawOutput) => void} on.onOutput
 * @param {(error: Error) => void} on.onError
 */
function readAddress({ onOutput, onError }) {
  const read = () => {
    const fragment = location.hash;
    // A place in the page, where the skip link leads.
    if (!fragment || document.getElementById(fragment.slice(1))) return;
    history.replaceState(history.state, "", location.pathname + location.search);
    let found;
    try {
      found = outputOfFragment(fragment);
    } catch (unreadable) {
      onError(unreadable);
      return;
    }
    onOutput(found);
  };
  window.addEventListener("hashchange", read);
  read();
}
