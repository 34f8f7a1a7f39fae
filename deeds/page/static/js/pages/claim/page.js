// The Claim page: what somebody was sent, and one button that takes custody of it.

import { readLinks } from "../../format/claim_link.js";
import { byId } from "../../ui/dom.js";
import { showError } from "../../ui/field_errors.js";
import { makeApi } from "../../wallet/api.js";
import { makeTeller, openWallet } from "../open_wallet.js";
import { makeClaims } from "./claims.js";
import { makeClaimList } from "./list.js";
import { scanButton } from "./scan.js";
import { claimView } from "./view.js";

const PATH = "/claim";

const paste = byId("paste", HTMLTextAreaElement);
const list = makeClaimList();
let show = (outputs) => list.add(outputs);
let refuse = (problem) => {
  mistake = problem;
};
let mistake = "";

// Before anything else is waited for, so that a reload finds it too.
await readAddress();
window.addEventListener("hashchange", readAddress);

const tell = makeTeller();
const opened = await openWallet((outcomes) => {
  claims.note(outcomes);
  tell(outcomes);
});
const api = opened?.api ?? makeApi((...request) => fetch(...request));
const view = claimView();
const claims = makeClaims({ list, view, ...opened, api });

show = (outputs) => {
  showError(paste, byId("paste-error"), "");
  claims.receive(outputs);
};
refuse = (problem) => {
  view.setAdding(true);
  showError(paste, byId("paste-error"), problem);
  paste.focus();
};

/** Show the links in a text; return what is wrong with it, or nothing. */
async function receive(text) {
  const { links, problem } = await readLinks(text);
  if (links.length) show(links.map(({ output }) => output));
  return problem;
}

byId("paste-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const problem = await receive(paste.value);
  if (problem) refuse(problem);
  // What was taken in need not stay to be read by others.
  else paste.value = "";
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
scanButton(async (text) => !(await receive(text)));

claims.show();
byId("main").dataset.ready = "";
if (mistake) refuse(mistake);

/**
 * Show what the address holds beside the page's own path, and remove that from it and from this
 * entry of the history before anything else is done: the secret is in it.
 */
async function readAddress() {
  const { href, hash, pathname } = location;
  // A place in the page, where the skip link leads.
  const isPlace = !hash || document.getElementById(hash.slice(1));
  if (isPlace && pathname === PATH) return;
  history.replaceState(history.state, "", PATH);
  const problem = await receive(href);
  if (problem) refuse(problem);
}
