// One line that says what is not backed up yet, and the dialogs that write the wallet
// to a file and read one. Where the browser can write a file that was picked once, the
// later backups need no tap.

import { gettext, ngettext } from "../../format/gettext.js";
import { clockText, sideText, textFor } from "../../texts.js";
import {
  byId,
  copyTemplate,
  download,
  make,
  makeButton,
  put,
  setEach,
} from "../../ui/dom.js";
import { ask, FieldError, openDialog, say } from "../../ui/forms.js";
import { exportWallet, importWallet, makeMaterial } from "../../wallet/file.js";
import { WalletError } from "../../wallet/records.js";
import { isLive } from "../../wallet/states.js";
import { askBefore, importOrAsk } from "./joined_wallets.js";

// Somebody with the file can try passphrases as fast as hardware allows.
const PASSPHRASE_LENGTH_MIN = 10;

/** Some 600,000 links. A browser holds a text of 512 MiB at most. */
const FILE_BYTES_MAX = 400 * 1024 * 1024;

/** So long after the last change a backup is written by itself. */
const QUIET_MS = 2_000;
const FILE_NAME = "my-deeds.json";
const MODE = { mode: "readwrite" };

const BACKED_UP = gettext("Backed up. Keep the file somewhere else.");
const MAY_BE_GIVEN = gettext(
  "Links that may have been handed out since this backup count as handed out.",
);

const WHOSE = gettext(
  "If it’s yours, this browser goes on as another copy of that wallet: whoever has the file can spend what comes in later. If it’s somebody else’s, you keep a wallet of your own.",
);
const THEIRS = gettext(
  "Whoever the backup belongs to can spend this until you move it: open each deed, press “Send” for all of it, then take the link back.",
);

/**
 * @typedef {{wallet: import("../../wallet/wallet.js").Wallet}} Tools
 *
 * Make the buttons work.
 * @param {Tools & {
 *   itemOf: import("../../texts.js").ItemOf,
 *   onRestored: (onWait: (text: string) => boolean) => Promise<string>,
 * }} tools `onRestored` looks for what moved since a file was written, and returns what to say of it
 */
export function backups(tools) {
  const acts = {
    "back-up": backUp,
    "change-passphrase": askToBackUp,
    restore: askToRestore,
  };
  for (const [id, act] of Object.entries(acts)) {
    byId(id).onclick = () => act(tools, byId(id));
  }
}

/**
 * Say in one line what is not backed up; `isEmpty` where there is nothing to back up.
 * When a person comes to the list (`isEntering`), that is put above it if something is
 * to be done; it stays there meanwhile, so that nothing moves under a finger.
 */
export async function drawBackup({ backup }, isEmpty, isEntering) {
  const status = await backup.status();
  const isKept = isEmpty || (await navigator.storage.persisted().catch(() => false));
  const isDue = !isEmpty && !isUpToDate(status);
  setEach("hidden", {
    "back-up": isEmpty,
    "check-states": isEmpty,
    look: isEmpty,
    "not-kept": isKept,
    "change-passphrase": isEmpty || !status.material,
  });
  byId("back-up").classList.toggle("quiet", !isDue);
  put(byId("backup-state"), isEmpty ? "" : backupText(status));
  const isOnTop = isDue || (!isEmpty && status.changesCount > 0);
  if (isEntering) byId(isOnTop ? "list" : "backup").prepend(byId("backup-now"));
}

const isUpToDate = ({ at, newCount }) => at && !newCount;

/** Return what is to be said of `wallet.backup.status()`. */
export function backupText({ at, newCount, changesCount, file }) {
  if (!at)
    return gettext("Not backed up yet. If this browser is cleared, it is all gone.");
  if (newCount)
    return ngettext(
      "{count} deed came in after the last backup.",
      "{count} deeds came in after the last backup.",
      newCount,
    );
  if (changesCount)
    return gettext("Everything is backed up, but for small changes since.");
  return file
    ? gettext("Backed up {time} to {file}.", { time: clockText(at), file: file.name })
    : gettext("Everything is backed up.");
}

/**
 * Return what says beside a link that was made just now what is not backed up, with a
 * button; nothing where all is.
 */
export async function backupLine(tools, opener) {
  const status = await tools.wallet.backup.status();
  if (isUpToDate(status)) return [];
  const button = makeButton(gettext("Back up"), () => {
    line.remove();
    backUp(tools, opener);
  });
  const text = make("span", {}, backupText(status));
  const line = make("p", { class: "backup-line" }, text, button);
  return [line];
}

async function backUp(/** @type {Tools} */ { wallet }, opener) {
  const { material } = await wallet.backup.status();
  if (!material) return askToBackUp({ wallet }, opener);
  say(await writeFile(wallet, material).then(() => BACKED_UP, textFor));
}

function askToBackUp(/** @type {Tools} */ { wallet }, opener) {
  ask({
    title: gettext("Back up"),
    content: [copyTemplate("back-up-template")],
    yes: gettext("Back up"),
    opener,
    said: BACKED_UP,
    act: async (_onWait, [first, again]) => {
      const { value } = first;
      if ([...value].length < PASSPHRASE_LENGTH_MIN) {
        throw new FieldError(
          first,
          gettext("Enter at least {least} characters.", {
            least: PASSPHRASE_LENGTH_MIN,
          }),
        );
      }
      if (value !== again.value)
        throw new FieldError(again, gettext("The two are not the same."));
      await writeFile(wallet, makeMaterial(value));
    },
  });
}

