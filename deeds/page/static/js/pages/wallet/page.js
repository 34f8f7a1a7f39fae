// The My deeds page: the list of deeds, the page of each (`#<item id>`) and the history (`#history`)
// are views of one document. They are drawn again whenever the store has changed, in any tab.

import { operationText, shortName } from "../../texts/operations.js";
import { textFor } from "../../texts/problems.js";
import { metadataOf } from "../../ui/card.js";
import { byId, copyTemplate } from "../../ui/dom.js";
import { say, showMissing } from "../../ui/notices.js";
import {
  SUMMARIES_WANTED,
  historyOf,
  holdingOf,
  holdingWanted,
  summariesOf,
} from "../../wallet/holdings.js";
import { originOf, relatedTo } from "../../wallet/origin.js";
import { askToKeep } from "../../wallet/store.js";
import { openWallet, verbRunner } from "../open_wallet.js";
import { backups, drawBackup } from "./backup_forms.js";
import { deedList } from "./deed_list.js";
import { drawBegun, historyView } from "./history_view.js";
import { keepAsking, newsOf, refreshOn } from "./live.js";

const openedAt = Date.now();
/** Why operations have not ended, by their keys. */
const problems = new Map();
/** What is known of deeds, by their ids. */
let items = new Map();
/** @type {() => Promise<void>} */
let redraw = async () => {};
let address = location.hash;

/** Return what a deed is called. */
function nameOf(itemId) {
  const item = items.get(itemId);
  return item ? (metadataOf(item).name ?? "A deed without a name") : "A deed";
}

const namer = { nameOf, unitOf: (itemId) => items.get(itemId)?.unit };

/** Note why what is under way has not ended, and tell of what earlier visits had begun. */
function onOutcomes(outcomes) {
  problems.clear();
  for (const { operation, problem } of outcomes) {
    if (problem) problems.set(operation.key, problem);
    if (operation.state === "done" && operation.begunAt < openedAt) {
      const { itemId } = operation;
      say(`Finished: ${operationText(operation, nameOf(itemId), namer.unitOf(itemId))}.`);
    }
  }
  redraw();
}

/** Return which view an address asks for. */
function viewNow() {
  const id = location.hash.slice(1);
  if (id === "history") return { name: "history", itemId: "" };
  return id && id !== "main" ? { name: "deed", itemId: id } : { name: "list", itemId: "" };
}

/** An output that is or was here, not one that was only looked at. */
const isOwn = ({ state }) => state !== "offered" && state !== "void";
const named = (item) => ({ ...item, name: metadataOf(item).name ?? "" });

/** Return the deeds that have the name of one, itself among them. */
function alikeIn(slices, itemId) {
  const item = slices.items.get(itemId);
  return item ? relatedTo(named(item), slices.items.list().map(named)) : [];
}

/** Return what a deed is to those of its name that are, or were, in this wallet. */
function originIn(slices, itemId) {
  const isHere = ({ id }) => slices.outputs.list({ itemId: id }).some(isOwn);
  const known = alikeIn(slices, itemId).filter((each) => each.isMinted || isHere(each));
  const own = known.find(({ id }) => id === itemId);
  return own ? originOf(own, known).kind : "new";
}

/** What each view shows of the store, as little as it can; all want what is under way. */
const READINGS = {
  list: () => [SUMMARIES_WANTED, (slices) => ({ summaries: summariesOf(slices) })],
  deed: (itemId) => [
    {
      ...holdingWanted(itemId),
      next: (slices) => ({ outputs: alikeIn(slices, itemId).map(({ id }) => ({ itemId: id })) }),
    },
    (slices) => {
      if (!slices.outputs.list({ itemId }).some(isOwn)) return {};
      return { summaries: [{ ...holdingOf(slices, itemId), origin: originIn(slices, itemId) }] };
    },
  ],
  history: () => [{ operations: "all" }, (slices) => ({ history: historyOf(slices) })],
};

function read(store, { name, itemId }) {
  const [wanted, look] = READINGS[name](itemId);
  const state = "begun";
  const plan = { operations: { state }, ...wanted, items: "all" };
  return store.read(plan, (slices) => {
    items = new Map(slices.items.list().map((item) => [item.key, item]));
    const begun = slices.operations.list({ state });
    return { summaries: [], history: [], begun, ...look(slices) };
  });
}

/**
 * Return what draws the view that the address asks for.
 * @param {import("../open_wallet.js").Opened} opened
 * @param {(texts: string[]) => void} onNews
 */
function drawer({ wallet, store, api, wake }, onNews) {
  const tools = { wallet, api, nameOf, run: verbRunner({ store, wake }) };
  const [drawList, drawHistory] = [deedList(nameOf), historyView(namer)];
  const deed = deedPlace(tools);
  const known = new Map();
  let shown = { name: "", itemId: "" };

  return async () => {
    const view = viewNow();
    const { summaries, begun, history } = await read(store, view);
    onNews(newsOf(known, summaries, nameOf));
    for (const summary of summaries) known.set(summary.itemId, summary);
    drawBegun(begun, problems, namer);
    if (view.name === "deed") await deed.draw(view.itemId, summaries[0]);
    if (view.name === "list") drawList(summaries);
    if (view.name === "list") await drawBackup(wallet, !summaries.length);
    if (view.name === "history") drawHistory(history);
    const isOther = view.name !== shown.name || view.itemId !== shown.itemId;
    if (isOther) enter(view, shown);
    if (view.name !== "deed") deed.close();
    shown = view;
    return summaries;
  };
}

