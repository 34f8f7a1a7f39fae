// The page of an offer: what a person gives and gets, and one button that does it.

import { textFor } from "../../texts.js";
import { fillCard } from "../../ui/card.js";
import { findOrigins } from "../../ui/origin.js";
import { byId, copyTemplate, find, onReturn, put, setEach } from "../../ui/dom.js";
import { offersOf, openOffersOf } from "../../wallet/offers.js";
import { recordsWith } from "../../wallet/records.js";
import { askToKeep } from "../../wallet/store.js";
import { makeTeller, oneByOne, openWallet } from "../open_wallet.js";
import { keepAsking } from "../retries.js";
import { askToCancel, openOffer } from "../offer_view.js";
import { itemFinder, messageOf, readKnown } from "./state.js";

/** How often to ask for an offer that somebody may accept at any time. */
const ROUND_MS = 4_000;
const ID_LENGTH = 32;
const LIVE = ["loading", "open", "busy", "own"];

const opened = await openWallet(makeTeller());
if (opened) await start(opened);
byId("main").dataset.ready = "";

/** @param {import("../open_wallet.js").Opened} opened */
async function start(opened) {
  const { wallet, store, api, run } = opened;
  const button = byId("pay", HTMLButtonElement);
  const error = byId("pay-error");
  // Without punctuation from a message around the link.
  const offerId = location.pathname.split("/")[2]?.slice(0, ID_LENGTH) ?? "";
  /** @type {import("./state.js").Known} */
  let known = { paying: await payingOf(store, offerId) };
  let message = /** @type {any} */ (messageOf(known));
  let origins = new Map();
  let isPaying = false;

  async function look() {
    try {
      const offer = await api.offer(offerId);
      if (known.own?.state === "open" && offer.state !== "open")
        await wallet.finish(known.own.key);
      // Judge the deeds before this offer brings in any of them.
      if (!known.offer) origins = await findOrigins(store, await itemsOf(offer));
      known = { ...known, offer, problem: null };
    } catch (problem) {
      known = { ...known, problem };
      throw problem;
    } finally {
      await draw();
    }
  }

  const itemsOf = ({ gives, wants }) =>
    Promise.all([...gives, ...wants].map(({ itemId }) => wallet.item(itemId)));

  const draw = oneByOne(async () => {
    if (known.offer)
      known = { ...known, ...(await readKnown(store, known.offer, origins)) };
    message = messageOf({ ...known, isPaying });
    drawMessage(message);
    const sides = known.own ? ["gives", "wants"] : ["wants", "gives"];
    sides.forEach((side, place) => drawSide(side, known[side], message.titles[place]));
  });

  function setPaying(isNow) {
    isPaying = isNow;
    button.disabled = isNow;
    draw();
  }

  async function pay() {
    setPaying(true);
    error.textContent = "";
    askToKeep();
    await look().catch(() => {});
    const canPay = message.kind === "open" && message.action && !known.problem;
    const verb = () => offersOf(wallet).complete(known.offer);
    const problem = canPay && (await run(verb).then(() => "", textFor));
    setPaying(false);
    await look().catch(() => {});
    // If nothing more can be done, the page says so itself.
    if (message.kind === "open") error.textContent = problem || "";
    (error.textContent ? error : byId("heading")).focus();
  }

  /** Show the link and code of this wallet's own offer, or cancel it. */
  function showOwn(act, opener) {
    const [offer] = openOffersOf([known.own]);
    act(offer, opener, { ...opened, itemOf: itemFinder(known) });
  }

  const cancel = byId("cancel");
  cancel.onclick = () => showOwn(askToCancel, cancel);
  button.onclick = () => (known.own ? showOwn(openOffer, button) : pay());
  store.onChange(draw);
  const ask = keepAsking({
    checkRound: look,
    isWanted: () => LIVE.includes(message.kind),
    roundMs: () => ROUND_MS,
  });
  onReturn(ask);
  await ask();
}

/** Return the operation by which an earlier visit began to pay this offer. */
async function payingOf(store, offerId) {
  const begun = await recordsWith(store, "operations", { state: "begun" });
  return begun.find((each) => each.kind === "complete" && each.offerId === offerId);
}

function drawMessage({ kind, title = "", lead, gainedId = "", action, ...more }) {
  const { text = "", about = "", isQuiet = false } = action ?? {};
  byId("offer").dataset.kind = kind;
  // Until more is known, keep what the service rendered.
  if (title) {
    put(byId("heading"), title);
    document.title = `${title} · Deeds`;
  }
  put(byId("lead"), lead);
  byId("lead").classList.toggle("error", Boolean(more.isBad));
  byId("gained-link").setAttribute("href", `/wallet#${gainedId}`);
  put(byId("cancel"), more.cancelText ?? "");
  setEach("hidden", {
    gained: !gainedId,
    lacking: !more.isLacking,
    cancel: !more.cancelText,
    "pay-bar": !action,
  });
  const [shown, unseen] = byId("pay").children;
  put(shown, text);
  put(unseen, about);
  byId("pay").classList.toggle("quiet", isQuiet);
}

/** Draw what a person gives or gets. Its deeds never change. */
function drawSide(name, sides = [], title) {
  const place = byId(name);
  put(find(place, "h2"), title);
  if (!sides.length || !place.hidden) return;
  place.hidden = false;
  find(place, "ol").append(...sides.map(makeRow));
}

function makeRow(
  /** @type {import("./state.js").Side} */ { itemId, amount, item, origin: known },
) {
  const row = copyTemplate("side-row");
  const origin = find(row, ".origin");
  const { text = "", tint = "" } = known ?? {};
  origin.hidden = !text;
  origin.className = `origin notice ${tint}`.trim();
  put(origin, text);
  fillCard(find(row, ".deed"), item, { itemId, amount, pictures: "ask" });
  find(row, "a").setAttribute("href", `/item/${itemId}`);
  return row;
}
