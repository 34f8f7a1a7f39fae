// The Claim page: what somebody was sent, and one button that makes it theirs.

import { readLinks } from "../../format/claim_link.js";
import { byId } from "../../ui/dom.js";
import { showError } from "../../ui/field_errors.js";
import { say } from "../../ui/notices.js";
import { startScan, whyNoScan } from "../../ui/scan.js";
import { makeApi } from "../../wallet/api.js";
import { makeTeller, openWallet } from "../open_wallet.js";
import { makeClaims } from "./claims.js";
import { makeClaimList } from "./list.js";
import { claimView } from "./view.js";

const PATH = "/claim";

const paste = byId("paste", HTMLTextAreaElement);
const list = makeClaimList();
/** Links of other services: of these nothing is sent or kept. */
let strangers = [];
let mistake = "";
let show = (outputs) => list.add(outputs);
let refuse = (problem) => {
  mistake = problem;
};

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
  view.drawStrangers(strangers);
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
  const isOurs = ({ host }) => !host || host === location.host;
  const ours = links.filter(isOurs).map(({ output, unit }) => ({ ...output, unit }));
  strangers = links.filter((link) => !isOurs(link));
  if (links.length) show(ours);
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
  view.drawStrangers([]);
  await claims.putAway();
  paste.focus();
});
readyToScan();

view.drawStrangers(strangers);
claims.show();
byId("main").dataset.ready = "";
if (mistake) refuse(mistake);

/** Show the button that scans a QR code, or say why there is none. */
async function readyToScan() {
  const start = byId("scan-start", HTMLButtonElement);
  const place = byId("scan");
  const problem = await whyNoScan();
  start.hidden = Boolean(problem);
  byId("no-scan").hidden = !problem;
  byId("no-scan").textContent = problem;
  let stop = () => {};
  const end = () => {
    stop();
    stop = () => {};
    place.hidden = true;
    start.disabled = false;
  };
  const onText = async (text) => {
    if (await receive(text)) say("This QR code holds no deed.");
    else end();
  };

  start.addEventListener("click", async () => {
    start.disabled = true;
    place.hidden = false;
    byId("scan-stop").focus();
    try {
      ({ stop } = await startScan(byId("scan-video", HTMLVideoElement), onText, end));
      // Stopped while the person was asked about the camera.
      if (place.hidden) end();
    } catch (error) {
      end();
      start.focus();
      say(error.message);
    }
  });
  byId("scan-stop").addEventListener("click", () => {
    end();
    start.focus();
  });
}

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
