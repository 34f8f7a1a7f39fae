// The door: which deed it lets in, how many came, and each ticket in its turn; and the
// screen, which sees by the camera, is filled by a verdict, and lets it be heard and
// felt.

import { waitText } from "../../texts.js";
import { makeMark, nameOf } from "../../ui/card.js";
import {
  byId,
  copyTemplate,
  find,
  listInPieces,
  make,
  makeButton,
  pause,
} from "../../ui/dom.js";
import { codeImage } from "../../ui/link_view.js";
import { startScan, whyNoScan } from "../../ui/scan.js";
import { openDialog, say, sayError, showMissing } from "../../ui/forms.js";
import { recordsWith } from "../../wallet/records.js";
import { openWallet, recordsOf } from "../open_wallet.js";
import { CANCELLED, countText, makeJudge, scanText } from "./judge.js";
import { makeQueue } from "./queue.js";

/** So long a ticket has the screen at least, when the next one is there already. */
const HOLD_MS = 300;

const LAST_COUNT = 5;

/**
 * How long a verdict stays, and how it is heard: two tones up are a yes, a long low one
 * is a no; frequencies in Hz, length in s, pattern of the vibration in ms.
 */
const SIGNALS = {
  valid: {
    stayMs: 1500,
    type: "sine",
    notes: [880, 1320],
    lengthS: 0.12,
    pattern: [80],
  },
  refused: {
    stayMs: 4000,
    type: "sawtooth",
    notes: [150],
    lengthS: 0.5,
    pattern: [250, 100, 250],
  },
  waiting: { stayMs: 4000 },
};

const itemIdOf = () => /^#(deed_[0-9a-hjkmnp-tv-z]{26})$/.exec(location.hash)?.[1];

const dialog = byId("door", HTMLDialogElement);
const itemId = itemIdOf();
const opened = await openWallet(() => {});
if (opened) await begin(opened);
byId("main").dataset.ready = "";
window.addEventListener("hashchange", () => itemIdOf() && location.reload());

/** Get the door of the deed ready that the address names, or ask which one. */
async function begin({ wallet, store, api }) {
  if (!itemId) return offer(store);
  const item = await wallet.item(itemId).catch((error) => {
    showMissing([waitText(error, "Reload this page to try again.")]);
    window.addEventListener("online", () => location.reload());
  });
  if (!item) return;
  for (const id of ["ready-title", "door-title"]) byId(id).textContent = nameOf(item);
  byId("ready-mark").append(makeMark(itemId));
  byId("elsewhere").addEventListener("click", () => showAddress(api).catch(sayError));
  await work(item, { wallet, store });
  byId("ready").hidden = false;
}

async function work(item, { wallet, store }) {
  const count = await makeCount(store, item.unit);
  let turn = Promise.resolve();
  const inTurn = (act) => (turn = turn.then(act).catch(sayError));
  const tell = (operation) => inTurn(() => showLate(operation));
  const queue = makeQueue({
    itemId: item.id,
    store,
    wallet,
    onEnd: tell,
    onError: sayError,
  });
  const { judge, judgeLate } = makeJudge({
    item,
    host: location.host,
    wallet,
    claim: queue.claim,
    readRecords: async (key) => (await recordsOf(store, [key]))[0],
    onLate: tell,
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
    onText: (text) => inTurn(() => answer(text)),
    ask,
    onClose: queue.pause,
  });

  async function redraw() {
    const scans = await queue.list();
    byId("queue").hidden = !scans.length;
    const text = `${scans.length} waiting`;
    byId("queue-title").textContent = text;
    byId("ready-waiting").textContent = scans.length ? text : "";
    draw(scans);
  }

  /** Ask about what waits, when the door opens or closes; return whether it may close. */
  async function ask(isOpening) {
    const scans = await queue.list();
    if (!scans.length) return true;
    const sheet = byId("unsent", HTMLDialogElement);
    byId("unsent-title").textContent = `Scans without an answer: ${scans.length}`;
    byId("unsent-send").hidden = !isOpening;
    // What Escape leaves it at.
    sheet.returnValue = "";
    sheet.showModal();
    await new Promise((resolve) => (sheet.onclose = resolve));
    if (sheet.returnValue === "cancel") await Promise.all(scans.map(cancel));
    if (sheet.returnValue === "send") queue.allow(scans);
    return Boolean(sheet.returnValue);
  }

  function show(verdict) {
    if (verdict.operation) count(verdict.operation, verdict);
    door.note(verdict);
    door.show(verdict);
    return redraw();
  }

  async function answer(text) {
    door.show();
    await show(await judge(text));
    await pause(HOLD_MS);
  }

  /** Show an answer that came late for as long as it takes to see it, and no less. */
  async function showLate(operation) {
    if (operation.code === "cancelled") return redraw();
    const verdict = await judgeLate(operation);
    await door.untilSeen(verdict.key);
    await show(verdict);
    await door.untilSeen();
  }

  window.addEventListener("online", () => queue.wake());
  await redraw();
}

function scanRow(scan, unit, cancel) {
  const text = scanText(scan, unit);
  if (scan.isCancelled) return make("li", {}, `${text}. ${CANCELLED}`);
  const button = makeButton("Cancel", cancel, { about: `: ${text}` });
  return make("li", {}, make("span", {}, text), button);
}

/**
 * Return what counts a ticket by its claim, once, beside those that were let in before.
 */
