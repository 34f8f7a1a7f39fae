// The till: its deed, the keys for the amount, and the payments. The screen of a
// request is in request.js.

import { aboutOf, isExpired, nameOf, untilText } from "../../format/about.js";
import { parseAmount, unitsText } from "../../format/amounts.js";
import { gettext, joinTexts } from "../../format/gettext.js";
import { paymentsCsvOf } from "../../format/csv.js";
import {
  offerStateText,
  receiptText,
  shortName,
  signsText,
  textFor,
} from "../../texts.js";
import { fillCard } from "../../ui/card.js";
import { byId, download, listInPieces, make, makeButton, put } from "../../ui/dom.js";
import {
  clearWhenTyped,
  FieldError,
  onSubmit,
  readAmountOf,
  showError,
} from "../../ui/forms.js";
import { SUMMARIES_PLAN, summariesOf } from "../../wallet/holdings.js";
import { recordsWith } from "../../wallet/records.js";
import { openOneDeed } from "../one_deed.js";
import { makeTeller, oneByOne, openWallet } from "../open_wallet.js";
import { keepAsking } from "../retries.js";
import {
  BEING_CANCELLED,
  canBePaid,
  dayOfRow,
  leftOnScreen,
  makeRequest,
  paymentsOf,
  sumText,
} from "./request.js";

const field = byId("amount", HTMLInputElement);

/** Set up the till of a deed. */
async function begin(item, /** @type {import("../open_wallet.js").Opened} */ tools) {
  const { store, wallet } = tools;
  fillCard(byId("till"), item, { itemId: item.id });
  byId("deed").setAttribute("href", `/wallet#${item.id}`);
  byId("till").hidden = false;
  const query = { itemId: item.id };
  let payments = paymentsOf([]);
  const write = readKeys(item.unit);
  const redraw = oneByOne(async () => {
    drawUntil(item);
    const operations = await recordsWith(store, "operations", query);
    payments = paymentsOf(operations);
    const { today, all, rows } = payments;
    const sums = [
      today.length ? sumText(today, item.unit) : gettext("No payments yet today."),
      all.length > today.length && sumText(all, item.unit, gettext("In all")),
    ];
    put(byId("today"), joinTexts(sums));
    byId("save").hidden = !all.length;
    drawRows(rows);
    await request.draw(operations);
  });
  const onClose = () => {
    write("");
    // A request that has expired meanwhile can no longer be shown.
    redraw();
  };
  const request = makeRequest(item, tools, { redraw, onClose });
  const drawRows = listInPieces(byId("last"), null, {
    keyOf: (row) =>
      [row.key, row.state, row.isEnding, canBePaid(row), row.payments?.length].join(
        " ",
      ),
    make: (row) => ({ element: rowOf(row, item, request.show) }),
  });

  byId("save").onclick = () => {
    const name = gettext("{name} payments", { name: shortName(nameOf(item)) });
    download(paymentsCsvOf(payments.all, signsText), "text/csv", `${name}.csv`);
  };
  onSubmit(byId("keys"), byId("ask"), async () => {
    try {
      await request.make(readAmountOf(field, item));
    } catch (error) {
      new FieldError(field, textFor(error)).show();
    }
  });
  store.onChange(redraw);
  await redraw();
  // A phone that locks its screen may close the page, too.
  const left = leftOnScreen(payments.open);
  if (left) await request.show(left);
  // Check requests that were left open, and draw them again, because some may have
  // expired.
  const checkRound = () => redraw().then(() => wallet.checkRound());
  keepAsking({ checkRound, isWanted: () => payments.open.length > 0 })();
}

/**
 * Show until when the deed is valid. This is drawn again, because a till stays open for
 * days.
 */
function drawUntil(item) {
  const about = aboutOf(item);
  const until = untilText(about);
  const expired = gettext("{until}. Customers see this before they pay.", { until });
  put(byId("until"), isExpired(about) ? expired : until);
  byId("until").classList.toggle("error", isExpired(about));
}

/** Return the deeds that this browser has dealt with, not those it only looked at. */
async function choices(store) {
  const all = await store.read(SUMMARIES_PLAN, summariesOf);
  return all.flatMap(({ item }) => item ?? []);
}

function rowOf(operation, { unit }, show) {
  const { payments } = operation;
  if (payments)
    return make(
      "li",
      {},
      make("strong", {}, sumText(payments, unit, dayOfRow(operation))),
    );
  const units = unitsText(operation.amount, unit);
  if (operation.state === "done")
    return make("li", {}, make("span", {}, receiptText(operation)), units);
  const isOpen = canBePaid(operation);
  const now = operation.isEnding ? BEING_CANCELLED : offerStateText(operation);
  const state = isOpen ? now : gettext("Expired");
  const text = make("span", {}, `${units}. ${state}`);
  if (!isOpen) return make("li", {}, text);
  const about = `: ${units}`;
  const button = makeButton(gettext("Show code"), () => show(operation), { about });
  return make("li", {}, text, button);
}

/**
 * Let the keys on the page and the keyboard write the amount. Return a function that
 * sets it.
 */
function readKeys(unit) {
  const label = () => put(byId("ask"), askText(field.value, unit));
  const write = (text) => {
    field.value = text;
    showError(field, "");
    label();
    field.focus();
  };
  const press = ({ currentTarget }) => {
    const { key } = currentTarget.dataset;
    if (key === "clear") write("");
    else if (key === "back") write(field.value.slice(0, -1));
    // A new number replaces one that was refused.
    else write((field.ariaInvalid ? "" : field.value) + key);
  };
  for (const key of document.querySelectorAll("[data-key]"))
    key.addEventListener("click", press);
  field.oninput = label;
  clearWhenTyped(byId("keys"));
  label();
  return write;
}

function askText(typed, unit) {
  try {
    return gettext("Ask for {units}", { units: unitsText(parseAmount(typed), unit) });
  } catch {
    return gettext("Ask");
  }
}

await openOneDeed(await openWallet(makeTeller()), { begin, choices });
field.focus();
