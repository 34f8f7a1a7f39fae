// Opens this browser's wallet for a page, and continues what has begun in it: each
// operation is sent again until it has ended, while the page is open. If that is
// impossible, it says why.

import { gettext } from "../format/gettext.js";
import { outcomesText, refusalText, textFor, timeText, waitText } from "../texts.js";
import { arrayMax, make, makeActions, makeButton, onReturn } from "../ui/dom.js";
import { say, showFault, showMissing, whatIsMissing } from "../ui/forms.js";
import { keepReady } from "../ui/link_view.js";
import { makeApi } from "../wallet/api.js";
import { readToken, refuseToken } from "../wallet/mint_token.js";
import { WalletError } from "../wallet/records.js";
import { lostSince, openStore } from "../wallet/store.js";
import { makeWallet } from "../wallet/wallet.js";
import { keepFinishing } from "./retries.js";

/** The service worker, which makes pages work offline. */
const WORKER = "/sw.js";

/**
 * @typedef {{
 *   wallet: import("../wallet/wallet.js").Wallet, store: import("../wallet/store.js").Store,
 *   api: import("../wallet/api.js").Api, wake: (problem?: any) => void,
 *   run: (verb: () => Promise<Outcome>, onWait?: (text: string) => void) => Promise<OperationRecord>,
 * }} Opened `run` carries out a function of the wallet, returns the operation once it
 *   is done, and throws if it was refused
 * @typedef {import("../wallet/wallet.js").Outcome} Outcome
 * @typedef {import("../wallet/records.js").OperationRecord} OperationRecord
 */

/** Keep the fragment of the address when the person switches the language. */
function keepFragment() {
  /** @type {NodeListOf<HTMLAnchorElement>} */
  const links = document.querySelectorAll(".languages a");
  for (const link of links) link.onclick = () => void (link.hash = location.hash);
}

/**
 * Return the wallet with its store and API, or null after showing why it cannot be
 * opened.
 *
 * Operations that have begun, on earlier visits too, are sent again until they have
 * ended; `wake` does so at once, or soon after a problem.
 * @param {(outcomes: Outcome[]) => void} [onOutcomes] called after each try
 * @param {typeof offerRescue} [rescue] returns buttons that save what still can be
 *   saved
 * @returns {Promise<Opened | null>}
 */
export async function openWallet(onOutcomes, rescue = offerRescue) {
  offerRescue = rescue;
  keepFragment();
  const missing = whatIsMissing();
  if (missing.length) {
    showMissing(
      ...missing,
      gettext("You can look at deeds here, but not create, claim or keep them."),
    );
    return null;
  }
  try {
    const store = await openStore(showEnd);
    const api = makePageApi();
    const wallet = makeWallet({ store, api, arrayMax: arrayMax() });
    const wake = keepFinishing({
      finishBegun: wallet.finishBegun,
      onOutcomes,
      onError: showEnd,
    });
    // A tab that is closed meanwhile leaves its operations to this one.
    onReturn(wake);
    prepareOffline();
    keepCodesReady({ store, wallet, api });
    const run = async (verb, onWait) => {
      const operation = await untilEnded({ store, wake }, await verb(), onWait);
      if (operation.state !== "refused") return operation;
      throw new WalletError("refused", refusalText(operation));
    };
    return { wallet, store, api, wake, run };
  } catch (error) {
    showEnd(error);
    return null;
  }
}

/**
 * Return buttons that save what can be saved if the store was deleted under this page.
 */
let offerRescue = () => /** @type {HTMLElement[]} */ ([]);

/** Show an error. If the store failed, offer to reload. */
function showEnd(error) {
  if (error.name !== "StoreError") return showFault(error);
  const reload = makeButton(gettext("Try again"), () => location.reload());
  const isGone = error.code === "gone";
  // A payment for a code on the screen would be lost.
  const dialogs = document.querySelectorAll("dialog[open]");
  if (isGone) for (const dialog of /** @type {any} */ (dialogs)) dialog.close();
  const rescue = isGone ? offerRescue() : [];
  const hint = gettext("This page still has some of it. Save it before you reload.");
  showMissing(
    textFor(error),
    ...rescue.map(() => hint),
    makeActions(...rescue, reload),
  );
}

