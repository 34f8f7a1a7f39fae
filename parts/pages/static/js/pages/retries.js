// When something is done again that did not end, or is to be asked again: one rule for
// what is sent, looked for and asked.

/** How long until it is tried again, the first time. */
const STEP_MS = 2_000;
/** What failed often is tried again after so many of these, at most. */
const STEPS_MAX = 30;
const ROUND_MS = 20_000;

/**
 * Return what does it at each call at once, or after a `problem` soon; and then again
 * by itself until it is over: after `stepMs`, which may change with time, while it fails
 * after twice as long each time, and never sooner than the service said.
 * @param {() => Promise<any[] | null>} act returns the problems that it met, none of them where it
 *   did not fail, or null once it is over; it may not throw
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
    // What was begun since this run looked may have been left out.
    const delay = Math.min(wokenAfter, problems ? stepMs() * stepsCount : Infinity);
    wokenAfter = Infinity;
    if (delay < Infinity) runAfter(delay);
  }

  function runAfter(wantedMs) {
    // Whatever is done to the device's time.
    const delayMs = Math.max(wantedMs, notBefore - performance.now());
    if (delayMs <= 0) return run();
    turn += 1;
    const mine = turn;
    // What was overtaken is not done.
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
 * Ask every 20 seconds (`roundMs`) while it is wanted and a person can see the page,
 * more and more rarely while it fails, and no more once it is over.
 * @param {{
 *   checkRound: () => Promise<unknown>, isWanted?: () => boolean, isOver?: () => boolean,
 *   roundMs?: () => number,
 * }} parts `isWanted` is whether something waits
 * @returns {() => Promise<void> | void} asks at once, unless there has just been an answer
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
    // The browser says in more ways than one that a person is back.
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
 * Finish what was begun, now and until nothing is left to finish. `onError` is called
 * when the store fails, which ends it. Return what wakes it up, after a verb has left
 * something begun or once online again.
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
