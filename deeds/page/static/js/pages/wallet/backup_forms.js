// One line that says what is not backed up yet, and the dialogs that write the wallet
// to a file and read one.

import { countText, textFor } from "../../texts.js";
import { byId, copyTemplate, download } from "../../ui/dom.js";
import { ask, FieldError, say } from "../../ui/forms.js";
import { exportWallet, importWallet, makeMaterial } from "../../wallet/file.js";
import { isLive } from "../../wallet/merging.js";
import { WalletError } from "../../wallet/records.js";

// Somebody with the file can try passphrases as fast as hardware allows.
const PASSPHRASE_LENGTH_MIN = 10;

/** Some 600,000 links. A browser holds a text of 512 MiB at most. */
const FILE_BYTES_MAX = 400 * 1024 * 1024;

const BACKED_UP = "Backed up. Keep the file somewhere else.";
const MAY_BE_GIVEN =
  "Links that may have been handed out since this backup count as handed out.";

/**
 * Make the buttons work; `onRestored` returns what else to say of a file that was read.
 * @param {import("../../wallet/wallet.js").Wallet} wallet
 */
export function backups(wallet, onRestored) {
  const acts = {
    "back-up": backUp,
    "change-passphrase": askToBackUp,
    restore: askToRestore,
  };
  for (const [id, act] of Object.entries(acts)) {
    byId(id).addEventListener("click", () => act(wallet, byId(id), onRestored));
  }
}

/**
 * Say in one line what is not backed up; `isEmpty` where there is nothing to back up.
 */
export async function drawBackup({ backup }, isEmpty) {
  const { changesCount, material, at } = await backup.status();
  const isKept = isEmpty || (await navigator.storage.persisted().catch(() => false));
  byId("not-kept").hidden = isKept;
  byId("back-up").hidden = isEmpty;
  byId("back-up").classList.toggle("quiet", Boolean(at) && !changesCount);
  byId("check-states").hidden = isEmpty;
  byId("change-passphrase").hidden = isEmpty || !material;
  byId("backup-state").textContent = isEmpty ? "" : stateText(changesCount, at);
}

function stateText(changesCount, at) {
  if (!at) return "Not backed up yet. If this browser is cleared, it is all gone.";
  if (!changesCount) return "Everything is backed up.";
  return `${countText(changesCount, "change")} since the last backup.`;
}

async function backUp(wallet, opener) {
  const { material } = await wallet.backup.status();
  if (!material) return askToBackUp(wallet, opener);
  say(await writeFile(wallet, material).then(() => BACKED_UP, textFor));
}

function askToBackUp(wallet, opener) {
  ask({
    title: "Back up",
    content: [copyTemplate("back-up-template")],
    yes: "Back up",
    opener,
    said: BACKED_UP,
    act: async (_onWait, [first, again]) => {
      const { value } = first;
      if ([...value].length < PASSPHRASE_LENGTH_MIN) {
        throw new FieldError(
          first,
          `Enter at least ${PASSPHRASE_LENGTH_MIN} characters.`,
        );
      }
      if (value !== again.value)
        throw new FieldError(again, "The two are not the same.");
      await writeFile(wallet, await makeMaterial(value));
    },
  });
}

async function writeFile(wallet, material) {
  const text = await exportWallet(await wallet.exportRecords(), material);
  if (text.length > FILE_BYTES_MAX)
    throw new WalletError("full", "Too much for one backup file.");
  const date = new Date().toISOString().slice(0, 10);
  download(text, "application/json", `my-deeds-${date}.json`);
  await wallet.backup.saved(material);
}

function askToRestore(wallet, opener, onRestored) {
  ask({
    title: "Restore",
    content: [copyTemplate("restore-template")],
    yes: "Restore",
    opener,
    act: async (_onWait, [file, passphrase]) => {
      const { live, added, given } = await readFile(wallet, file, passphrase);
      const problem = await onRestored();
      // Only now is it known what has been spent since.
      const count = async (outputs) =>
        (await wallet.outputsOf({ outputs })).filter(isLive).length;
      const counts = { newCount: await count(added), liveCount: await count(live) };
      return `${restoredText({ ...counts, isGiven: given.length > 0 })} ${problem}`.trim();
    },
  });
}

async function readFile(wallet, field, passphrase) {
  const file = field.files?.[0];
  if (!file) throw new FieldError(field, "Choose the file first.");
  if (file.size > FILE_BYTES_MAX)
    throw new FieldError(field, "This is not a backup file.");
  const text = await file.text().catch(() => {
    throw new FieldError(field, "The browser cannot read this file.");
  });
  const records = await importWallet(text, passphrase.value).catch((error) => {
    const isItsPassphrase = error.name === "WrongPassphraseError";
    throw new FieldError(isItsPassphrase ? passphrase : field, textFor(error));
  });
  return wallet.importRecords(records);
}

function restoredText({ newCount, liveCount, isGiven }) {
  if (!newCount) return "Restored. All of it was here already, or has moved on.";
  const text = `Restored. New here: ${newCount} of ${countText(liveCount, "part")}.`;
  return isGiven ? `${text} ${MAY_BE_GIVEN}` : text;
}
