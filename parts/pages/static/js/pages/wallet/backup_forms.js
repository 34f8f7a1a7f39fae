// A line that says what is not backed up yet, and the dialogs that write the wallet to
// a file. If the browser can write a file again that was picked once, later backups
// need no tap.

import { gettext, ngettext } from "../../format/gettext.js";
import { clockText, textFor } from "../../texts.js";
import {
  byId,
  copyTemplate,
  download,
  find,
  make,
  makeButton,
  put,
  setEach,
} from "../../ui/dom.js";
import { ask, FieldError, say, sayError } from "../../ui/forms.js";
import { exportWallet, makeMaterial } from "../../wallet/file.js";
import { WalletError } from "../../wallet/records.js";
import { ageText, askToRestore, FILE_BYTES_MAX } from "./restore_form.js";

// A thief of the file can try passphrases as fast as hardware allows.
const PASSPHRASE_LENGTH_MIN = 10;

/** How long after the last change a backup is written by itself. */
const QUIET_MS = 2_000;
const FILE_NAME = "my-deeds.json";
const MODE = { mode: "readwrite" };

const BACKED_UP = gettext("Backed up. Keep the file on another device.");

/**
 * Set up the buttons for backups.
 * @typedef {{wallet: import("../../wallet/wallet.js").Wallet}} Tools
 * @param {Tools & {
 *   onRestored: (onWait: (text: string) => boolean) => Promise<string>,
 * }} tools `onRestored` looks for what moved since the file was written, and returns
 *   what to say of it
 */
export function backups(tools) {
  const acts = {
    "back-up": backUp,
    "change-passphrase": askToBackUp,
    restore: askToRestore,
  };
  for (const [id, act] of Object.entries(acts))
    byId(id).onclick = () => act(tools, byId(id));
}

/**
 * Show in one line what is not backed up; `isEmpty` if there is nothing to back up.
 * When a person enters the list (`isEntering`), the line is put above it if something
 * must be done. It stays there meanwhile, so that nothing moves under a finger.
 */
export async function drawBackup({ backup }, isEmpty, isEntering) {
  const status = await backup.status();
  const isKept = isEmpty || (await navigator.storage.persisted().catch(() => false));
  const isDue = !isEmpty && !isUpToDate(status);
  setEach("hidden", {
    "not-kept": isKept,
    "change-passphrase": !status.material,
  });
  byId("back-up").classList.toggle("quiet", !isDue);
  put(byId("backup-state"), backupText(status));
  const isOnTop = isDue || (!isEmpty && status.changesCount > 0);
  if (isEntering) byId(isOnTop ? "list" : "backup").prepend(byId("backup-now"));
}

const isUpToDate = ({ at, newCount }) => at && !newCount;

/** Return the text for a `wallet.backup.status()`. */
export function backupText({ at, newCount, changesCount, file, restored }) {
  if (!at && !restored)
    return gettext(
      "Not backed up yet. If this browser's data is cleared, you lose everything.",
    );
  if (newCount)
    return ngettext(
      "{count} new item isn't backed up yet.",
      "{count} new items aren't backed up yet.",
      newCount,
    );
  if (restored) return ageText(restored);
  if (changesCount) return gettext("Backed up, but not what you did since.");
  return file
    ? gettext("Backed up {time} to {file}.", { time: clockText(at), file: file.name })
    : gettext("Everything is backed up, {time}.", { time: clockText(at) });
}

/**
 * Return a line with a button, beside a new link, that says what is not backed up;
 * nothing if everything is.
 */
export async function backupLine(tools, opener) {
  const status = await tools.wallet.backup.status();
  if (isUpToDate(status)) return [];
  const button = makeButton(gettext("Back up"), () => {
    line.remove();
    backUp(tools, opener);
  });
  const line = make(
    "p",
    { class: "backup-line" },
    make("span", {}, backupText(status)),
    button,
  );
  return [line];
}

