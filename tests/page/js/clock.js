// Time that passes when a test says so, in the place of this process's own.

import { setImmediate } from "node:timers/promises";

/** A clock in seconds, of which `until` lets pass so many. */
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
