// The Mint page: a form, a preview that follows it, and the result.

import { formatAmount } from "../../format/amounts.js";
import { textFor } from "../../texts/problems.js";
import { fillCard } from "../../ui/card.js";
import { byId, find } from "../../ui/dom.js";
import { focusFirstError } from "../../ui/field_errors.js";
import { say } from "../../ui/notices.js";
import { openWallet, untilEnded } from "../open_wallet.js";
import { imageField } from "./image_field.js";
import { outputRows } from "./output_rows.js";
import { mintResult } from "./result.js";

const form = byId("mint-form", HTMLFormElement);
const button = byId("mint-button", HTMLButtonElement);
const name = byId("name", HTMLInputElement);
const description = byId("description", HTMLTextAreaElement);
const place = byId("mint-error");
const preview = byId("preview");

const image = imageField(find(preview, "[data-card=image]", HTMLImageElement), draw);
const rows = outputRows({ countMax: Number(document.body.dataset.arrayMax), onChange: draw });

/** Show in the preview and the total what the form says. */
function draw() {
  const total = rows.total();
  byId("total").textContent = total ? formatAmount(total) : "–";
  fillCard(preview, { ...readTexts(), image: image.read() ?? "" }, total ?? 0);
}

function readTexts() {
  return { name: name.value.trim(), description: description.value.trim() };
}

/** Return what to ask for, or null after saying what is wrong. */
function readForm() {
  const outputs = rows.read();
  const address = image.read();
  if (address === null) image.refuse();
  if (focusFirstError(form)) return null;
  const about = Object.entries({ ...readTexts(), image: address }).filter(([, text]) => text);
  return { outputs, metadata: about.length ? Object.fromEntries(about) : undefined };
}

function tell(text) {
  place.textContent = text;
  place.hidden = !text;
}

function refuse(error) {
  tell(textFor(error));
  place.focus();
}

function setBusy(isBusy) {
  button.disabled = isBusy;
  button.textContent = isBusy ? "Minting…" : "Mint the deed";
}

function show(isMinted) {
  byId("mint-lead").hidden = isMinted;
  form.hidden = isMinted;
  byId("minted").hidden = !isMinted;
  byId(isMinted ? "minted-title" : "name").focus();
  window.scrollTo(0, 0);
}

function startAgain() {
  form.reset();
  rows.reset();
  draw();
  show(false);
}

let minting = "";

/** Tell of what earlier visits left behind; what this one does is told where it was asked for. */
function tellOfEarlier(outcomes) {
  const ended = outcomes.map(({ operation }) => operation).filter(({ key }) => key !== minting);
  if (ended.some(({ state }) => state === "done")) {
    say("What was begun on an earlier visit is finished: see My deeds.");
  }
}

async function mint(opened, wanted) {
  const outcome = await opened.wallet.mint(wanted);
  // Before it is sent again: what comes of that is told here.
  if (outcome.operation.state === "begun") minting = outcome.operation.key;
  return untilEnded(opened, outcome, tell);
}

/** Mint what the form says, and show what came of it. */
async function submit(opened, result) {
  const wanted = button.disabled ? null : readForm();
  if (!wanted) return;
  setBusy(true);
  tell("");
  try {
    const operation = await mint(opened, wanted);
    if (operation.state === "done") {
      tell("");
      result.show(operation);
      show(true);
    } else refuse({ name: "ProblemError", code: operation.code });
  } catch (error) {
    refuse(error);
  } finally {
    setBusy(false);
  }
}

const opened = await openWallet(tellOfEarlier);
if (opened) {
  const result = mintResult({ qr: opened.api.qr, onAnother: startAgain });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit(opened, result);
  });
  button.disabled = false;
}

form.addEventListener("input", draw);
draw();
