// The My deeds page. The list of deeds, the page of each (`#<item id>`) and the history
// are views of one document. They are drawn again whenever the store has changed, in
// any tab.

import { gettext } from "../../format/gettext.js";
import { nameOf } from "../../format/about.js";
import { operationText, shortName } from "../../texts.js";
import { findOrigins } from "../../ui/origin.js";
import { byId, copyTemplate, listInPieces, onReturn, put } from "../../ui/dom.js";
import { onceAtATime, say, showFault } from "../../ui/forms.js";
import {
  historyOf,
  holdingOf,
  holdingPlan,
  SUMMARIES_PLAN,
  summariesOf,
} from "../../wallet/holdings.js";
import { keysOf } from "../../wallet/records.js";
import { isMade } from "../../wallet/states.js";
import { askToKeep } from "../../wallet/store.js";
import { makeTeller, oneByOne, openWallet } from "../open_wallet.js";
import { drawBegun, seriesMaker } from "../under_way.js";
import { keepAsking, keepTrying } from "../retries.js";
import { offersView } from "../offer_view.js";
import { backups, backupWriter, drawBackup, makeRescue } from "./backup_forms.js";
import { deedPage } from "./deed_view.js";
import { deedList, historyView, newsOf } from "./lists.js";
import { makeLooker, offerAfterLoss } from "./restore_form.js";

const tellEarlier = makeTeller();
/** Only such ids are sent to the service, nothing else that an address contains. */
const ITEM_ID = /^deed_[0-9a-z]{26}$/;
/** Why operations have not ended, by key. */
const problems = new Map();
let items = new Map();
let redraw = async () => {};
let address = location.hash;
/** What is shown of deeds: of all, or of the one whose page is open. */
let summaries = [];
let openKeys = [];
const rescue = makeRescue();

const itemOf = (itemId) => items.get(itemId);

/**
 * Record why operations have not ended, and announce those of earlier visits that have.
 */
function onOutcomes(outcomes) {
  problems.clear();
  for (const { operation, problem } of outcomes)
    if (problem) problems.set(operation.key, problem);
  // Operations under way have their own place on the page.
  tellEarlier(outcomes.filter(({ operation }) => operation.state !== "begun"));
  redraw();
}

/** Return whether an offer was accepted, and no dialog shows that already. */
const isTaken = ({ state, offerId = "" }) =>
  state === "done" && !document.querySelector(`[data-offer="${offerId}"]`);

function viewNow() {
  const [id] = location.hash.slice(1).split("?");
  if (id === "offers" || id === "history") return { name: id, itemId: "" };
  return id && id !== "main"
    ? { name: "deed", itemId: id }
    : { name: "list", itemId: "" };
}

/** What the views of deeds read from the store, as little as possible. */
const READINGS = {
  list: () => [SUMMARIES_PLAN, summariesOf],
  deed(itemId) {
    const look = (slices) => {
      const holding = holdingOf(slices, itemId);
      const isHere = !holding.isOver || slices.outputs.list({ itemId }).some(isMade);
      return isHere || holding.item ? [{ ...holding, isHere }] : [];
    };
    return [holdingPlan(itemId), look];
  },
};
const ALL_PAST = [{ operations: "all" }, () => []];

/**
 * Read what a view shows, how much of each deed a person knows to be gone, and which
 * offers are open; `taken` are those that were accepted since.
 */
function read({ name, itemId }) {
  const [query, look] = READINGS[name]?.(itemId) ?? ALL_PAST;
  const begun = { state: "begun" };
  const open = { state: "open" };
  const queries = [begun, open, ...openKeys, query.operations].flat();
  const plan = { ...query, operations: queries, items: "all", notes: "all" };
  return opened.store.read(plan, (slices) => {
    const { operations } = slices;
    items = new Map(slices.items.list().map((item) => [item.key, item]));
    const seen = new Map(slices.notes.list().map((note) => [note.key, note.goneSum]));
    summaries = look(slices).map((each) => ({
      ...each,
      goneSeen: seen.get(each.itemId) ?? 0,
    }));
    const taken = openKeys.flatMap((key) => operations.get(key) ?? []).filter(isTaken);
    openKeys = keysOf(operations.list(open));
    const past = READINGS[name] ? [] : historyOf(slices);
    return { past, taken, begun: operations.list(begun) };
  });
}

async function readOrAsk(view) {
  const content = await read(view);
  if (view.name !== "deed" || summaries.length || !ITEM_ID.test(view.itemId))
    return content;
  const item = await opened.wallet.item(view.itemId).catch(() => null);
  return item ? { ...(await read(view)), taken: content.taken } : content;
}

