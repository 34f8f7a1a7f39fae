// The forms that write the wallet to a file and read one.

import { textFor } from "../../texts/problems.js";
import { download } from "../../ui/copying.js";
import { byId } from "../../ui/dom.js";
import { focusFirstError, showError } from "../../ui/field_errors.js";
import { exportWallet, importWallet, makeMaterial } from "../../wallet/file.js";

// Somebody with the file can try passphrases as fast as hardware allows.
const PASSPHRASE_LENGTH_MIN = 10;

/** No file of a wallet is near this size; what is larger would only fill the memory. */
const FILE_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Make the forms work.
 * @param {import("../../wallet/wallet.js").Wallet} wallet
 * @param {{onRead: () => Promise<string>}} options `onRead` is called after a file was taken in, and
 *   returns what else there is to say
 */
export function backupForms(wallet, { onRead }) {
  onSubmit("export", ["passphrase", "again"], () => writeFile(wallet));
  onSubmit("import", ["file", "passphrase"], () => readFile(wallet), onRead);
}

/** Something is wrong with a field. */
class FieldError extends Error {
  name = "FieldError";

  constructor(field, message) {
    super(message);
    this.field = field;
  }
}

function onSubmit(form, names, act, next = async () => "") {
  const element = byId(`${form}-form`, HTMLFormElement);
  const button = byId(`${form}-button`, HTMLButtonElement);
  const done = byId(`${form}-done`);
  const fields = names.map((name) => fieldOf(`${form}-${name}`));
  const place = byId(`${form}-error`);
  element.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (button.disabled) return;
    button.disabled = true;
    done.textContent = "";
    for (const field of fields) showError(field, place, "");
    try {
      const text = await act();
      done.textContent = text;
      element.reset();
      // This may wait for the network, so what was done is said first.
      next().then((more) => done.append(more && ` ${more}`));
    } catch (error) {
      const text = error instanceof FieldError ? error.message : textFor(error);
      showError(error.field ?? fields.at(-1), place, text);
      focusFirstError(element);
    } finally {
      button.disabled = false;
    }
  });
}

async function writeFile(wallet) {
  const [first, second] = [fieldOf("export-passphrase"), fieldOf("export-again")];
  if ([...first.value].length < PASSPHRASE_LENGTH_MIN) {
    throw new FieldError(first, `Take at least ${PASSPHRASE_LENGTH_MIN} characters.`);
  }
  if (first.value !== second.value) throw new FieldError(second, "The two are not the same.");
  const records = await wallet.exportRecords();
  if (!records.outputs.length && !records.operations.length) {
    throw new FieldError(first, "There is nothing here yet to write.");
  }
  const date = new Date().toISOString().slice(0, 10);
  const material = await makeMaterial(first.value);
  const text = await exportWallet(records, material);
  download(text, "application/json", `my-deeds-${date}.json`);
  await wallet.backup.saved(material);
  return "The file is written. It holds what is here now, and nothing that comes later.";
}

async function readFile(wallet) {
  const field = fieldOf("import-file");
  const file = field.files?.[0];
  if (!file) throw new FieldError(field, "Choose the file first.");
  if (file.size > FILE_BYTES_MAX) throw new FieldError(field, "This is no file of a wallet.");
  const text = await file.text().catch(() => {
    throw new FieldError(field, "The browser cannot read this file.");
  });
  const records = await importWallet(text, fieldOf("import-passphrase").value);
  const { newCount, liveCount } = await wallet.importRecords(records);
  return readText(newCount, liveCount);
}

function fieldOf(id) {
  return byId(id, HTMLInputElement);
}

function readText(newCount, count) {
  if (!count) return "The file is read. It held nothing.";
  if (!newCount) return "The file is read. All that it holds was here already.";
  return `The file is read. New here: ${newCount} of its ${count} parts.`;
}
