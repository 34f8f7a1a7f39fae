// Decides when to repeat requests that have not ended, and queries whose answers may
// change.

/** Delay before the first repetition. */
const STEP_MS = 2_000;
/** Maximum delay after repeated failures, in steps. */
const STEPS_MAX = 30;
const ROUND_MS = 20_000;

/**
 * Return a function that runs `act` at once, or soon if it is given a `problem`. Then
 * `act` runs again by itself until it is over: after `stepMs`, which may change with
 * time. While it fails, the delay doubles each time. It is never shorter than the
 * service asked for.
 * @param {() => Promise<any[] | null>} act returns the problems that it met, an empty
 *   list if it did not fail, or null once it is over; it must not throw
 * @returns {(problem?: any) => Promise<void> | void}
 */
export function keepTrying(act, stepMs = () => STEP_MS) {
  let isRunning = false;
  let wokenAfter = Infinity;
  let turn = 0;
  let failuresCount = 0;
  let notBefore = 0;

  async function run() {
    turn += 1;
    isRunning = true;
    const problems = await act();
    isRunning = false;
    problems?.forEach(heed);
    failuresCount = problems?.length ? failuresCount + 1 : 0;
    const stepsCount = Math.min(2 ** Math.max(0, failuresCount - 1), STEPS_MAX);
    // This run may have missed an operation that has begun since.
    const delay = Math.min(wokenAfter, problems ? stepMs() * stepsCount : Infinity);
    wokenAfter = Infinity;
    if (delay < Infinity) runAfter(delay);
  }

  function runAfter(wantedMs) {
    // A monotonic clock: the device's time may be changed.
    const delayMs = Math.max(wantedMs, notBefore - performance.now());
    if (delayMs <= 0) return run();
    turn += 1;
    const mine = turn;
    // Skip a run that was replaced.
    setTimeout(() => mine === turn && run(), delayMs);
  }

  function heed(problem) {
    const restMs = 1000 * (problem?.retryAfterS ?? 0);
    notBefore = Math.max(notBefore, performance.now() + restMs);
  }

  return (problem) => {
    heed(problem);
    failuresCount = 0;
    const delay = problem ? stepMs() : 0;
    if (!isRunning) return runAfter(delay);
    wokenAfter = Math.min(wokenAfter, delay);
  };
}

/**
 * Call `checkRound` every `roundMs` (20 seconds) while it `isWanted` and the page is
 * visible, less often while it fails, and never again once it `isOver`.
 * @param {{
 *   checkRound: () => Promise<unknown>, isWanted?: () => boolean, isOver?: () => boolean,
 *   roundMs?: () => number,
 * }} parts `isWanted`: whether something waits
 * @returns {() => Promise<void> | void} asks at once, unless there has just been an
 *   answer
 */
export function keepAsking({
  checkRound,
  isWanted = () => true,
  isOver = () => false,
  roundMs = () => ROUND_MS,
}) {
  let restsUntil = 0;

  async function ask() {
    if (isOver()) return null;
    // Browsers announce a returning person by several events.
    if (performance.now() < restsUntil || document.hidden || !isWanted()) return [];
    try {
      await checkRound();
      restsUntil = performance.now() + roundMs() / 10;
      return [];
    } catch (error) {
      return [error];
    }
  }

  return keepTrying(ask, roundMs);
}

/**
 * Finish what has begun, now and until nothing is left. `onError` is called if the
 * store fails, which ends it. Return a function to call after something has begun, or
 * once the network is back.
 * @param {{
 *   finishBegun: () => Promise<import("../wallet/wallet.js").Outcome[]>, onError: (error: any) => void,
 *   onOutcomes?: (outcomes: import("../wallet/wallet.js").Outcome[]) => void,
 * }} parts `onOutcomes` is called after each try
 */
export function keepFinishing({ finishBegun, onOutcomes = () => {}, onError }) {
  const wake = keepTrying(async () => {
    try {
      const outcomes = await finishBegun();
      if (outcomes.length) onOutcomes(outcomes);
      const left = outcomes.filter(({ operation }) => operation.state === "begun");
      return left.length ? left.map(({ problem }) => problem) : null;
    } catch (error) {
      onError(error);
      return null;
    }
  });
  wake();
  return wake;
}