function drawer() {
  const tools = { ...opened, itemOf };
  const drawDeeds = deedList(tools);
  const drawPast = { offers: offersView(tools), history: historyView(itemOf) };
  const drawDeed = deedPlace(tools);
  const known = new Map();
  let shown = { name: "", itemId: "" };

  return async () => {
    const view = viewNow();
    const { name, itemId } = view;
    const { begun, past, taken } = await readOrAsk(view);
    const news = [
      ...taken.map((operation) => `${operationText(operation, itemOf)}.`),
      ...newsOf(known, summaries),
    ];
    if (news.length) say(news.join(" "));
    for (const summary of summaries) known.set(summary.itemId, summary);
    drawBegun(begun, problems, itemOf);
    const deeds = await withOrigins(summaries);
    if (name === "deed") drawDeed(deeds.length ? deeds : [{ itemId }]);
    const isEntering = name !== shown.name || itemId !== shown.itemId;
    if (name === "list") {
      drawDeeds(deeds);
      await drawBackup(tools.wallet, !summaries.length, isEntering);
    }
    drawPast[name]?.(past);
    if (isEntering) enter(view, shown);
    if (name !== "deed") drawDeed([]);
    shown = view;
  };
}

/**
 * Return a function that draws the page of a deed, even of an unknown one, or no page.
 */
const deedPlace = (tools) =>
  listInPieces(byId("deed"), null, {
    keyOf: ({ itemId, sum }) => `${itemId} ${sum === undefined}`,
    make({ itemId, sum }) {
      if (sum === undefined) return { element: copyTemplate("no-deed-template") };
      const { element, draw } = deedPage(itemId, tools);
      return { element, update: draw };
    },
  });

async function withOrigins(found) {
  const known = found.flatMap(({ item }) => item ?? []);
  const origins = await findOrigins(opened.store, known);
  return found.map((each) => ({ ...each, origin: origins.get(each.itemId) }));
}

/** Show a view in the place of the previous one, if there was one. */
function enter({ name, itemId }, before) {
  byId("main").dataset.shown = name;
  for (const tab of document.querySelectorAll("[data-tab]"))
    tab.ariaCurrent = tab.getAttribute("data-tab") === name ? "page" : null;
  const titles = {
    list: gettext("My deeds"),
    offers: gettext("Offers"),
    history: gettext("History"),
  };
  document.title = `${titles[name] ?? shortName(nameOf(itemOf(itemId)))} · Deeds`;
  byId("holdings").removeAttribute("aria-busy");
  byId("main").dataset.ready = "";
  if (before.name || name === "deed") moveTo(name, before.itemId);
}

/** Focus what the person has come to, or come back to. */
function moveTo(name, itemIdBefore) {
  const row = `#holdings a[href="#${CSS.escape(itemIdBefore)}"]`;
  const places = { deed: "#deed [data-focus]", list: row };
  const target = document.querySelector(places[name] ?? "#title") ?? byId("title");
  if (name !== "list") scrollTo(0, 0);
  /** @type {HTMLElement} */ (target).focus();
}

async function start() {
  const { wallet, store, wake } = opened;
  redraw = oneByOne(drawer());
  const look = makeLooker({ ...opened, itemOf }, (text) =>
    put(byId("look-state"), text),
  );
  const button = byId("look");
  button.onclick = () =>
    onceAtATime(button, async () =>
      say((await look()) || gettext("Nothing new was found.")),
    );
  // Continue a look that was interrupted.
  const lookOn = keepTrying(async () => {
    await look({ isDueOnly: true });
    return (await wallet.isLookDue().catch(() => false)) ? [null] : null;
  });
  const onRestored = async (onWait) => {
    wake();
    await redraw();
    const found = await look({ onWait });
    lookOn();
    await redraw();
    return found;
  };
  const restoring = { wallet, onRestored };
  backups(restoring);
  offerAfterLoss(restoring);
  await redraw();
  if (summaries.length || openKeys.length) askToKeep();
  const fetchItems = itemFetcher();
  const goOn = seriesMaker(
    opened,
    () => summaries.find(({ preparing }) => preparing)?.itemId,
  );
  const isWaiting = () =>
    openKeys.length > 0 || summaries.some(({ waiting, shownAt }) => waiting || shownAt);
  const ask = keepAsking({
    checkRound: wallet.checkRound,
    isWanted: () => navigator.onLine && isWaiting(),
  });
  const draw = () => redraw().then(() => Promise.all([fetchItems(), goOn()]));
  const backUpSoon = backupWriter(opened);
  store.onChange(draw);
  store.onChange(backUpSoon);
  const remember = oneByOne(() => rescue.keep(opened));
  store.onChange(remember);
  remember();
  window.addEventListener("hashchange", () => {
    // The skip link must not change the view.
    if (location.hash === "#main")
      history.replaceState(null, "", location.pathname + address);
    else draw();
    address = location.hash;
  });
  const comeBack = () => {
    fetchItems(true);
    ask();
    lookOn();
    backUpSoon();
  };
  onReturn(comeBack);
  goOn();
  comeBack();
}

/**
 * Return a function that fetches items that are unknown, or were cut in a file: each
 * once, until it is called with `isAgain`.
 */
function itemFetcher() {
  const asked = new Set();
  return async (isAgain = false) => {
    if (isAgain) asked.clear();
    for (const { item, itemId } of summaries) {
      if ((item && !item.isCut) || asked.has(itemId)) continue;
      asked.add(itemId);
      await opened.wallet.item(itemId, { isWhole: true }).catch(() => {});
    }
  };
}

const opened = /** @type {import("../open_wallet.js").Opened} */ (
  await openWallet(onOutcomes, rescue.offer)
);
if (opened) start().catch(showFault);
