// The dialogs that read a wallet file. They ask whose it is, and whether to forget
// empty wallets if too many are joined, and say what was restored. Also the look for
// units that were moved since a backup, or by another copy of this wallet: after a
// restore, on request, and by itself if a look was interrupted.

import { gettext, ngettext } from "../../format/gettext.js";
import { clockText, sideText, textFor } from "../../texts.js";
import { copyTemplate, makeButton } from "../../ui/dom.js";
import { ask, FieldError, openDialog, showMissing } from "../../ui/forms.js";
import { importWallet } from "../../wallet/file.js";
import { sumsOf, WalletError } from "../../wallet/records.js";
import { isLive } from "../../wallet/states.js";
import { forgetLoss } from "../../wallet/store.js";
import { showLoss } from "../open_wallet.js";

/** About 600,000 links. Browsers hold texts of up to 512 MiB. */
export const FILE_BYTES_MAX = 400 * 1024 * 1024;

const THEIRS = gettext(
  "The owner of the backup can spend this until you move it. To move it, open each deed, tap “Send” for all of it, then take the link back.",
);

/** Return what a backup of this time lacks. */
export const ageText = (/** @type {{at?: number}} */ { at }) =>
  at
    ? gettext("This backup is from {time}. What came in after that is not in it.", {
        time: clockText(at),
      })
    : gettext("What came in after this backup is not in it.");

/** Offer a restore if this browser had a wallet that is gone. */
export function offerAfterLoss(tools) {
  showLoss(
    makeButton(gettext("Restore a backup"), (button) => askToRestore(tools, button), {
      kind: "",
    }),
    makeButton(gettext("Start again"), endLoss),
  );
}

function endLoss() {
  forgetLoss();
  showMissing();
}

export function askToRestore({ wallet, onRestored }, opener) {
  ask({
    title: gettext("Restore"),
    content: [copyTemplate("restore-template")],
    opener,
    act: async (onWait, [file, passphrase]) => {
      const records = await readFile(file, passphrase);
      const isOwn = (await wallet.isOwnFile(records)) ?? (await askWhose(opener));
      const { live, added, given } = await importOrAsk(wallet, records, isOwn, opener);
      await nameAll(wallet, added).catch(() => {});
      endLoss();
      const found = await onRestored(onWait);
      // Only now it is known what has been spent since.
      const stillLive = async (outputs) =>
        (await wallet.outputsOf({ outputs })).filter(isLive);
      const inFile = records.outputs.filter(isLive);
      const left = await stillLive(live);
      const about = {
        added,
        fresh: await stillLive(added),
        isOlder: left.length < inFile.length,
        isGone: !left.length,
        isGiven: (await stillLive(given)).length > 0,
        age: ageText(records),
        found,
      };
      const content = [...restoredTexts(about), ...(isOwn ? [] : [THEIRS])];
      // It takes longer to read than a notice stays.
      openDialog({ title: gettext("Restored"), content, opener });
    },
  });
}

/** Fetch the new items from the registry: a stranger's file is not believed. */
async function nameAll(wallet, outputs) {
  const itemIds = new Set(outputs.map(({ itemId }) => itemId));
  for (const itemId of itemIds) await wallet.item(itemId);
}

/** Ask whether a backup is the person's own. */
const askWhose = (opener) =>
  askBefore({
    title: gettext("Is this your own backup?"),
    content: [
      gettext(
        "If it's yours, you go on here with that wallet. Don't say yes to somebody else's: they could then spend what you receive later.",
      ),
    ],
    choices: [
      [gettext("Yes, it's mine"), true],
      [gettext("No, it's somebody else's"), false],
    ],
    opener,
  });

/**
 * Import a file, and return the result of `importRecords`. If too many wallets are
 * joined, ask to remove empty ones first.
 */
async function importOrAsk(
  /** @type {import("../../wallet/wallet.js").Wallet} */ wallet,
  records,
  isOwn,
  opener,
) {
  try {
    return await wallet.importRecords(records, { isOwn });
  } catch (error) {
    if (error.code !== "seeds_full") throw error;
    const empty = await wallet.emptySeeds();
    if (!empty.length) throw error;
    const count = empty.length;
    await askBefore({
      title: gettext("Remove an empty wallet?"),
      content: [
        gettext(
          "This browser already has too many wallets. Wallets that seem empty: {count}.",
          { count },
        ),
      ],
      choices: [[gettext("Remove and restore"), true]],
      opener,
    });
    await wallet.forgetSeeds(empty);
    return wallet.importRecords(records, { isOwn });
  }
}

