// The My deeds page: what this browser holds, and all that can be done with it.

import { operationText } from "../../texts/operations.js";
import { textFor } from "../../texts/problems.js";
import { byId } from "../../ui/dom.js";
import { say, showMissing } from "../../ui/notices.js";
import { askToKeep } from "../../wallet/store.js";
import { openWallet } from "../open_wallet.js";
import { drawer } from "./drawer.js";
import { stateChecker } from "./state_check.js";

/** How long the first look waits for what else is to be shown, so that nothing moves afterwards. */
const FIRST_WAIT_MS = 1500;

const openedAt = Date.now();
const problems = new Map();
let picture;

/** Note why what is under way has not ended, and tell of what earlier visits had begun. */
function onOutcomes(outcomes) {
  problems.clear();
  for (const { operation, problem } of outcomes) {
    if (problem) problems.set(operation.key, problem);
    if (operation.state === "done" && operation.begunAt < openedAt) {
      say(`Finished: ${operationText(operation, picture?.nameOf(operation.itemId) ?? "")}.`);
    }
  }
  picture?.draw();
}

async function start(opened) {
  const { wallet, wake } = opened;
  picture = drawer(opened, problems);
  const holdings = await picture.draw();
  const first = Promise.all([picture.fetchItems(), showWhetherKept(holdings)]);
  await Promise.race([first, wait(FIRST_WAIT_MS)]);
  await picture.draw();
  const check = stateChecker(wallet, picture);
  const onRead = () => {
    wake();
    return check.quietly();
  };
  // What encrypts is not needed to see what is there; but it is here before anything is offered, so
  // that it works without a network.
  const { backupForms } = await import("./backup_forms.js");
  backupForms(wallet, { onRead });
  byId("check-states").addEventListener("click", check.aloud);
  byId("holdings").removeAttribute("aria-busy");
  byId("main").dataset.ready = "";
  await check.quietly();
}

async function showWhetherKept(holdings) {
  if (!holdings.length) return;
  const isKept = await askToKeep().catch(() => false);
  byId("kept").textContent = isKept
    ? "This browser has promised not to clear it by itself."
    : "This browser has not promised to keep it: it may clear it when the device runs out of room.";
}

function wait(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

const opened = await openWallet(onOutcomes);
if (opened) start(opened).catch((error) => showMissing([textFor(error)]));
