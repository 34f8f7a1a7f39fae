// The door: which deed it lets in, how many came, and each ticket in its turn.

import { waitText } from "../../texts/operations.js";
import { textFor } from "../../texts/problems.js";
import { displayName, makeMark, metadataOf } from "../../ui/card.js";
import { codeImage } from "../../ui/codes.js";
import { openDialog } from "../../ui/dialog.js";
import { byId, copyTemplate, find, make } from "../../ui/dom.js";
import { say, showMissing } from "../../ui/notices.js";
import { openWallet, recordsOf, untilEnded } from "../open_wallet.js";
import { countText, makeJudge } from "./judge.js";
import { makeDoor } from "./view.js";

/** So long a ticket has the screen at least, when the next one is there already. */
const HOLD_MS = 300;

const itemIdOf = () => /^#(deed_[0-9a-hjkmnp-tv-z]{26})$/.exec(location.hash)?.[1];
const nameOf = (item) => displayName(metadataOf(item));
const sayError = (error) => say(textFor(error));

const itemId = itemIdOf();
const openedAt = Date.now();
// Of what earlier visits began the judge tells once it is shown again.
const opened = await openWallet(() => {});
if (opened) await begin(opened);
byId("main").dataset.ready = "";
window.addEventListener("hashchange", () => itemIdOf() && location.reload());

/** Get the door of the deed ready that the address names, or ask which one. */
async function begin({ wallet, store, api, wake }) {
  if (!itemId) return offer(store);
  const item = await wallet.item(itemId).catch((error) => {
    showMissing([waitText(error, "Reload this page to try again.")]);
    window.addEventListener("online", () => location.reload());
  });
  if (!item) return;
  for (const id of ["ready-title", "door-title"]) byId(id).textContent = nameOf(item);
  byId("ready-mark").append(makeMark(itemId));
  byId("elsewhere").addEventListener("click", () => showAddress(api).catch(sayError));
  await work(item, { wallet, store, wake });
  byId("ready").hidden = false;
}

/** Judge what the door sees, one after the other, and count those that are let in. */
async function work(item, { wallet, store, wake }) {
  const count = await makeCount(store, item.unit);
  let turn = Promise.resolve();
  const door = makeDoor((text) => {
    turn = turn.then(() => answer(text)).catch(sayError);
  });
  const tell = (verdict, isSeen) => {
    if (verdict.kind === "valid") count(verdict.operation, verdict);
    door.note(verdict);
    if (isSeen) door.show(verdict);
    return isSeen;
  };
  const judge = makeJudge({
    item,
    openedAt,
    host: location.host,
    wallet,
    readRecords: async (key) => (await recordsOf(store, [key]))[0],
    untilEnded: (outcome) => untilEnded({ store, wake }, outcome, () => {}),
    onLate: (verdict) => tell(verdict, door.isShown(verdict.key)),
  });
  const answer = async (text) => {
    door.show();
    tell(await judge(text), true);
    await new Promise((resolve) => setTimeout(resolve, HOLD_MS));
  };
}

/** Return what counts a ticket by its claim, once, beside those that were let in before. */
async function makeCount(store, unit) {
  const held = { itemId, state: "held" };
  const all = await store.read({ outputs: held }, ({ outputs }) => outputs.list(held));
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

/** Offer the deeds that this wallet has minted, and those of which it has let in tickets. */
async function offer(store) {
  const held = { state: "held" };
  const found = await store.read({ items: "all", outputs: held }, ({ items, outputs }) => {
    const letIn = outputs.list(held).filter(({ collectedAt }) => collectedAt);
    const ids = new Set(letIn.map((ticket) => ticket.itemId));
    return items.list().filter(({ id, isMinted }) => isMinted || ids.has(id));
  });
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
  openDialog({ title: "Open on another phone", content: [content], opener: byId("elsewhere") });
}
