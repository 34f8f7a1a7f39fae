// The Mint page in two steps: a form with a live preview, and the result. The field for
// the operator's token is shown if the service requires a token and this browser has
// none, or one that was refused.

import { aboutOf, metadataOf } from "../../format/about.js";
import { gettext } from "../../format/gettext.js";
import { partText, PROBLEM_TEXTS, textFor } from "../../texts.js";
import { fillCard } from "../../ui/card.js";
import { byId, find } from "../../ui/dom.js";
import { ask, onceAtATime, say, sayError, showError } from "../../ui/forms.js";
import { alikeAmong, isOtherDay } from "../../ui/origin.js";
import { readHolding } from "../../wallet/holdings.js";
import { isToken, isTokenMissing, keepToken } from "../../wallet/mint_token.js";
import { recordsWith } from "../../wallet/records.js";
import { makeTeller, openWallet } from "../open_wallet.js";
import { drawBegun } from "../under_way.js";
import { mintForm } from "./form.js";
import { showResult } from "./result.js";

const createButton = byId("create-button", HTMLButtonElement);
const problem = byId("create-error");
const preview = byId("preview");
const tokenPanel = byId("token");
const tokenField = byId("mint-token", HTMLInputElement);
const tokenButton = byId("keep-token", HTMLButtonElement);

const form = mintForm(find(preview, "[data-card=image]"), (item) => {
  for (const place of [preview, byId("glance")]) {
    // The card shows what the recipient of one link gets.
    fillCard(place, item, { amount: item.each });
    find(place, ".deed-units").hidden = !item.total;
  }
});

function showStep(step) {
  byId("main").dataset.shown = step;
  const title = find(document, `[data-step=${step}] h1`);
  document.title = `${title.textContent} · Deeds`;
  title.focus({ preventScroll: true });
  window.scrollTo({ top: 0, behavior: "instant" });
}

const tell = (text) => (problem.textContent = text);

function setBusy(isBusy) {
  createButton.disabled = isBusy;
  createButton.textContent = isBusy ? gettext("Creating…") : gettext("Create");
}

async function create(isSure = false) {
  setBusy(true);
  tell("");
  showError(tokenField, "");
  const request = await form.read();
  // If the store fails, the mint reports it.
  const doubts = isSure ? [] : await doubtsOf(form.shown()).catch(() => []);
  if (request && doubts.length > 0) {
    setBusy(false);
    return askFirst(doubts);
  }
  // Check the token before anything is recorded.
  const isReady = request && (tokenPanel.hidden || (await keepTyped().catch(refuse)));
  if (isReady) await carryOut(request);
  setBusy(false);
  if (!isReady) return;
  drawToken();
  if (!tokenPanel.hidden) tokenField.focus();
}

/** Return what to ask the person about first, because a deed can never be changed. */
async function doubtsOf({ metadata }) {
  const item = { id: "", metadata };
  const { date } = aboutOf(item);
  const minted = await opened.store.read(
    { items: "all" },
    (/** @type {any} */ { items }) => items.list({ isMinted: true }),
  );
  const twin = alikeAmong(minted)(item).find((each) => !isOtherDay(item, each));
  return [
    metadataOf(item).name ? [] : gettext("It has no name."),
    date && date < new Date() ? gettext("Its date is in the past.") : [],
    twin
      ? gettext(
          "You already made {units}. The new ones get their own mark and their own door. People who see both marks are warned.",
          { units: partText(twin.total, twin) },
        )
      : [],
  ].flat();
}

function askFirst(doubts) {
  const { close } = ask({
    title: gettext("Create it like this?"),
    content: [...doubts, gettext("You can't change it later.")],
    yes: gettext("Create"),
    no: gettext("Go back"),
    opener: createButton,
    act: async () => {
      close();
      await create(true);
    },
  });
}

async function carryOut(request) {
  form.dropDraft();
  const { count } = form.shown();
  const { run, wallet } = opened;
  const operation = await run(() => wallet.mint(request), tell).catch(refuse);
  if (!operation) return;
  tell("");
  form.reset();
  byId("similar-button").onclick = () => createLike(operation.itemId);
  await showResult(opened, operation, count);
  showStep("done");
}

/** Fill the form with a deed of this browser, except its dates. */
async function createLike(itemId) {
  const { item, links } = await readHolding(opened.store, itemId);
  if (!item) return;
  form.fillLike(item, links.find(({ output }) => output.of)?.output.of ?? 1);
  showStep("form");
}

function refuse(error) {
  form.saveDraft();
  tell(textFor(error));
  problem.focus();
}

function drawToken() {
  tokenPanel.hidden = !isTokenMissing(tokenPanel.dataset.minting === "token");
}

/**
 * Store the typed token if the service accepts it. Return whether it does.
 * @throws why the service could not be asked
 */
async function keepTyped() {
  const typed = tokenField.value.trim();
  const wrong = await whatIsWrong(typed);
  showError(tokenField, wrong);
  if (wrong) {
    tokenField.focus();
    return false;
  }
  keepToken(typed);
  tokenField.value = "";
  drawToken();
  return true;
}

async function whatIsWrong(token) {
  if (!token) return gettext("Enter the token.");
  const isRight = isToken(token) && (await opened.api.takesToken(token));
  return isRight ? "" : PROBLEM_TEXTS.mint_token_wrong;
}

async function keepAlone() {
  if (!(await keepTyped())) return;
  say(gettext("The token is saved."));
  // A mint that was sent with an older token may be waiting for this one.
  opened.wake();
  createButton.focus();
}

/**
 * Show what earlier visits began to create, so that a person does not create it twice.
 */
async function drawEarlier() {
  const all = await recordsWith(opened.store, "operations", { state: "begun" });
  const mints = all.filter(
    ({ kind, begunAt }) => kind === "mint" && begunAt < openedAt,
  );
  drawBegun(mints);
}

const openedAt = Date.now();
const teller = makeTeller();
// Mints that wait have their own place on the page.
const isNews = ({ operation: { kind, state } }) => kind !== "mint" || state !== "begun";
const opened = /** @type {import("../open_wallet.js").Opened} */ (
  await openWallet((outcomes) => {
    teller(outcomes.filter(isNews));
    // The service may have refused the token of a mint that was sent again.
    drawToken();
  })
);
if (opened) {
  tokenButton.onclick = () =>
    onceAtATime(tokenButton, () => keepAlone().catch(sayError));
  // Another tab may have stored a token, or had it refused.
  window.addEventListener("storage", drawToken);
  drawToken();
  createButton.onclick = () => create();
  byId("another-button").onclick = () => showStep("form");
  createButton.disabled = false;
  createLike(location.hash.slice(1));
  opened.store.onChange(drawEarlier);
  drawEarlier();
}
