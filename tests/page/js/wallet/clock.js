// One clock for wallets and their service, which tests set forward.

let time = 0;

/** Return the time in milliseconds. No two calls return the same. */
export function now() {
  time += 1;
  return time;
}

/** Let seconds pass. */
export function pass(seconds) {
  time += 1000 * seconds;
}
