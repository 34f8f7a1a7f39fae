// The door: which deed it lets in, how many came, and each ticket in its turn.

import { textFor } from "../../texts/problems.js";
import { displayName, makeMark, metadataOf } from "../../ui/card.js";
import { codeImage } from "../../ui/codes.js";
import { openDialog } from "../../ui/dialog.js";
import { byId, copyTemplate, find, make } from "../../ui/dom.js";
import { say } from "../../ui/notices.js";
import { delayMs, openWallet, whenEnded } from "../open_wallet.js";
import { countText, makeJudge } from "./judge.js";
import { makeDoor } from "./view.js";

/** So long a ticket has the screen at least, when the next one is there already. */
const HOLD_MS = 300;

const itemIdOf = () => /^#(deed_[0-9a-hjkmnp-tv-z]{26})$/.exec(location.hash)?.[1];
const nameOf = (item) => displayName(metadataOf(item));
const sayError = (error) => say(textFor(error));

const itemId = itemIdOf();
/** @type {(key: string, ticket: {amount: number}) => void} */
let count = () => {};
const opened = await openWallet((outcomes) => {
  for (const { operation } of outcomes) {
    const isIn = operation.atDoor && operation.state === "done";
    if (isIn && operation.itemId === itemId) count(operation.inputs[0], operation);
  }
});
if (opened) await begin(opened);
byId("main").dataset.ready = "";
window.addEventListener("hashchange", () => itemIdOf() && location.reload());

/** Get the door of the deed ready that the address names, or ask which one. */
async function begin({ wallet, store, api, wake }) {
  const item = itemId && (await wallet.item(itemId).catch(sayError));
  byId(item ? "ready" : "choose").hidden = false;
  if (!item) return offer(store);
  for (const id of ["ready-title", "door-title"]) byId(id).textContent = nameOf(item);
  byId("ready-mark").append(makeMark(itemId));
  byId("elsewhere").addEventListener("click", () => showAddress(api).catch(sayError));
  await work(item, { wallet, store, wake });
}

/** Judge what the door sees, one after the other, and count those that are let in. */
async function work(item, { wallet, store, wake }) {
  let turn = Promise.resolve();
  const door = makeDoor((text) => {
    turn = turn.then(() => answer(text)).catch(sayError);
  });
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
    untilEnded: ({ key }, problem) => {
      setTimeout(wake, delayMs([{ problem }], 1));
      return whenEnded(store, key);
    },
    onLate: (verdict) => tell(verdict, door.isShown(verdict.key)),
  });
  const answer = async (text) => {
    door.show();
    tell(await judge(text), true);
    await new Promise((resolve) => setTimeout(resolve, HOLD_MS));
  };
  count = await makeCount(store, item.unit);
}

/** Return what counts a ticket, once, beside those that were let in before. */
async function makeCount(store, unit) {
  const held = { itemId, state: "held" };
  const before = await store.read({ outputs: held }, ({ outputs }) =>
    outputs.list(held).filter(({ collectedAt }) => collectedAt),
  );
  const now = new Map();
  const note = (key, ticket) => {
    if (ticket) now.set(key, ticket);
    const all = countText([...before, ...now.values()], unit);
    byId("door-count").textContent = countText([...now.values()], unit);
    for (const place of ["door-count-all", "ready-count"]) byId(place).textContent = all;
  };
  note();
  return note;
}

/** Return the record of a ticket, and the operation that had it last. */
async function recordsOf(store, key) {
  const output = await store.read({ outputs: [key] }, ({ outputs }) => outputs.get(key));
  const last = output?.operation ?? "";
  const wanted = { operations: [last] };
  return { output, operation: await store.read(wanted, ({ operations }) => operations.get(last)) };
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
  const content = copyTemplate("address-template");
  find(content, ".door-code").append(codeImage(svg, "QR code of this page's address"));
  find(content, ".code").textContent = location.href;
  openDialog({ title: "Open on another phone", content: [content], opener: byId("elsewhere") });
}
