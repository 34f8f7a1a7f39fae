// Is an answer of 200 really the service's? A hotel's login page answers 200 too.

import { isAmount } from "./amounts.js";

const STATES = new Set(["unspent", "spent", "unknown"]);

export function isSwapAnswer(answer) {
  return answer?.success === true;
}

/** @param {{amount: number, secret: string}[]} asked */
export function isMintAnswer(answer, asked) {
  const made = answer?.outputs;
  return (
    isItemId(answer?.itemId) &&
    Array.isArray(made) &&
    made.length === asked.length &&
    asked.every(({ amount, secret }, place) => {
      const output = made[place];
      return output?.amount === amount && output.secret === secret;
    })
  );
}

export function isCheckAnswer(answer, count) {
  const states = answer?.states;
  return (
    Array.isArray(states) && states.length === count && states.every((state) => STATES.has(state))
  );
}

export function isItemAnswer(answer, id) {
  const metadata = answer?.metadata ?? null;
  return (
    answer?.id === id &&
    isAmount(answer.total) &&
    (metadata === null || typeof metadata === "string")
  );
}

function isItemId(value) {
  return typeof value === "string" && /^deed_[^.]+$/.test(value);
}
