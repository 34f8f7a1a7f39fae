// The door: which deed it lets in, how many came, and each ticket in its turn.

import { textFor } from "../../texts/problems.js";
import { makeMark, metadataOf } from "../../ui/card.js";
import { codeImage } from "../../ui/codes.js";
import { openDialog } from "../../ui/dialog.js";
import { byId, make } from "../../ui/dom.js";
import { say } from "../../ui/notices.js";
import { delayMs } from "../../wallet/keep_finishing.js";
import { openWallet, whenEnded } from "../open_wallet.js";
import { countText, makeJudge, pause } from "./judge.js";
import { makeDoor } from "./view.js";

const ITEM_ID = /^#(deed_[0-9a-hjkmnp-tv-z]{26})$/;

/** So long a ticket has the screen at least, when the next one is there already. */
const HOLD_MS = 300;

const itemIdOf = () => ITEM_ID.exec(location.hash)?.[1];
const nameOf = (item) => metadataOf(item).name || "A deed without a name";

/** @type {(key: string, ticket: {amount: number}) => void} */
let count = () => {};
const opened = await openWallet((outcomes) => {
  for (const { operation } of outcomes) {
    const isIn = operation.atDoor && operation.state === "done";
    if (isIn && operation.itemId === itemIdOf()) count(operation.inputs[0], operation);
  }
});
if (opened) await begin(opened);
byId("main").dataset.ready = "";
window.addEventListener("hashchange", () => itemIdOf() && location.reload());

/** Get the door of the deed ready that the address names, or ask which one. */
async function begin({ wallet, store, api, wake }) {
  const itemId = itemIdOf();
  const item = itemId && (await wallet.item(itemId).catch((error) => say(textFor(error))));
  byId(item ? "ready" : "choose").hidden = false;
  if (!item) return offer(store);
  for (const id of ["ready-title", "door-title"]) byId(id).textContent = nameOf(item);
  byId("ready-mark").append(makeMark(itemId));
  byId("elsewhere").addEventListener("click", () => {
    showAddress(api).catch((error) => say(textFor(error)));
  });
  await work(item, { wallet, store, wake });
}

/** Judge what the door sees, one after the other, and count those that are let in. */
async function work(item, { wallet, store, wake }) {
  let turn = Promise.resolve();
  const door = makeDoor((text) => {
    const answered = turn.then(() => answer(text)).catch((error) => say(textFor(error)));
    turn = answered.then(() => pause(HOLD_MS));
  });
  const untilEnded = async (outcome) => {
    if (outcome.operation.state !== "begun") return outcome.operation;
    setTimeout(wake, delayMs([outcome], 1));
    return whenEnded(store, outcome.operation.key);
  };
  const tell = (verdict, isSeen) => {
    if (verdict.kind === "valid") count(verdict.key, verdict);
    door.note(verdict);
    if (isSeen) door.show(verdict);
    return isSeen;
  };
  const judge = makeJudge({
    item,
    host: location.host,
    wallet,
    readRecords: (key) => recordsOf(store, key),
    untilEnded,
    onLate: (verdict) => tell(verdict, door.isShown(verdict.key)),
  });
  const answer = async (text) => {
    door.clear();
    tell(await judge(text), true);
  };
  count = await makeCount(store, item);
}

/** Return what counts a ticket, once, beside those that were let in before. */
async function makeCount(store, { id, unit }) {
  const held = { itemId: id, state: "held" };
  const before = await store.read({ outputs: held }, ({ outputs }) =>
    outputs.list(held).filter(({ collectedAt }) => collectedAt),
  );
  const now = new Map();
  const draw = () => {
    const all = countText([...before, ...now.values()], unit);
    byId("door-count").textContent = countText([...now.values()], unit);
    for (const place of ["door-count-all", "ready-count"]) byId(place).textContent = all;
  };
  draw();
  return (key, ticket) => {
    now.set(key, ticket);
    draw();
  };
}

/** Return the record of a ticket, and the operation that had it last. */
function recordsOf(store, key) {
  const lastOf = ({ outputs }) => outputs.get(key)?.operation ?? "";
  const wanted = { outputs: [key], next: (slices) => ({ operations: [lastOf(slices)] }) };
  return store.read(wanted, (slices) => ({
    output: slices.outputs.get(key),
    operation: slices.operations.get(lastOf(slices)),
  }));
}

/** Offer the deeds that this wallet has minted. */
async function offer(store) {
  const items = await store.read({ items: "all" }, (slices) => slices.items.list());
  const minted = items.filter(({ isMinted }) => isMinted);
  byId("choose-none").hidden = minted.length > 0;
  for (const item of minted) {
    const link = make("a", { href: `#${item.id}`, dir: "auto" }, nameOf(item));
    byId("choose-list").append(make("li", {}, link, " ", makeMark(item.id)));
  }
}

/** Show the address of this door as a code. It holds no secret. */
async function showAddress(api) {
  const [svg] = await api.qr([location.href]);
  const content = [
    make("p", {}, "Scan this with the camera app of the other phone. Each phone is a door."),
    make("p", { class: "door-code" }, codeImage(svg, "QR code of this page's address")),
    make("p", { class: "code", dir: "ltr" }, location.href),
  ];
  openDialog({ title: "Open on another phone", content, opener: byId("elsewhere") });
}
