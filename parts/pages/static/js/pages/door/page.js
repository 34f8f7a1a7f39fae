// The door: the deed that it lets in, how many came, and one ticket after the other.

import { unitsText } from "../../format/amounts.js";
import { aboutOf, dayText, nameOf } from "../../format/about.js";
import { formatAmount, gettext, joinTexts, ngettext } from "../../format/gettext.js";
import { fillCard } from "../../ui/card.js";
import {
  byId,
  copyTemplate,
  find,
  listInPieces,
  make,
  makeButton,
  pause,
  put,
  setEach,
} from "../../ui/dom.js";
import { codeImage } from "../../ui/link_view.js";
import { openDialog, say, sayCopied, sayError } from "../../ui/forms.js";
import { isCollected, recordsWith, unitsOf } from "../../wallet/records.js";
import { admittedAtOf, isDoorList, rowsOf } from "../../wallet/door_list.js";
import { readHolding, saidBy, withSaid } from "../../wallet/holdings.js";
import { openOneDeed } from "../one_deed.js";
import { openWallet, recordsOf } from "../open_wallet.js";
import { makeClock } from "./clock.js";
import { CANCELLED, makeJudge, scanText, secondsText } from "./judge.js";
import { askForScannedList, listButtons } from "./lists.js";
import { makeQueue } from "./queue.js";
import { makeDoor } from "./screen.js";

/** How long a verdict stays at least when the next ticket is already there. */
const HOLD_MS = 300;

/** How long to wait before counting again, which reads every ticket. */
const RECOUNT_MS = 200;

/** Ending of a door's address that asks for the guest list. */
const LIST = "?list";

/** Set up the door of a deed. */
async function begin(item, /** @type {import("../open_wallet.js").Opened} */ tools) {
  const about = aboutOf(item);
  byId("door-title").textContent = joinTexts([
    about.date && dayText(about),
    nameOf(item),
  ]);
  fillCard(byId("ready"), item, { itemId: item.id });
  byId("list-link").setAttribute("href", `/wallet#${item.id}?admitted`);
  byId("guests").setAttribute("href", `/wallet#${item.id}`);
  byId("list", HTMLDetailsElement).open = location.hash.endsWith(LIST);
  byId("elsewhere").onclick = () => showAddress(tools.api).catch(sayError);
  byId("lists").append(...listButtons({ ...tools, itemId: item.id }));
  const showList = async () => {
    const { doorList } = await tools.wallet.item(item.id);
    // A row with `said` only states a number: it is not another guest.
    const listed = rowsOf(doorList).filter(
      ({ letter, said }) => "na".includes(letter) && !said,
    );
    const count = listed.length
      ? formatAmount(unitsOf(listed))
      : gettext("none yet, so no names");
    put(byId("list-count"), item.isMinted ? "" : count);
  };
  tools.store.onChange(showList);
  await showList();
  await work(item, tools);
  byId("ready").hidden = false;
}

