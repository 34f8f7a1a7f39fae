// The requests of a till: those in its list, and the screen of one that a customer
// sees, with its code, its outcome, and a way to cancel it.

import { unitsText } from "../../format/amounts.js";
import {
  gettext,
  isolated,
  joinTexts,
  LOCALE,
  ngettext,
} from "../../format/gettext.js";
import { aboutOf, isExpired, nameOf, untilText } from "../../format/about.js";
import { offerStateText, signsText, textFor, waitText } from "../../texts.js";
import {
  byId,
  find,
  keepAwake,
  keepFitting,
  onReturn,
  put,
  setEach,
} from "../../ui/dom.js";
import { onceAtATime, say, sayCopied } from "../../ui/forms.js";
import { isFree } from "../../wallet/links.js";
import { offersOf } from "../../wallet/offers.js";
import { keysOf, recordsWith, unitsOf } from "../../wallet/records.js";
import { askToKeep, inTab } from "../../wallet/store.js";
import { untilEnded } from "../open_wallet.js";
import { keepAsking } from "../retries.js";
import { drawOfferCode, offerLink } from "../offer_view.js";

/**
 * @typedef {import("../../wallet/records.js").Item} Item
 * @typedef {import("../../wallet/records.js").OperationRecord} OperationRecord
 */

/** How often to ask whether the request on the screen was paid. */
const LOOK_MS = 2_000;
const CANCELLED = ["offer_withdrawn", "cancelled"];
/** Number of latest payments and requests in the list, and of days with a sum. */
const LAST_COUNT = 8;

export const BEING_CANCELLED = gettext("Being cancelled.");

/** Name under which a tab stores which request is on its screen. */
const ON_SCREEN = "request";

/**
 * Return the payments of the day, the rows of the list, all payments, and the open
 * requests. Rows are payments and open requests, the newest first. Those of each
 * earlier day follow a row with all `payments` of that day.
 * @param {OperationRecord[]} operations
 */
export function paymentsOf(operations, now = new Date()) {
  const isShown = ({ kind, state, offerId = "" }) =>
    kind === "ask" && offerId && (state === "done" || state === "open");
  const since = ({ endedAt = 0, begunAt }) => endedAt || begunAt;
  const isEnding = ({ kind, state }) => kind === "withdraw" && state === "begun";
  const ending = new Set(
    operations.filter(isEnding).flatMap(({ outputs }) => keysOf(outputs)),
  );
  const shown = operations
    .filter(isShown)
    .map((each) => ({
      ...each,
      isEnding: each.outputs?.some(({ key }) => ending.has(key)),
    }))
    .sort((one, other) => since(other) - since(one));
  const dayAt = (key) => ({ key, payments: /** @type {OperationRecord[]} */ ([]) });
  const today = dayAt(now.toDateString());
  const days = new Map([[today.key, today]]);
  const rows = /** @type {any[]} */ ([]);
  for (const [place, each] of shown.entries()) {
    const key = new Date(since(each)).toDateString();
    const day = days.get(key) ?? dayAt(key);
    if (!days.has(key) && days.size < LAST_COUNT) rows.push(day);
    days.set(key, day);
    if (each.state === "done") day.payments.push(each);
    if (place < LAST_COUNT) rows.push(each);
  }
  return {
    today: today.payments,
    // A day without payments has no sum.
    rows: rows.filter(({ payments }) => payments?.length !== 0),
    all: shown.filter(({ state }) => state === "done"),
    open: shown.filter(({ state }) => state === "open"),
  };
}

/**
 * Return whether a request can still be paid, by this device's clock, which may be
 * wrong.
 */
export const canBePaid = ({ state, begunAt, body }) =>
  state === "open" && Date.now() < begunAt + body.expiresIn * 1000;

const DAY = /** @type {const} */ ({ weekday: "short", day: "numeric", month: "short" });

/** Return the day of a row, for example "Sat, Nov 28". */
export const dayOfRow = ({ key }) => new Date(key).toLocaleDateString(LOCALE, DAY);

/** Return for example "Today: 12 tickets in 4 payments". */
export function sumText(payments, unit, day = gettext("Today")) {
  const units = unitsText(unitsOf(payments), unit);
  return ngettext(
    "{day}: {units} in {count} payment",
    "{day}: {units} in {count} payments",
    payments.length,
    { day, units },
  );
}

