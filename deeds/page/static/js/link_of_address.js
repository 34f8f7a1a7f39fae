// Takes what a claim link holds out of the address bar, and calls it once for each link.

import { outputOfFragment } from "./claim_link.js";

/**
 * Read the fragment now and whenever it changes, and take it away from the address and from this
 * entry of the history before anything else is done.
 * @param {object} on
 * @param {(output: import("./raw_output.js").RawOutput) => void} on.onOutput
 * @param {(error: Error) => void} on.onError
 */
export function readAddress({ onOutput, onError }) {
  const read = () => {
    const fragment = location.hash;
    // A place in the page, where the skip link leads.
    if (!fragment || document.getElementById(fragment.slice(1))) return;
    history.replaceState(history.state, "", location.pathname + location.search);
    let found;
    try {
      found = outputOfFragment(fragment);
    } catch (unreadable) {
      onError(unreadable);
      return;
    }
    onOutput(found);
  };
  window.addEventListener("hashchange", read);
  read();
}
