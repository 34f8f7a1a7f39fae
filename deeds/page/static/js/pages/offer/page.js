// The page of an offer: what one gives and gets, and one tap that does it.

import { quoted } from "../../texts/operations.js";
import { displayName, fillCard, likenessOf, metadataOf } from "../../ui/card.js";
import { byId, copyTemplate, find, put } from "../../ui/dom.js";
import { listInPieces, oneByOne } from "../../ui/keyed_list.js";
import { offersOf } from "../../wallet/offers.js";
import { findOrigins } from "../../wallet/origin.js";
import { askToKeep } from "../../wallet/store.js";
import { makeTeller, openWallet, verbRunner } from "../open_wallet.js";
import { keepAsking } from "../wallet/live.js";
import { namerOf, readingOf, sayingOf } from "./state.js";

/** How often an offer that somebody may take at any time is asked for again. */
const ROUND_MS = 4_000;
const LIVE = ["loading", "open", "busy", "own"];

const opened = await openWallet(makeTeller());
if (opened) await start(opened);
byId("main").dataset.ready = "";

/** @param {import("../open_wallet.js").Opened} opened */
async function start(opened) {
  const { wallet, store, api } = opened;
  const [offers, run] = [offersOf(wallet, store), verbRunner(opened)];
  const [button, error] = [byId("pay", HTMLButtonElement), byId("pay-error")];
  const offerId = location.pathname.split("/")[2] ?? "";
  const [drawWants, drawGives] = ["wants", "gives"].map(sideView);
  /** @type {import("./state.js").Known} */
  let known = { offer: null };
  let saying = sayingOf(known);
  let origins = new Map();

  /** Ask what the offer is now, and show it. */
  async function look() {
    try {
      const offer = await api.offer(offerId);
      if (known.own?.state === "open" && offer.state !== "open") await offers.refresh(known.own.key);
      // What is said of deeds before any of them comes in by this offer.
      if (!known.offer) origins = await readOrigins([...offer.gives, ...offer.wants]);
      known = { ...known, offer, problem: null };
    } catch (problem) {
      known = { ...known, problem };
      throw problem;
    } finally {
      await draw();
    }
  }

  async function readOrigins(parts) {
    const items = await Promise.all(parts.map(({ itemId }) => wallet.item(itemId)));
    return findOrigins(store, items, likenessOf);
  }

  const draw = oneByOne(async () => {
    const { offer } = known;
    const found = offer && (await store.read(...readingOf(offer, origins)));
    known = { ...known, ...found };
    saying = sayingOf(known);
    drawSaying(saying);
    drawWants(known.wants, known.own ? "You get" : "You give");
    drawGives(known.gives, known.own ? "You give" : "You get");
    if (!button.disabled) drawAction(saying.action);
  });

  /** Complete it, unless somebody was faster. */
  async function pay() {
    button.disabled = true;
    error.textContent = "";
    askToKeep();
    await look().catch(() => {});
    const canPay = saying.action && !known.problem;
    const verb = () => offers.complete(known.offer);
    const { problem = "" } = canPay ? await run(verb, () => {}) : {};
    button.disabled = false;
    await look().catch(() => {});
    // Where nothing can be done any more, the page says so itself.
    if (saying.kind === "open") error.textContent = problem;
    (error.textContent ? error : byId("heading")).focus();
  }

  /** Show how an offer of this wallet is handed over, or withdraw it. */
  const ofOwn = (act) => async (opener) => {
    const views = await import("../wallet/offers_view.js");
    const [made] = views.offersAmong([known.own]);
    views[act](made, opener, { ...opened, run, ...namerOf(known) });
  };

  button.addEventListener("click", () => (known.own ? ofOwn("openOffer")(button) : pay()));
  const withdraw = byId("withdraw");
  withdraw.addEventListener("click", () => ofOwn("askToWithdraw")(withdraw));
  store.onChange(draw);
  const isWanted = () => !document.hidden && LIVE.includes(saying.kind);
  const ask = keepAsking({ checkRound: look, isWanted, roundMs: ROUND_MS });
  for (const event of ["focus", "online"]) window.addEventListener(event, ask);
  document.addEventListener("visibilitychange", ask);
  await ask();
}

function drawSaying(/** @type {import("./state.js").Saying} */ saying) {
  const { kind, title, lead, gainedId, isLacking, canWithdraw } = saying;
  byId("offer").dataset.kind = kind;
  put(byId("heading"), title);
  put(byId("lead"), lead);
  document.title = `${title} · Deeds`;
  byId("gained").hidden = !gainedId;
  byId("gained-link").setAttribute("href", `/wallet#${gainedId ?? ""}`);
  byId("lacking").hidden = !isLacking;
  byId("withdraw").hidden = !canWithdraw;
}

function drawAction(action) {
  byId("pay-bar").hidden = !action;
  if (!action) return;
  const [text, about] = byId("pay").children;
  put(text, action.text);
  put(about, action.about);
  byId("pay").classList.toggle("quiet", action.isQuiet);
}

/** Return what draws one side of an offer. */
function sideView(name) {
  const place = byId(name);
  const keyOf = ({ itemId }) => itemId;
  const drawRows = listInPieces(find(place, "ol"), find(place, ".more"), { keyOf, make: makeRow });
  return (parts = [], title) => {
    place.hidden = !parts.length;
    put(find(place, "h2"), title);
    drawRows(parts);
  };
}

/** Return a row, and what draws it. */
function makeRow({ itemId }) {
  const element = copyTemplate("side-row");
  const [card, origin, about] = [".deed", ".origin", ".about"].map((each) => find(element, each));
  about.setAttribute("href", `/item/${itemId}`);
  /** @type {unknown} */
  let shown = false;
  return {
    element,
    /** @param {import("./state.js").Side} side */
    update({ amount, item, origin: said }) {
      origin.hidden = !said;
      origin.classList.toggle("bad", said?.kind === "lookalike");
      put(origin, said?.text ?? "");
      if (shown === item) return;
      shown = item;
      /** @type {import("../../ui/card.js").CardOptions} */
      const options = { itemId, amount, unit: item?.unit, pictures: "ask" };
      const metadata = item ? metadataOf(item) : { name: "A deed" };
      fillCard(card, metadata, item?.total ?? amount, options);
      put(find(about, ".unseen"), ` of ${quoted(displayName(metadata))}`);
    },
  };
}
