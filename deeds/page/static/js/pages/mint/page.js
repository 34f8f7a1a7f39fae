// The Mint page in three steps: a form with a preview that follows it, a review, and the result.
// Only the button of the review creates anything.

import { textFor } from "../../texts/problems.js";
import { fillCard, makeCard } from "../../ui/card.js";
import { byId, find } from "../../ui/dom.js";
import { say } from "../../ui/notices.js";
import { openWallet, untilEnded } from "../open_wallet.js";
import { mintForm } from "./form.js";
import { showResult } from "./result.js";

// A second tap on "Review" must not land on "Create", which comes to stand in its place.
const CALM_MS = 400;

const reviewButton = byId("review-button", HTMLButtonElement);
const createButton = byId("create-button", HTMLButtonElement);
const place = byId("create-error");
const preview = byId("preview");

const form = mintForm({
  picture: find(preview, "[data-card=image]", HTMLImageElement),
  countMax: Number(document.body.dataset.arrayMax),
  onChange: ({ metadata, total, unit }) => fillCard(preview, metadata, total, { unit }),
});

/** @type {any} */
let wanted = null;
const openedAt = Date.now();

function showStep(step) {
  for (const section of document.querySelectorAll("[data-step]")) {
    section.toggleAttribute("hidden", section.getAttribute("data-step") !== step);
  }
  const title = find(document, `[data-step=${step}] h1`);
  document.title = `${title.textContent} · Deeds`;
  title.focus({ preventScroll: true });
  window.scrollTo({ top: 0, behavior: "instant" });
}

function tell(text) {
  place.textContent = text;
  place.hidden = !text;
}

/** Show what will be made. */
async function review() {
  wanted = await form.read();
  if (!wanted) return;
  const { metadata, total, unit, text } = form.shown();
  byId("review-card").replaceChildren(makeCard(metadata, total, { unit }));
  byId("review-total").textContent = text;
  tell("");
  showStep("review");
  createButton.disabled = true;
  setTimeout(() => setBusy(false), CALM_MS);
}

function setBusy(isBusy) {
  createButton.disabled = byId("back-button", HTMLButtonElement).disabled = isBusy;
  createButton.textContent = isBusy ? "Creating…" : "Create";
}

function refuse(error) {
  form.saveDraft();
  tell(textFor(error));
  place.focus();
}

/** Tell of what earlier visits left behind; what this one does is told where it was asked for. */
function tellOfEarlier(outcomes) {
  const isEarlier = ({ operation: { state, begunAt } }) => state === "done" && begunAt < openedAt;
  if (outcomes.some(isEarlier)) say("What you started earlier is finished. See My deeds.");
}

/** Create what was reviewed, and show what came of it. */
async function create(opened) {
  setBusy(true);
  tell("");
  form.dropDraft();
  const { unit, count } = form.shown();
  try {
    const operation = await untilEnded(opened, await opened.wallet.mint(wanted), tell);
    if (operation.state === "done") {
      form.reset();
      await showResult(opened, operation, { unit, count });
      showStep("done");
    } else refuse({ name: "ProblemError", code: operation.code });
  } catch (error) {
    refuse(error);
  } finally {
    setBusy(false);
  }
}

const opened = await openWallet(tellOfEarlier);
if (opened) {
  byId("mint-form").addEventListener("submit", (event) => {
    event.preventDefault();
    review();
  });
  byId("back-button").addEventListener("click", () => showStep("form"));
  createButton.addEventListener("click", () => create(opened));
  byId("another-button").addEventListener("click", () => showStep("form"));
  reviewButton.disabled = false;
}
