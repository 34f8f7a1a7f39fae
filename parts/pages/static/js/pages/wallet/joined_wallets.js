// What is asked before a file is taken in: whose it is, and where too many wallets are
// joined already, whether those of which nothing is left may be let go of.

import { gettext, ngettext } from "../../format/gettext.js";
import { makeButton } from "../../ui/dom.js";
import { openDialog } from "../../ui/forms.js";
import { WalletError } from "../../wallet/records.js";

/** Take in a file, and return what it brought, see `importRecords`. */
export async function importOrAsk(
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
    await askToForget(empty, opener);
    await wallet.forgetSeeds(empty);
    return wallet.importRecords(records, { isOwn });
  }
}

function askToForget(empty, opener) {
  const lead = ngettext(
    "Too many wallets are joined here already. Nothing seems to be left of {count} of them.",
    "Too many wallets are joined here already. Nothing seems to be left of {count} of them.",
    empty.length,
  );
  return askBefore({
    title: gettext("Remove an empty wallet?"),
    content: [lead],
    choices: [[gettext("Remove and restore"), true]],
    opener,
  });
}

/**
 * Ask a person, and return the value of what they choose.
 * @param {import("../../ui/forms.js").Parts & {choices: [text: string, value: boolean][]}} asked
 * @returns {Promise<boolean>}
 * @throws {WalletError} `cancelled`: nothing was chosen
 */
export function askBefore({ choices, ...parts }) {
  return new Promise((resolve, reject) => {
    const nothing = gettext("Nothing was restored.");
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
      onClose: () => reject(new WalletError("cancelled", nothing)),
    });
  });
}