/**
 * Ask a person to choose, and return the value of the choice.
 * @param {import("../../ui/forms.js").Parts & {choices: [text: string, value: boolean][]}} asked
 * @returns {Promise<boolean>}
 * @throws {WalletError} `cancelled`: nothing was chosen
 */
function askBefore({ choices, ...parts }) {
  return new Promise((resolve, reject) => {
    const choose = (value) => () => {
      resolve(value);
      close();
    };
    const actions = choices.map(([text, value]) =>
      makeButton(text, choose(value), value ? { kind: "" } : {}),
    );
    const { close } = openDialog({
      ...parts,
      actions,
      closeText: gettext("Cancel"),
      onClose: () =>
        reject(new WalletError("cancelled", gettext("Nothing was restored."))),
    });
  });
}

async function readFile(field, passphrase) {
  const file = field.files?.[0];
  if (!file) throw new FieldError(field, gettext("Choose the file first."));
  if (file.size > FILE_BYTES_MAX)
    throw new FieldError(field, gettext("This file is too large to be a backup."));
  if (!passphrase.value)
    throw new FieldError(passphrase, gettext("Enter the passphrase of the backup."));
  const text = await file.text().catch(() => {
    throw new FieldError(field, gettext("The browser can't read this file."));
  });
  return importWallet(text, passphrase.value).catch((error) => {
    const isItsPassphrase = error.name === "WrongPassphraseError";
    throw new FieldError(isItsPassphrase ? passphrase : field, textFor(error));
  });
}

/** Return the texts that say what was restored, and what a look has `found`. */
export function restoredTexts(about) {
  const { added, fresh, isOlder, isGone, isGiven, age, found } = about;
  const older = isGone
    ? gettext("Restored. Everything in it has been used or passed on since.")
    : gettext("Restored. This backup is older than the last change here.");
  const here = isOlder ? older : gettext("Restored. Everything was already here.");
  const text = isGone && found ? gettext("Restored.") : here;
  // The list shows which of them are here, handed out or used since.
  const brought =
    oursOf(fresh).length && new Set(added.map(({ itemId }) => itemId)).size;
  const texts = [
    brought
      ? ngettext("Restored: {count} deed.", "Restored: {count} deeds.", brought)
      : text,
    (brought || isOlder) && age,
    fresh.some(({ unknown }) => unknown) &&
      gettext(
        "This service doesn't know all of it. If the backup is from another service, restore it there.",
      ),
    isGiven &&
      gettext(
        "We can't tell which links you shared after this backup, so we treat them all as shared.",
      ),
  ];
  return [...texts, found].filter(Boolean);
}

const oursOf = (outputs) => outputs.filter(({ state }) => state !== "coming");

/**
 * Return a function that searches for moved units, one search at a time. It returns a
 * text that says what was found, or why the search has to wait; empty if nothing is
 * new.
 * @param {Pick<import("../open_wallet.js").Opened, "wallet" | "store">
 *   & {itemOf: import("../../texts.js").ItemOf}} tools
 * @param {(text: string) => void} show gets the progress, and finally the same text
 * @returns {(options?: {isDueOnly?: boolean, onWait?: (text: string) => unknown}) => Promise<string>}
 *   with `isDueOnly` it looks only if a look was interrupted
 */
export function makeLooker({ wallet, store, itemOf }, show) {
  let last = Promise.resolve("");

  async function look(onWait, isWhole) {
    const since = Date.now();
    const onProgress = (done, count) =>
      onWait(gettext("Checking for missing deeds: {done} of {count}", { done, count }));
    await wallet.look({ isWhole, onProgress });
    await wallet.checkStates();
    const found = await store.read({ outputs: "all" }, ({ outputs }) =>
      outputs.list().filter(({ foundAt = 0 }) => foundAt >= since),
    );
    const value = sideText(sumsOf(oursOf(found.filter(isLive))), itemOf);
    return value && gettext("Found since the backup: {value}.", { value });
  }

  async function lookOnce({ isDueOnly = false, onWait = show } = {}) {
    if (isDueOnly && !(await wallet.isLookDue().catch(() => false))) return "";
    const text = await look(onWait, !isDueOnly).catch((error) =>
      error.name === "NoAnswerError"
        ? gettext("The service can't be reached. We'll check again when it can.")
        : textFor(error),
    );
    show(text);
    return text;
  }

  return (options) => (last = last.then(() => lookOnce(options)));
}