/**
 * Return the screen for requests, one after the other. `redraw` must call its `draw`
 * with the operations of this deed; `onClose` is called whenever the screen closes.
 * @param {Item} item
 * @param {import("../open_wallet.js").Opened} tools
 * @param {{redraw: () => Promise<void>, onClose: () => void}} page
 */
export function makeRequest(item, tools, { redraw, onClose }) {
  const { store, wallet } = tools;
  const offers = offersOf(wallet);
  const leave = () => {
    inTab.write(ON_SCREEN, "");
    onClose();
  };
  const screen = makeScreen(leave, () => onceAtATime(byId("cancel"), cancel));
  /** What is on the screen; without an answer it has no `key` yet. @type {any} */
  let shown = {};

  function open({ key = "", amount }) {
    shown = { key, units: unitsText(amount, item.unit).replace(" ", "\u00a0") };
    screen.open(shown.units);
  }

  /** Show what became of the request. */
  async function draw(operations) {
    const operation = operations.find(({ key }) => key === shown.key);
    if (!operation || !screen.isOpen()) return;
    const { state, code } = operation;
    if (state === "open") await showOpen(operation);
    if (state === "done") showPaid(screen, shown.units, operation);
    if (state !== "refused") return;
    if (!CANCELLED.includes(code))
      return screen.end(shown.units, offerStateText(operation));
    screen.close();
    say(gettext("Cancelled. The link no longer works."));
  }

  async function showOpen(operation) {
    const { offerId } = operation;
    if (shown.offerId) return;
    inTab.write(ON_SCREEN, operation.key);
    const mine = shown;
    const query = { itemId: item.id, state: "held" };
    const parts = await recordsWith(store, "outputs", query);
    if (shown !== mine || !screen.isOpen()) return;
    Object.assign(shown, { offerId, canCancel: parts.some(isFree) });
    const title = gettext("Scan to pay {units}", shown);
    const state = openText(operation, shown);
    screen.turn("open", title, { ...shown, about: aboutText(item), state });
    drawOfferCode(byId("request-code"), offerId, tools, title).catch((error) =>
      screen.tell(waitText(error, offerLink(offerId))),
    );
    look();
  }

  async function checkRound() {
    const { operation, problem } = await wallet.finish(shown.key);
    // `draw` shows a payment, even if the request has expired by this device's clock.
    if (!screen.isAt("open") || operation.state === "done") return;
    if (!canBePaid(operation)) return screen.end(shown.units, gettext("Expired"));
    screen.tell(problem ? lostText(problem) : openText(operation, shown));
    if (problem) throw problem;
  }

  const look = keepAsking({
    checkRound,
    isWanted: () => screen.isAt("open"),
    roundMs: () => LOOK_MS,
  });

  /** Ask for units, on a screen that says so until the code is there. */
  async function make(amount) {
    const expiresInS = Number(new FormData(byId("keys", HTMLFormElement)).get("time"));
    askToKeep();
    open({ amount });
    const mine = shown;
    try {
      const outcome = await offers.ask({ itemId: item.id, amount, expiresInS });
      mine.key = outcome.operation.key;
      if (shown !== mine || !screen.isOpen())
        return await end(mine.key, tools, () => {});
      await redraw();
      const tell = (text) => screen.isAt("making") && screen.tell(text);
      await untilEnded(tools, outcome, tell);
    } catch (error) {
      screen.close();
      throw error;
    }
  }

  const cancel = () => cancelShown(shown, screen, tools, redraw);
  byId("copy").onclick = () => {
    const link = offerLink(shown.offerId);
    return sayCopied(link, gettext("The link is copied."), link);
  };
  onReturn(look);

  return {
    make,
    draw,
    show(operation) {
      open(operation);
      return redraw();
    },
  };
}

/**
 * Return the request that was on this tab's screen before a reload, if it can be paid.
 */
export function leftOnScreen(requests) {
  const key = inTab.read(ON_SCREEN);
  return requests.find((each) => each.key === key && canBePaid(each) && !each.isEnding);
}

