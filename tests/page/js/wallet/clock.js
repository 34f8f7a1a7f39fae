// One clock for wallets and their service, which a test can turn on.

let time = 0;

/** Return the time, in milliseconds; it never shows one time twice. */
export function now() {
  time += 1;
  return time;
}

/** Let so many seconds pass. */
export function pass(seconds) {
  time += 1000 * seconds;
}