/** Show that this browser had a wallet that is gone, and what can be done. */
export function showLoss(...actions) {
  const since = lostSince();
  if (!since) return;
  showMissing(
    make("h2", {}, gettext("This browser has lost your deeds")),
    gettext(
      "You have had some since {time}. The browser's data was cleared, by you or to make room. A backup brings them back.",
      { time: timeText(since) },
    ),
    makeActions(...actions),
  );
}

/** Return the API, for pages without a wallet, too. */
export const makePageApi = () =>
  makeApi((...request) => fetch(...request), arrayMax(), { readToken, refuseToken });

/**
 * Return the operation of an outcome once it has ended, in this tab or another. Until
 * then, say that it is sent again.
 * @param {Pick<Opened, "store" | "wake">} opened
 * @param {Outcome} outcome
 * @param {(text: string) => void} [onWait]
 * @returns {Promise<OperationRecord>}
 */
export async function untilEnded(
  { store, wake },
  { operation, problem },
  onWait = () => {},
) {
  if (operation.state !== "begun") return operation;
  const { key } = operation;
  onWait(waitText(problem));
  wake(problem);
  return new Promise((resolve, reject) => {
    const look = async () => {
      const now = await store.read({ operations: [key] }, ({ operations }) =>
        operations.get(key),
      );
      if (!now || now.state === "begun") return;
      stop();
      resolve(now);
    };
    const stop = store.onChange(() => look().catch(reject));
    look().catch(reject);
  });
}

/** Return the records of outputs, each with the last operation on it. */
export function recordsOf(/** @type {Opened["store"]} */ store, keys) {
  const lastIn = ({ outputs }, key) => lastOf(outputs.get(key));
  const next = (slices) => ({ operations: keys.map((key) => lastIn(slices, key)) });
  return store.read({ outputs: keys, next }, (slices) =>
    keys.map((key) => ({
      record: slices.outputs.get(key),
      operation: slices.operations.get(lastIn(slices, key)),
    })),
  );
}

/**
 * Return the operation that takes the output, else the last one that tried to, because
 * it shows why that failed, else the one that made it.
 */
function lastOf({ operation = "", takers = {} } = {}) {
  return operation in takers ? operation : (Object.keys(takers).at(-1) ?? operation);
}

/**
 * Return a function that announces operations of earlier visits, to be called after
 * each try.
 */
export function makeTeller() {
  const openedAt = Date.now();
  let isWaiting = false;
  return (outcomes) => {
    // Operations of this visit are announced where they were requested.
    const earlier = outcomes.filter(({ operation }) => operation.begunAt < openedAt);
    const text = outcomesText(earlier, isWaiting);
    const isRefused = earlier.some(({ operation }) => operation.state === "refused");
    // A refusal comes unexpectedly, so it stays until the page is left.
    if (text) (isRefused ? showMissing : say)(text);
    isWaiting = earlier.some(({ operation }) => operation.state === "begun");
  };
}

/** Start the worker once the page is loaded: its downloads must not delay the page. */
function prepareOffline() {
  // Without a worker the page still works online.
  const start = () => navigator.serviceWorker?.register(workerUrl()).catch(() => {});
  if (document.readyState === "complete") start();
  else window.addEventListener("load", start, { once: true });
}

/** When idle, fetch the codes that a person may have to show offline. */
function keepCodesReady(parts) {
  const whenIdle = window.requestIdleCallback ?? setTimeout;
  // A code that cannot be fetched is reported when it is to be shown.
  const keep = oneByOne(
    async () => navigator.onLine && keepReady(parts).catch(() => {}),
  );
  const keepLater = () => whenIdle(keep);
  parts.store.onChange(keepLater);
  window.addEventListener("online", keepLater);
  keepLater();
}

/** Return the only address that the page's Trusted Types policy accepts as a script. */
function workerUrl() {
  const { trustedTypes } = /** @type {any} */ (window);
  const rules = { createScriptURL: () => WORKER };
  return (
    trustedTypes?.createPolicy("deeds-offline", rules).createScriptURL("") ?? WORKER
  );
}

/**
 * Return a function that runs `draw` at each call, one run after the other; at most one
 * run waits.
 */
export function oneByOne(draw) {
  let last = Promise.resolve();
  let isWanted = false;
  const drawNext = () => {
    isWanted = false;
    return draw().catch(showEnd);
  };
  return () => {
    if (!isWanted) last = last.then(drawNext);
    isWanted = true;
    return last;
  };
}
