// Asks the service what it knows of outputs and of their items, until it has said so.

import { formatRawOutput } from "../../format/raw_output.js";
import { NoAnswerError } from "../../wallet/api.js";
import { keyOf } from "../../wallet/records.js";
import { delayMs } from "../open_wallet.js";

/**
 * Return what looks.
 * @param {{
 *   check: ((rawOutputs: string[]) => Promise<string[]>) | null, readItem: (itemId: string) =>
 *   Promise<import("../../wallet/records.js").Item>, onChange: () => void, schedule?: Function,
 * }} parts without `check` it asks for the items alone; `onChange` is called when more is known
 */
export function makeLooking({ check, readItem, onChange, schedule = setTimeout }) {
  const states = new Map();
  const items = new Map();
  let wanted = [];
  let problem = null;

  /** Ask for what is not known yet; again later, if the service cannot say it now. */
  async function ask(outputs, triesCount = 1) {
    const itemIds = new Set(outputs.map(({ itemId }) => itemId));
    const missing = [...itemIds].filter((itemId) => !items.has(itemId));
    const ended = await Promise.allSettled([askStates(outputs), ...missing.map(askItem)]);
    const problems = ended.flatMap((each) => ("reason" in each ? each.reason : []));
    if (outputs !== wanted) return;
    problem = problems[0] ?? null;
    onChange();
    const passing = problems.filter(isPassing).map((each) => ({ problem: each }));
    const again = () => outputs === wanted && ask(outputs, triesCount + 1);
    if (passing.length) schedule(again, delayMs(passing, triesCount));
  }

  async function askStates(outputs) {
    const missing = outputs.filter((output) => !states.has(keyOf(output)));
    if (!check || !missing.length) return;
    const found = await check(missing.map(formatRawOutput));
    missing.forEach((output, place) => states.set(keyOf(output), found[place]));
    onChange();
  }

  async function askItem(itemId) {
    const item = await readItem(itemId).catch((error) => {
      if (error.code !== "item_not_found") throw error;
      return null;
    });
    items.set(itemId, item);
    onChange();
  }

  return {
    /** Look at these outputs and at nothing else; what was known of `again` is asked again. */
    look(outputs, again = []) {
      for (const output of again) states.delete(keyOf(output));
      wanted = [...outputs];
      return ask(wanted);
    },
    stateOf: (output) => states.get(keyOf(output)),
    /** Return the item, null if it does not exist, undefined if that is not known yet. */
    itemOf: ({ itemId }) => items.get(itemId),
    problem: () => problem,
  };
}

const isPassing = (error) =>
  error instanceof NoAnswerError || error.status === 429 || error.status >= 500;