async function makeCount(store, unit) {
  const all = await recordsWith(store, "outputs", { itemId, state: "held" });
  const before = all.filter(({ collectedAt }) => collectedAt);
  const tickets = new Map(before.map((ticket) => [ticket.operation, ticket]));
  const count = (operation, ticket) => {
    if (operation) tickets.set(operation, ticket);
    const text = countText([...tickets.values()], unit);
    for (const place of ["door-count", "ready-count"]) byId(place).textContent = text;
  };
  count();
  return count;
}

/**
 * Offer the deeds that this wallet has minted, and those of which it has let in
 * tickets.
 */
async function offer(store) {
  const held = { state: "held" };
  const found = await store.read(
    { items: "all", outputs: held },
    ({ items, outputs }) => {
      const letIn = outputs.list(held).filter(({ collectedAt }) => collectedAt);
      const ids = new Set(letIn.map((ticket) => ticket.itemId));
      return items.list().filter(({ id, isMinted }) => isMinted || ids.has(id));
    },
  );
  byId("choose").hidden = false;
  byId("choose-none").hidden = found.length > 0;
  for (const item of found) {
    const link = make("a", { href: `#${item.id}`, dir: "auto" }, nameOf(item));
    byId("choose-list").append(make("li", {}, link, " ", makeMark(item.id)));
  }
}

/** Show the address of this door as a code. It holds no secret. */
async function showAddress(api) {
  const [svg] = await api.qr([location.href]);
  const content = copyTemplate("address-template");
  find(content, ".door-code").append(codeImage(svg, "QR code of this page's address"));
  find(content, ".code").textContent = location.href;
  openDialog({
    title: "Open on another phone",
    content: [content],
    opener: byId("elsewhere"),
  });
}

/**
 * Return the door, which the button Start opens; `onText` gets what is seen and what is
 * typed.
 */
function makeDoor({ onText, ask, onClose }) {
  let [shownKey, seenAt, timer] = ["", 0, 0];
  let audio = null;

  /**
   * Let a verdict fill the screen, and be heard; with none, show what the camera sees.
   */
  function show({ kind = "", title = "", detail = "", key = "" } = {}) {
    clearTimeout(timer);
    if (kind && !dialog.open) return say(`${title}. ${detail}`);
    shownKey = key;
    dialog.dataset.kind = kind;
    byId("verdict-title").textContent = title;
    byId("verdict-detail").textContent = detail;
    const { stayMs = 0 } = SIGNALS[kind] ?? {};
    seenAt = performance.now() + stayMs;
    if (!kind) return;
    timer = setTimeout(show, stayMs);
    signal(audio, SIGNALS[kind]);
  }

  const look = makeEyes(onText);
  const open = () => {
    // Within the tap, or browsers keep it silent.
    audio = new AudioContext();
    dialog.showModal();
    look();
    ask(true).catch(sayError);
  };
  const stop = async (event) => {
    event.preventDefault();
    // A store that fails must not keep the camera on.
    if (!(await ask(false).catch(() => true))) return;
    // Chromium tells of a close with the next frame only.
    onClose();
    dialog.close();
  };
  byId("start").addEventListener("click", open);
  byId("stop").addEventListener("click", stop);
  // Escape, or the back gesture of a phone.
  dialog.addEventListener("cancel", stop);
  dialog.addEventListener("close", () => {
    onClose();
    show();
    audio.close();
  });
  byId("type-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const field = byId("type", HTMLInputElement);
    if (field.value.trim()) onText(field.value);
    field.select();
  });

  return {
    show,

    /** Take away what is said of a ticket. */
    clear: (key) => key === shownKey && show(),

    /** Wait until what is shown was seen; what is of the same ticket may be replaced. */
    untilSeen: (key) => pause(key === shownKey ? 0 : seenAt - performance.now()),

    /** Put a verdict on top of the list. */
    note(verdict) {
      const list = byId("door-last");
      list.prepend(rowOf(verdict));
      list.children[LAST_COUNT]?.remove();
    },
  };
}

function makeEyes(onText) {
  const again = byId("again");
  const video = byId("door-video", HTMLVideoElement);
  let stop = () => {};

  function tell(isOn, text) {
    again.hidden = isOn;
    byId("door-camera").textContent = text;
  }

  async function look() {
    // Screens that nobody touches go dark.
    navigator.wakeLock?.request("screen").catch(() => {});
    if (again.hidden) return;
    tell(true, "The camera starts.");
    const why = await whyNoScan("Type or paste the links of tickets below.");
    if (why) return tell(true, why);
    stop = startScan(video, onText, (problem) =>
      tell(false, problem || "The camera is off."),
    );
  }

  video.addEventListener("playing", () => video.srcObject && tell(true, ""));
  again.addEventListener("click", look);
  dialog.addEventListener("close", () => stop());
  document.addEventListener(
    "visibilitychange",
    () => dialog.open && !document.hidden && look(),
  );
  return look;
}

function rowOf({ kind, title, detail }) {
  const said = kind === "valid" && detail ? `${title}, ${detail}` : title;
  const time = `${new Date().toLocaleTimeString()} `;
  return make("li", { "data-kind": kind }, time, make("span", { dir: "auto" }, said));
}

function signal(audio, { type, notes = [], lengthS, pattern = [] }) {
  navigator.vibrate?.(pattern);
  // A phone call in between puts it to sleep.
  audio.resume();
  const gain = new GainNode(audio, { gain: 0.4 });
  gain.connect(audio.destination);
  notes.forEach((frequency, place) => {
    const tone = new OscillatorNode(audio, { type, frequency });
    tone.connect(gain);
    tone.start(audio.currentTime + place * lengthS);
    tone.stop(audio.currentTime + (place + 1) * lengthS);
  });
}