/**
 * Write to the file of the last backup if the browser still can, else to another. The
 * material may be on its way: a browser lets a page ask only soon after a tap.
 */
async function writeFile(wallet, material) {
  const { file } = await wallet.backup.status();
  const writeSame = async () =>
    (await file.requestPermission(MODE)) === "granted" &&
    write(wallet, await material, file);
  // It may have been on a stick that is not there.
  const isWritten = file && (await writeSame().catch(() => false));
  if (isWritten) return;
  const other = await pickFile();
  await write(wallet, await material, other);
}

/** Return a file that the browser can write again, or null where it only downloads. */
async function pickFile() {
  const { showSaveFilePicker } = /** @type {any} */ (window);
  return showSaveFilePicker?.({ suggestedName: FILE_NAME }).catch(({ name }) => {
    if (name !== "AbortError") return null;
    throw new WalletError("cancelled", gettext("Nothing was backed up."));
  });
}

/** Write a file whole, or download one; one tab after the other. */
function write(wallet, material, file) {
  return navigator.locks.request("deeds-backup", async () => {
    const text = await exportWallet(await wallet.exportRecords(), material);
    if (text.length > FILE_BYTES_MAX)
      throw new WalletError("full", gettext("Too much for one backup file."));
    const date = new Date().toISOString().slice(0, 10);
    // What was in the file stays there until the stream is closed.
    const stream = await file?.createWritable();
    await stream?.write(text);
    await stream?.close();
    if (!file) download(text, "application/json", `my-deeds-${date}.json`);
    await wallet.backup.saved(material, file);
    return true;
  });
}

/**
 * Return what is to be called after each change: a little later it writes a backup by
 * itself, where a person can see the page and the browser may write the file.
 */
export function backupWriter({ wallet }) {
  let timer;
  const save = async () => {
    const { changesCount, material, file } = await wallet.backup.status();
    if (!changesCount || !material || document.hidden) return;
    const permission = await file?.queryPermission(MODE);
    if (permission === "granted") await write(wallet, material, file);
  };
  return () => {
    clearTimeout(timer);
    // What could not be written is told by the state, with a button.
    timer = setTimeout(() => save().catch(() => {}), QUIET_MS);
  };
}

function askToRestore({ wallet, itemOf, onRestored }, opener) {
  ask({
    title: gettext("Restore"),
    content: [copyTemplate("restore-template")],
    yes: gettext("Restore"),
    opener,
    act: async (onWait, [file, passphrase]) => {
      const records = await readFile(file, passphrase);
      const isOwn = (await wallet.isOwnFile(records)) ?? (await askWhose(opener));
      const imported = await importOrAsk(wallet, records, isOwn, opener);
      const { live, added, given } = imported;
      await nameAll(wallet, added).catch(() => {});
      const found = await onRestored(onWait);
      // Only now is it known what has been spent since.
      const stillLive = async (outputs) =>
        (await wallet.outputsOf({ outputs })).filter(isLive);
      const inFile = records.outputs.filter(isLive);
      const isOlder = (await stillLive(live)).length < inFile.length;
      const fresh = await stillLive(added);
      const about = {
        fresh,
        isOlder,
        isGiven: (await stillLive(given)).length > 0,
        found,
      };
      const text = restoredText(about, itemOf);
      if (isOwn) return text;
      // It takes longer to read than a notice stays.
      openDialog({ title: gettext("Restored"), content: [text, THEIRS], opener });
    },
  });
}

/** Ask the registry what came in: a stranger's file is not believed. */
async function nameAll(wallet, outputs) {
  const itemIds = new Set(outputs.map((output) => output.itemId));
  for (const itemId of itemIds) await wallet.item(itemId);
}

/** Ask whether a backup is the person's own. */
const askWhose = (opener) =>
  askBefore({
    title: gettext("Is this your own backup?"),
    content: [WHOSE],
    choices: [
      [gettext("Yes, it’s mine"), true],
      [gettext("No, it’s somebody else’s"), false],
    ],
    opener,
  });

async function readFile(field, passphrase) {
  const file = field.files?.[0];
  if (!file) throw new FieldError(field, gettext("Choose the file first."));
  if (file.size > FILE_BYTES_MAX)
    throw new FieldError(field, gettext("This file is too big to be a backup."));
  const text = await file.text().catch(() => {
    throw new FieldError(field, gettext("The browser cannot read this file."));
  });
  return importWallet(text, passphrase.value).catch((error) => {
    const isItsPassphrase = error.name === "WrongPassphraseError";
    throw new FieldError(isItsPassphrase ? passphrase : field, textFor(error));
  });
}

/** Return what a file has brought, by value, and what was `found` besides. */
export function restoredText({ fresh, isOlder, isGiven, found }, itemOf) {
  const text = isOlder
    ? gettext("Restored. This backup is older than the last change here.")
    : gettext("Restored. All of it was here already.");
  const brought = valueText(fresh, itemOf);
  const texts = [
    brought ? gettext("Restored: {value}.", { value: brought }) : text,
    isGiven && MAY_BE_GIVEN,
  ];
  return [...texts, found].filter(Boolean).join(" ");
}

/** Return what of these outputs is ours, by value; nothing of none. */
export function valueText(outputs, itemOf) {
  const sums = new Map();
  for (const { state, itemId, amount } of outputs) {
    if (state !== "coming") sums.set(itemId, (sums.get(itemId) ?? 0) + amount);
  }
  const parts = Array.from(sums, ([itemId, amount]) => ({ itemId, amount }));
  return sideText(parts, itemOf);
}
