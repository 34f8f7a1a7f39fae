// The Claim page: what a person was sent, and one button that makes it theirs.

import { gettext } from "../../format/gettext.js";
import { claimLink, readLinks } from "../../format/claim_link.js";
import { byId, find, make } from "../../ui/dom.js";
import { scanWay, whyNoScan } from "../../ui/scan.js";
import { say, sayCopied, showError } from "../../ui/forms.js";
import { makePageApi, makeTeller, openWallet, showLoss } from "../open_wallet.js";
import { makeClaimList, makeClaims } from "./claims.js";
import { isInApp } from "./in_app.js";
import { claimView } from "./view.js";

const PATH = "/claim";

const paste = byId("paste", HTMLTextAreaElement);
const list = makeClaimList();
const isOurs = ({ host }) => !host || host === location.host;
const oursOf = (links) =>
  links.filter(isOurs).map(({ output, unit, said }) => ({ ...output, unit, said }));

// An app's own menu may open the address in the person's browser, so the link stays in
// the address until it is claimed.
const isLeft = isInApp(navigator.userAgent);
// Do this before anything is awaited, so that a reload finds the links, too.
const address = takeAddress(isLeft);
const first = await readLinks(address);
if (address) list.add(oursOf(first.links));

const tell = makeTeller();
const opened = await openWallet((outcomes) => {
  claims.note(outcomes);
  tell(outcomes);
});
if (opened)
  showLoss(
    make("a", { class: "button", href: "/wallet" }, gettext("Restore a backup")),
  );
// Without a wallet here, the link still works in another browser.
if (!opened && address) history.replaceState(history.state, "", address);
const view = claimView({
  take: (outputs) => claims.take(outputs),
  remove: (output) => claims.putAway([output]),
});
const claims = makeClaims({
  list,
  view,
  api: makePageApi(),
  onKept: () => void takeAddress(),
  ...opened,
});

/**
 * Read the links of a text. If it names an offer instead, open that: somebody asks to
 * be paid.
 */
async function read(text) {
  const found = await readLinks(text);
  const [, behind = ""] = text.replaceAll("\\", "").split(`${location.host}/offer/`);
  const [offerId] = /^offer_[0-9a-z]{26}/.exec(behind) ?? [];
  if (!offerId || found.links.length) return found;
  location.assign(`/offer/${offerId}`);
  return { links: [], problem: "" };
}

/**
 * Show links, and the problem of their text. Return whether there is no problem. A
 * broken link that was opened must not leave an older one in its place.
 */
function show({ links, problem }, isAddress = false) {
  showError(paste, problem);
  if (links.length || isAddress) {
    // Links of other services are neither sent nor stored.
    view.drawStrangers(links.filter((link) => !isOurs(link)));
    claims.receive(oursOf(links));
  }
  if (problem) addMore();
  return !problem;
}

function addMore() {
  view.setAdding(true);
  paste.focus();
}

async function showAddress() {
  const text = takeAddress(isLeft || !opened);
  if (text) show(await readLinks(text), true);
}

byId("paste-form").onsubmit = async (event) => {
  event.preventDefault();
  // Others should not read the pasted secret when it is no longer needed.
  if (show(await read(paste.value))) paste.value = "";
};
byId("claim-button").onclick = () => claims.take();
byId("copy-link").onclick = () => {
  const links = list
    .opened()
    .map((output) => claimLink(location.origin, output, output));
  const otherwise = gettext("Copy the link from the address bar.");
  return sayCopied(links.join("\n"), undefined, otherwise);
};
byId("add-more").onclick = addMore;
byId("put-away").onclick = async () => {
  view.drawStrangers([]);
  takeAddress();
  await claims.putAway(list.opened());
  paste.focus();
};
readyToScan();

if (!first.links.length) claims.show();
byId("main").dataset.ready = "";
// In the same task, so that the form for pasting links does not flash below a link.
if (address) show(first, true);
window.addEventListener("hashchange", showAddress);
if (opened && !isLeft) showAddress();

async function readyToScan() {
  const onText = async (text, close) => {
    const found = await read(text);
    if (!found.links.length) return say(gettext("This is not a claim link."));
    close();
    show(found);
  };
  const way = scanWay(onText);
  byId("ways").append(way);
  byId("no-scan").textContent = await whyNoScan();
  // The link for a voucher leads here: its owner is at a till.
  if (location.hash !== "#ways") return;
  view.setAdding(true);
  find(way, "button").click();
}

/**
 * Return the address if it has more than the page's own, else an empty text. Unless
 * `isKept`, remove the rest, which contains the secret, from the address and its
 * history entry.
 */
function takeAddress(isKept = false) {
  const { href, hash, pathname } = location;
  // A fragment may be an element's id: the skip link leads there.
  if (hash ? document.getElementById(hash.slice(1)) : pathname === PATH) return "";
  if (!isKept) history.replaceState(history.state, "", PATH);
  return href;
}
