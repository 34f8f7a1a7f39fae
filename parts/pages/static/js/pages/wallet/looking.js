// Looks for what was moved since a backup, or by another copy of this wallet: after a
// restore, by hand, and by itself where a look was broken off.

import { gettext } from "../../format/gettext.js";
import { textFor } from "../../texts.js";
import { isLive } from "../../wallet/states.js";
import { valueText } from "./restore_form.js";

const OUT_OF_REACH = gettext(
  "The service can't be reached. We'll check again when it can.",
);

const problemText = (error) =>
  error.name === "NoAnswerError" ? OUT_OF_REACH : textFor(error);

const progressText = (done, of) =>
  gettext("Checking for missing deeds: {done} of {count}", { done, count: of });

/**
 * Return what looks, one look after the other, and returns what to say of it: what was
 * found, by value, or why it has to wait; nothing if nothing is new.
 * @param {Pick<import("../open_wallet.js").Opened, "wallet" | "store">
 *   & {itemOf: import("../../texts.js").ItemOf}} tools
 * @param {(text: string) => void} show is told how far it is, and in the end the same
 * @returns {(options?: {isDueOnly?: boolean, onWait?: (text: string) => unknown}) => Promise<string>}
 *   with `isDueOnly` it looks only if a look was broken off
 */
export function makeLooker({ wallet, store, itemOf }, show) {
  let last = Promise.resolve("");

  async function look(onWait, isWhole) {
    const since = Date.now();
    const onProgress = (done, of) => onWait(progressText(done, of));
    await wallet.look({ isWhole, onProgress });
    await wallet.checkStates();
    const found = await store.read({ outputs: "all" }, ({ outputs }) =>
      outputs.list().filter(({ foundAt = 0 }) => foundAt >= since),
    );
    const value = valueText(found.filter(isLive), itemOf);
    return value && gettext("Found: {value}.", { value });
  }

  async function lookOnce({ isDueOnly = false, onWait = show } = {}) {
    if (isDueOnly && !(await wallet.isLookDue().catch(() => false))) return "";
    const text = await look(onWait, !isDueOnly).catch(problemText);
    show(text);
    return text;
  }

  return (options) => (last = last.then(() => lookOnce(options)));
}
