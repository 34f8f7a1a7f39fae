// The Claim page: what somebody was sent, and one button that makes it theirs.

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

// Where an app's own menu opens the address in the person's browser, that has to lead to
// the link for as long as it is not claimed.
const isLeft = isInApp(navigator.userAgent);
// Before anything else is waited for, so that a reload finds it too.
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
// The link is as good as before, in another browser.
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
 * Read the links of a text. An offer that it names instead is opened: somebody asks to
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
 * Show links, and what is wrong with the text that they are from; return whether it is
 * all right. A broken link that was opened must not leave an older one in its place.
 */
function show({ links, problem }, isAddress = false) {
  showError(paste, problem);
  if (links.length || isAddress) {
    // Of links of other services nothing is sent or kept.
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
  // What was taken in need not stay to be read by others.
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
// In the same task: the form to paste links into is not seen below a link.
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
  // Who comes from a voucher is at a till.
  if (location.hash !== "#ways") return;
  view.setAdding(true);
  find(way, "button").click();
}

/**
 * Return the address if it holds more than the page's own, and remove that from it and
 * from this entry of the history, unless it is left there: the secret is in it.
 */
function takeAddress(isKept = false) {
  const { href, hash, pathname } = location;
  // A place in the page, where the skip link leads.
  if (hash ? document.getElementById(hash.slice(1)) : pathname === PATH) return "";
  if (!isKept) history.replaceState(history.state, "", PATH);
  return href;
}