async function backUp(/** @type {Tools} */ { wallet }, opener) {
  const status = await wallet.backup.status().catch(sayError);
  if (!status) return;
  if (!status.material) return askToBackUp({ wallet }, opener);
  say(await writeFile(wallet, status.material).then(() => BACKED_UP, textFor));
}

function askToBackUp(/** @type {Tools} */ { wallet }, opener) {
  const parts = { title: opener.textContent, said: BACKED_UP, opener };
  askPassphrase(parts, (material) => writeFile(wallet, material));
}

/** Ask for a passphrase twice, and call `write` with the material derived from it. */
function askPassphrase(parts, write) {
  ask({
    content: [copyTemplate("back-up-template")],
    ...parts,
    act: async (_onWait, [first, again]) => {
      const { value } = first;
      const least = PASSPHRASE_LENGTH_MIN;
      if ([...value].length < least)
        throw new FieldError(
          first,
          gettext("Enter at least {least} characters.", { least }),
        );
      if (value !== again.value)
        throw new FieldError(again, gettext("The passphrases don't match."));
      await write(makeMaterial(value));
    },
  });
}

/**
 * Return functions that remember the records of a wallet, so that they can be saved if
 * its store is deleted under an open page.
 */
export function makeRescue() {
  let records;
  let isSaved = false;
  const stay = (event) => isSaved || event.preventDefault();
  const write = async (material) => {
    saveText(await exportWallet(records, await material), "my-deeds-partial");
    isSaved = true;
  };

  return {
    /** Remember the current records. */
    async keep({ wallet }) {
      records = await wallet.allRecords().catch(() => records);
    },

    /** Return a button that saves the remembered records, if there are any. */
    offer() {
      if (!records?.outputs.length) return [];
      const title = gettext("Save partial backup");
      const said = gettext("This page saved what it still had. Restore that file now.");
      const yes = gettext("Save");
      const save = (opener) => {
        const form = copyTemplate("back-up-template");
        find(form, "p").textContent = gettext(
          "This saves what this page still has in an encrypted file.",
        );
        askPassphrase({ title, yes, said, content: [form], opener }, write);
      };
      window.addEventListener("beforeunload", stay);
      return [makeButton(title, save, { kind: "" })];
    },
  };
}

function saveText(text, name) {
  const date = new Date().toISOString().slice(0, 10);
  download(text, "application/json", `${name}-${date}.json`);
}

/**
 * Write to the file of the last backup if the browser still can, else to another.
 * `material` may be a promise: browsers let a page ask for a file only soon after a
 * tap.
 */
async function writeFile(wallet, material) {
  const { file } = await wallet.backup.status();
  const writeSame = async () =>
    (await file.requestPermission(MODE)) === "granted" &&
    write(wallet, await material, file);
  // The file may have been on a stick that is not plugged in.
  if (file && (await writeSame().catch(() => false))) return;
  const other = await pickFile();
  await write(wallet, await material, other);
}

/** Return a file that the browser can write again, or null if it can only download. */
async function pickFile() {
  const { showSaveFilePicker } = /** @type {any} */ (window);
  return showSaveFilePicker?.({ suggestedName: FILE_NAME }).catch(({ name }) => {
    if (name !== "AbortError") return null;
    throw new WalletError("cancelled", gettext("Nothing was backed up."));
  });
}

/** Write a file as a whole, or download one. Only one tab writes at a time. */
function write(wallet, material, file) {
  return navigator.locks.request("deeds-backup", async () => {
    const text = await exportWallet(await wallet.exportRecords(), material);
    if (text.length > FILE_BYTES_MAX)
      throw new WalletError("full", gettext("Too much for one backup file."));
    // The file keeps its content until the stream is closed.
    const stream = await file?.createWritable();
    await stream?.write(text);
    await stream?.close();
    if (!file) saveText(text, "my-deeds");
    await wallet.backup.saved(material, file);
    return true;
  });
}

/**
 * Return a function to call after each change. A little later it writes a backup, if
 * the page is visible and the browser may write the file.
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
    // The backup line shows a failure, with a button.
    timer = setTimeout(() => save().catch(() => {}), QUIET_MS);
  };
}