/** Return the name of the deed, and that it has expired if it has. */
function aboutText(item) {
  const about = aboutOf(item);
  return joinTexts([isolated(nameOf(item)), isExpired(about) && untilText(about)]);
}

function showPaid(screen, units, operation) {
  const about = gettext("Code {signs}", { signs: signsText(operation) });
  // The number has its own line.
  screen.turn("paid", units.replace("\u00a0", "\n"), { about, state: gettext("Paid") });
}

/** Cancel the request on the screen, and show there what became of it. */
async function cancelShown({ key, units }, screen, tools, redraw) {
  if (!key) return screen.close();
  const leave = (state) => screen.end(units, state);
  try {
    await end(key, tools, leave);
  } catch (error) {
    // It may have been paid at this moment.
    await redraw();
    const { operation } = await tools.wallet.finish(key);
    const isOpen = screen.isAt("open") && operation.state === "open";
    if (isOpen) leave(`${textFor(error)} ${offerStateText(operation)}`);
  }
}

/**
 * End a request. One without an answer is never sent again; an open one is cancelled
 * with the service.
 */
async function end(
  key,
  /** @type {import("../open_wallet.js").Opened} */ { wallet, run },
  onWait,
) {
  await wallet.cancel(key);
  const { operation } = await wallet.finish(key);
  if (operation.state !== "open") return;
  await run(
    () => offersOf(wallet).cancel(key),
    (text) => onWait(`${BEING_CANCELLED} ${text} ${offerStateText(operation)}`),
  );
}

/**
 * Return why it is unknown whether the request was paid, and when the till will show
 * it.
 */
function lostText(problem) {
  if (problem.name !== "NoAnswerError") return waitText(problem);
  return navigator.onLine
    ? gettext(
        "The service can't be reached right now. You'll see the payment once it's back.",
      )
    : waitText(
        problem,
        gettext("If the customer pays, you'll see it when you reconnect."),
      );
}

/** Return until when the request can be paid, and if it cannot be cancelled, why. */
function openText(operation, { canCancel }) {
  const until = offerStateText(operation);
  return canCancel
    ? until
    : `${until} ${gettext("It can't be cancelled: this till has none of its own.")}`;
}

/**
 * Return the screen that fills the window. It is at `making`, `open`, `paid` or `over`.
 * While the request can be cancelled, `onCancel` is called instead of closing.
 */
function makeScreen(onClose, onCancel) {
  const dialog = byId("request", HTMLDialogElement);
  const next = byId("next");
  const cancelButton = byId("cancel");
  const inner = find(dialog, ".request-inner");
  const fit = keepFitting(inner);
  let letSleep = () => {};

  const isAt = (kind) => dialog.open && dialog.dataset.kind === kind;
  const isOver = () => isAt("paid") || isAt("over");

  function turn(kind, title, { about = "", state = "", canCancel = true }) {
    if (isAt(kind)) return;
    dialog.dataset.kind = kind;
    // Insert the content again, so that it appears without transitions.
    const focused = /** @type {HTMLElement | null} */ (document.activeElement);
    inner.replaceChildren(...inner.children);
    focused?.focus();
    setEach("textContent", {
      "request-title": title,
      "request-about": about,
      "request-state": state,
    });
    inner.style.setProperty("--digits", `${title.indexOf("\n")}`);
    cancelButton.hidden = isOver() || !canCancel;
    fit();
    if (isOver()) next.focus();
    if (kind === "paid") navigator.vibrate?.([80]);
  }

  const close = () => dialog.close();
  next.onclick = close;
  cancelButton.onclick = onCancel;
  dialog.oncancel = (event) => {
    if (cancelButton.hidden) return;
    event.preventDefault();
    onCancel();
  };
  dialog.onclose = () => {
    dialog.dataset.kind = "";
    letSleep();
    onClose();
  };

  return {
    turn,
    isAt,
    close,
    isOpen: () => dialog.open,
    end: (title, state) => turn("over", title, { state }),
    tell: (text) => put(byId("request-state"), text),

    open(units) {
      byId("request-code").replaceChildren();
      dialog.showModal();
      turn("making", units, { state: gettext("Making the code…") });
      letSleep = keepAwake();
      byId("request-title").focus();
    },
  };
}