async function work(item, { wallet, store, api }) {
  const clock = makeClock(aboutOf(item), api);
  await keepCounting(store, item);
  let turn = Promise.resolve();
  const inTurn = (act) => (turn = turn.then(act).catch(sayError));
  const tell = (operation) => inTurn(() => showLate(operation));
  const queued = { itemId: item.id, store, wallet, clock };
  const queue = makeQueue({ ...queued, onEnd: tell, onError: sayError });
  const { judge, judgeLate } = makeJudge({
    item,
    host: location.host,
    wallet,
    claim: queue.claim,
    readRecords: async (key) => (await recordsOf(store, [key]))[0],
    onLate: tell,
    serviceTime: clock.now,
    linkWith: (number) => linkWith(store, item.id, number),
  });
  const cancel = async ({ key, ticket }) => {
    await wallet.cancel(key);
    door.clear(ticket.key);
    queue.wake();
    return redraw();
  };
  const draw = listInPieces(byId("queue-list"), null, {
    keyOf: ({ key, isCancelled }) => `${key} ${isCancelled}`,
    make: (scan) => ({
      element: scanRow(scan, item.unit, () => cancel(scan).catch(sayError)),
    }),
  });
  const door = makeDoor({
    onText: (text) =>
      isDoorList(text) ? askToImport(text) : inTurn(() => answer(text)),
    ask,
    onClose: queue.pause,
  });

  // While the dialog asks, the code is still in front of the camera.
  const askToImport = (text) =>
    document.querySelector("dialog.sheet[open]") ||
    askForScannedList(text, { itemId: item.id, wallet, store }, byId("stop"));

  async function redraw() {
    const scans = await queue.list();
    const text = ngettext("{count} waiting", "{count} waiting", scans.length);
    byId("queue-title").textContent = text;
    const times = scans.map(secondsText).join(", ");
    byId("ready-waiting").textContent = times && `${text}: ${times}`;
    draw(scans);
  }

  /** Ask about waiting scans at start and stop; return whether the door may close. */
  async function ask(isOpening) {
    if (isOpening) tellClock(clock).then((text) => text && say(text), sayError);
    const scans = await queue.list();
    if (!scans.length) return true;
    const sheet = byId("unsent", HTMLDialogElement);
    byId("unsent-title").textContent = gettext("Unchecked scans: {count}", {
      count: scans.length,
    });
    setEach("hidden", { "unsent-now": !isOpening, "unsent-send": !isOpening });
    // The value if the person presses Escape.
    sheet.returnValue = "";
    sheet.showModal();
    await new Promise((resolve) => (sheet.onclose = resolve));
    if (sheet.returnValue === "cancel") await Promise.all(scans.map(cancel));
    if (sheet.returnValue === "send") queue.allow(scans);
    return Boolean(sheet.returnValue);
  }

  function show(verdict) {
    door.note(verdict);
    door.show(verdict);
    return redraw();
  }

  async function answer(text) {
    door.show();
    await show(await judge(text));
    await pause(HOLD_MS);
  }

  /**
   * Show a late answer after the previous verdict was seen; return once it was seen,
   * too.
   */
  async function showLate(operation) {
    if (operation.code === "cancelled") return redraw();
    const verdict = await judgeLate(operation);
    await door.untilSeen(verdict.key);
    await show(verdict);
    await door.untilSeen();
  }

  window.addEventListener("online", () => queue.wake());
  tellClock(clock).catch(sayError);
  await redraw();
}

/** Show how far this phone's clock is off, and return that text. */
async function tellClock(clock) {
  const text = await clock.wrongText();
  put(byId("ready-clock"), text);
  return text;
}

function scanRow(scan, unit, cancel) {
  const text = scanText(scan, unit);
  if (scan.isCancelled) return make("li", {}, `${text}. ${CANCELLED}`);
  const button = makeButton(gettext("Cancel"), cancel, { about: `: ${text}` });
  return make("li", {}, make("span", {}, text), button);
}

/** Show how many were let in, now and after each change, in other tabs too. */
async function keepCounting(store, item) {
  let timer = 0;
  store.onChange(() => {
    clearTimeout(timer);
    timer = setTimeout(() => drawCount(store, item).catch(sayError), RECOUNT_MS);
  });
  await drawCount(store, item);
}

/** Show how many were let in on this phone, by code or by hand. */
async function drawCount(store, { id: itemId, unit }) {
  const all = await recordsWith(store, "outputs", { itemId });
  const letIn = all.filter(
    (output) =>
      // Another copy of this wallet let these in, not this phone.
      (output.state === "held" && isCollected(output) && !output.foundAt) ||
      (output.isByHand && admittedAtOf(output)),
  );
  const text = unitsText(unitsOf(letIn), unit);
  for (const place of ["door-count", "ready-count"]) byId(place).textContent = text;
}

/** Return the row of a number. If links with it were taken back, return the latest. */
async function linkWith(store, itemId, number) {
  const { links } = await readHolding(store, itemId);
  return withSaid(links).findLast(({ output }) => saidBy(output) === number);
}

/**
 * Return the deeds that this wallet has minted, and those whose tickets it has let in.
 */
function choices(store) {
  const held = { state: "held" };
  return store.read({ items: "all", outputs: held }, ({ items, outputs }) => {
    const letIn = outputs.list(held).filter(isCollected);
    const ids = new Set(letIn.map((ticket) => ticket.itemId));
    return items.list().filter(({ id, isMinted }) => isMinted || ids.has(id));
  });
}

/** Show the address of this door as a code. It contains no secret. */
async function showAddress(api) {
  // The other phone needs the guest list, too.
  const address = `${location.href.replace(LIST, "")}${LIST}`;
  const [svg] = await api.qr([address]);
  const content = copyTemplate("address-template");
  find(content, ".door-code").append(
    codeImage(svg, gettext("QR code of this page's address")),
  );
  find(content, ".code").textContent = address;
  openDialog({
    title: gettext("Open on another phone"),
    content: [content],
    actions: [makeButton(gettext("Copy link"), () => sayCopied(address))],
    opener: byId("elsewhere"),
  });
}

await openOneDeed(await openWallet(), { begin, choices });
