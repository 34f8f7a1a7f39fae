// Replaces the timers of this process by ones that a test sets forward.

import { setImmediate } from "node:timers/promises";

/** Return a clock. Its `until` runs the timers up to a number of seconds. */
export function makeClock() {
  const timers = [];
  let now = 0;
  performance.now = () => now;
  globalThis.setTimeout = (run, delayMs) => timers.push({ run, time: now + delayMs });
  return {
    seconds: () => now / 1000,
    until: async function until(seconds) {
      await setImmediate();
      const times = timers.map(({ time }) => time);
      const first = timers.find(({ time }) => time === Math.min(...times));
      if (!first || first.time > 1000 * seconds) return void (now = 1000 * seconds);
      timers.splice(timers.indexOf(first), 1);
      now = first.time;
      first.run();
      await until(seconds);
    },
  };
}
