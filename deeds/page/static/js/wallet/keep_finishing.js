// Sends again what was begun and has no answer yet, as long as the page is open.

const FIRST_DELAY_MS = 2_000;
const DELAY_MS_MAX = 60_000;

/**
 * Finish what was begun, now and again after growing delays, until nothing is left to finish.
 * @param {object} parts
 * @param {{finishBegun: () => Promise<import("./wallet.js").Outcome[]>}} parts.wallet
 * @param {(outcomes: import("./wallet.js").Outcome[]) => void} parts.onOutcomes called after each
 *   try that had something to finish
 * @param {(error: unknown) => void} parts.onError called when the store fails; that ends it
 * @param {(run: () => void, delayMs: number) => unknown} [parts.schedule]
 * @returns {() => void} wakes it up: call it after a verb has left something begun, and when the
 *   browser is online again
 */
export function keepFinishing({ wallet, onOutcomes, onError, schedule = setTimeout }) {
  let isRunning = false;
  let isWoken = false;
  let turn = 0;
  let triesCount = 0;

  async function run(wantedTurn) {
    // A delay that was overtaken by a wake-up.
    if (isRunning || wantedTurn !== turn) return;
    isRunning = true;
    try {
      const outcomes = await wallet.finishBegun();
      if (outcomes.length) onOutcomes(outcomes);
      const left = outcomes.filter(({ operation }) => operation.state === "begun");
      if (left.length) again(delayMs(left, (triesCount += 1)));
    } catch (error) {
      onError(error);
    } finally {
      isRunning = false;
      // What was begun since this run looked is not among its outcomes.
      if (isWoken) wake();
    }
  }

  function again(delay) {
    turn += 1;
    const wantedTurn = turn;
    schedule(() => run(wantedTurn), delay);
  }

  function wake() {
    triesCount = 0;
    isWoken = isRunning;
    if (!isRunning) again(0);
  }

  wake();
  return wake;
}

/** Return how long to wait: twice as long each time, and never less than the service asked for. */
export function delayMs(left, triesCount) {
  const asked = left.map(({ problem }) => 1000 * (problem?.retryAfterS ?? 0));
  return Math.max(...asked, Math.min(FIRST_DELAY_MS * 2 ** (triesCount - 1), DELAY_MS_MAX));
}