/** Most of the scripts are for the page of a deed: the list is there before they have come. */
const loadDeedView = () => import("./deed_view.js");

/** Return the place of the page of a deed, which is drawn while it is shown. */
function deedPlace(tools) {
  const place = byId("deed");
  let open = null;

  function close() {
    open?.stop?.();
    open = null;
    place.replaceChildren();
  }

  async function draw(itemId, holding) {
    const { deedPage } = await loadDeedView();
    if (open?.itemId !== itemId || (holding && !open.draw)) {
      close();
      const view = holding ? deedPage(itemId, tools) : { element: copyTemplate("no-deed-template") };
      open = { itemId, ...view };
      place.append(open.element);
    }
    if (holding) open.draw(holding);
  }
  return { draw, close };
}

/** Show a view in the place of the one before it, of which there is none at first. */
function enter({ name, itemId }, { name: nameBefore, itemId: itemIdBefore }) {
  for (const each of document.querySelectorAll("[data-view]")) {
    const isShown = each.getAttribute("data-view")?.split(" ").includes(name);
    each.toggleAttribute("hidden", !isShown);
  }
  for (const tab of document.querySelectorAll("[data-tab]")) {
    if (tab.getAttribute("data-tab") === name) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  const titles = { list: "My deeds", history: "History", deed: shortName(nameOf(itemId)) };
  document.title = `${titles[name]} · Deeds`;
  if (nameBefore) moveTo(name, itemIdBefore);
  byId("holdings").removeAttribute("aria-busy");
  byId("main").dataset.ready = "";
}

/** Give the focus to what a person has come to, or come back to. */
function moveTo(name, itemIdBefore) {
  const row = `#holdings a[href="#${CSS.escape(itemIdBefore)}"]`;
  const places = { deed: "#deed [data-focus]", history: "#title", list: row };
  const target = document.querySelector(places[name]) ?? byId("title");
  if (name !== "list") scrollTo(0, 0);
  if (target instanceof HTMLElement) target.focus();
}

/** Return a function that runs one drawing after the other, and no more than one waits. */
function oneByOne(draw) {
  let [last, isWanted] = [Promise.resolve(), false];
  return () => {
    if (!isWanted) {
      isWanted = true;
      last = last.then(async () => {
        isWanted = false;
        await draw().catch((error) => showMissing([textFor(error)]));
      });
    }
    return last;
  };
}

async function start(opened) {
  const { wallet, wake } = opened;
  let [summaries, newsCount] = [[], 0];
  const draw = drawer(opened, (news) => {
    newsCount += news.length;
    if (news.length) say(news.join(" "));
  });
  redraw = oneByOne(async () => {
    summaries = await draw();
  });
  const check = async () => {
    newsCount = 0;
    await wallet.checkStates();
    await redraw();
    return newsCount > 0;
  };
  refreshOn(byId("check-states", HTMLButtonElement), check);
  backups(wallet, {
    onRestored() {
      wake();
      return check().then(
        () => "",
        () => "Its state could not be checked now.",
      );
    },
  });
  await redraw();
  listen(opened, () => summaries);
  // All of it is here before it is asked for, so that it works without a network.
  if (summaries.length) Promise.allSettled([loadDeedView(), askToKeep()]);
}

/** Draw again after each change, and ask for what is new. */
function listen({ wallet, store }, summariesNow) {
  const fetchItems = itemFetcher(wallet, summariesNow);
  const isWanted = () =>
    document.visibilityState === "visible" && summariesNow().some(({ waiting }) => waiting);
  const ask = keepAsking({ checkRound: wallet.checkRound, isWanted });
  const onAddress = () => {
    // The link past the head of the page leaves what is shown as it is.
    if (location.hash === "#main") history.replaceState(null, "", location.pathname + address);
    else redraw();
    address = location.hash;
  };
  const goOn = seriesMaker(wallet, summariesNow);
  store.onChange(() => redraw().then(() => Promise.all([fetchItems(), goOn()])));
  window.addEventListener("hashchange", onAddress);
  window.addEventListener("online", () => fetchItems(true));
  for (const event of ["focus", "online"]) window.addEventListener(event, () => ask());
  document.addEventListener("visibilitychange", () => ask());
  fetchItems();
  goOn();
  ask();
}

/**
 * Return what goes on making links of a series that an earlier visit has left, while the list is
 * shown: the page of a deed does so itself. Each batch changes the store, and so leads here again.
 */
function seriesMaker(wallet, summariesNow) {
  let isRunning = false;
  return async () => {
    const found = viewNow().name === "list" && summariesNow().find(({ preparing }) => preparing);
    if (!found || isRunning) return;
    isRunning = true;
    await wallet.prepareNext(found.itemId).catch((error) => say(textFor(error)));
    isRunning = false;
  };
}

/** Return what asks for the deeds that are not known yet, once while there is an answer. */
function itemFetcher(wallet, summariesNow) {
  const asked = new Set();
  return async (isAgain = false) => {
    if (isAgain) asked.clear();
    for (const { item, itemId } of summariesNow()) {
      if (item || asked.has(itemId)) continue;
      asked.add(itemId);
      await wallet.item(itemId).catch(() => {});
    }
  };
}

const opened = await openWallet(onOutcomes);
if (opened) start(opened).catch((error) => showMissing([textFor(error)]));
