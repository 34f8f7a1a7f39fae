// The wallet's verbs as the page uses them: each until it has ended, and what stands in its way in
// words.

import { untilEnded } from "./open_wallet.js";
import { refusalText } from "./operation_texts.js";
import { textFor } from "./problem_texts.js";

/**
 * @typedef {{operation: import("./records.js").OperationRecord | null, problem: string}} Ended
 *   `problem` is empty where it was done
 */

/**
 * Return what carries out a verb.
 * @param {{store: object, wake: () => void}} opened see open_wallet.js
 * @returns {(verb: () => Promise<import("./wallet.js").Outcome>, onWait: (text: string) => void) =>
 *   Promise<Ended>}
 */
export function verbRunner(opened) {
  return async (verb, onWait) => {
    try {
      const operation = await untilEnded(opened, await verb(), onWait);
      return { operation, problem: operation.state === "refused" ? refusalText(operation) : "" };
    } catch (error) {
      return { operation: null, problem: textFor(error) };
    }
  };
}
