// The Mint page in two steps: a form with a preview that follows it, and the result.

import { aboutOf, metadataOf } from "../../format/about.js";
import { gettext } from "../../format/gettext.js";
import { textFor } from "../../texts.js";
import { fillCard } from "../../ui/card.js";
import { byId, find } from "../../ui/dom.js";
import { ask } from "../../ui/forms.js";
import { recordsWith } from "../../wallet/records.js";
import { makeTeller, openWallet } from "../open_wallet.js";
import { drawBegun } from "../under_way.js";
import { mintForm } from "./form.js";
import { showResult } from "./result.js";
import { tokenField } from "./token_field.js";

const createButton = byId("create-button", HTMLButtonElement);
const place = byId("create-error");
const preview = byId("preview");

const form = mintForm(find(preview, "[data-card=image]"), (item) => {
  fillCard(preview, item);
  find(preview, ".deed-units").hidden = !item.total;
});

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

function setBusy(isBusy) {
  createButton.disabled = isBusy;
  createButton.textContent = isBusy ? gettext("Creating…") : gettext("Create");
}

async function create(opened, token, isSure = false) {
  setBusy(true);
  tell("");
  token.clearError();
  const wanted = await form.read();
  const doubts = isSure ? [] : doubtsOf(form.shown());
  if (wanted && doubts.length > 0) {
    setBusy(false);
    return askFirst(doubts, () => create(opened, token, true));
  }
  // Before anything is written down.
  const isReady = wanted && (await token.isReady().catch(refuse));
  if (isReady) await carryOut(opened, wanted);
  setBusy(false);
  if (isReady) token.askAgain();
}

/** Return what a person is asked about: what is made can never be changed. */
function doubtsOf(item) {
  const { date } = aboutOf(item);
  return [
    ...(metadataOf(item).name ? [] : [gettext("It has no name.")]),
    ...(date && date < new Date() ? [gettext("Its date is in the past.")] : []),
  ];
}

function askFirst(doubts, goOn) {
  const { close } = ask({
    title: gettext("Create it like this?"),
    content: [...doubts, gettext("You can't change it later.")],
    yes: gettext("Create"),
    no: gettext("Go back"),
    opener: createButton,
    act: async () => {
      close();
      await goOn();
    },
  });
}

async function carryOut(opened, wanted) {
  form.dropDraft();
  const { unit, count } = form.shown();
  const { run, wallet } = opened;
  const operation = await run(() => wallet.mint(wanted), tell).catch(refuse);
  if (!operation) return;
  tell("");
  form.reset();
  await showResult(opened, operation, { unit, count });
  showStep("done");
}

function refuse(error) {
  form.saveDraft();
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
let token;
const opened = await openWallet((outcomes) => {
  teller(outcomes.filter(isNews));
  // The service may have refused it, of a mint that was sent again.
  token?.draw();
});
if (opened) {
  token = tokenField(opened);
  createButton.onclick = () => create(opened, token);
  byId("another-button").onclick = () => showStep("form");
  createButton.disabled = false;
  opened.store.onChange(() => drawEarlier(opened.store));
  drawEarlier(opened.store);
}
