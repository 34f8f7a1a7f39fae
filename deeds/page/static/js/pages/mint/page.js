// The Mint page in three steps: a form with a preview that follows it, a review, and
// the result. Only the button of the review creates anything.

import { textFor } from "../../texts.js";
import { fillCard, makeCard } from "../../ui/card.js";
import { byId, find } from "../../ui/dom.js";
import { recordsWith } from "../../wallet/records.js";
import { makeTeller, openWallet } from "../open_wallet.js";
import { drawBegun } from "../wallet/live.js";
import { mintForm } from "./form.js";
import { showResult } from "./result.js";

// A second tap on "Review" must not land on "Create", which comes to stand in its
// place.
const CALM_MS = 400;

const createButton = byId("create-button", HTMLButtonElement);
const place = byId("create-error");
const preview = byId("preview");

const form = mintForm(find(preview, "[data-card=image]"), (item) => {
  fillCard(preview, item);
  find(preview, ".deed-units").hidden = !item.total;
});

/** @type {any} */
let wanted = null;

function showStep(step) {
  for (const section of document.querySelectorAll("[data-step]")) {
    section.toggleAttribute("hidden", section.getAttribute("data-step") !== step);
  }
  const title = find(document, `[data-step=${step}] h1`);
  document.title = `${title.textContent} · Deeds`;
  title.focus({ preventScroll: true });
  window.scrollTo({ top: 0, behavior: "instant" });
}

const tell = (text) => (place.textContent = text);

async function review() {
  wanted = await form.read();
  if (!wanted) return;
  const item = form.shown();
  byId("review-card").replaceChildren(makeCard(item));
  byId("review-total").textContent = item.text;
  tell("");
  showStep("review");
  // So that the browser's Back leads to the form.
  history.pushState("review", "");
  createButton.disabled = true;
  setTimeout(() => setBusy(false), CALM_MS);
}

function setBusy(isBusy) {
  createButton.disabled = byId("back-button", HTMLButtonElement).disabled = isBusy;
  createButton.textContent = isBusy ? "Creating…" : "Create";
}

async function create(opened) {
  setBusy(true);
  tell("");
  form.dropDraft();
  const { unit, count } = form.shown();
  const mint = () => opened.wallet.mint(wanted);
  const operation = await opened.run(mint, tell).catch(refuse);
  if (operation) {
    form.reset();
    await showResult(opened, operation, { unit, count });
    showStep("done");
  }
  setBusy(false);
}

function refuse(error) {
  form.saveDraft();
  showStep("review");
  tell(textFor(error));
  place.focus();
}

/**
 * Show what earlier visits began to create, so that a person does not create it twice.
 */
async function drawEarlier(store) {
  const all = await recordsWith(store, "operations", { state: "begun" });
  const mints = all.filter(
    ({ kind, begunAt }) => kind === "mint" && begunAt < openedAt,
  );
  drawBegun(mints);
}

const openedAt = Date.now();
const teller = makeTeller();
// What waits to be created has a place of its own.
const isNews = ({ operation: { kind, state } }) => kind !== "mint" || state !== "begun";
const opened = await openWallet((outcomes) => teller(outcomes.filter(isNews)));
if (opened) {
  byId("mint-form").addEventListener("submit", (event) => {
    event.preventDefault();
    review();
  });
  byId("back-button").addEventListener("click", () => {
    showStep("form");
    if (history.state) history.back();
  });
  // The link past the head of the page leaves what is shown as it is.
  window.addEventListener("popstate", () => location.hash || showStep("form"));
  createButton.addEventListener("click", () => create(opened));
  byId("another-button").addEventListener("click", () => showStep("form"));
  byId("review-button", HTMLButtonElement).disabled = false;
  opened.store.onChange(() => drawEarlier(opened.store));
  drawEarlier(opened.store);
}
