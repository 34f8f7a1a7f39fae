// Lets a test choose the order of concurrent calls: each call of a store or an api
// waits until the test gives it its turn.

import { setImmediate } from "node:timers/promises";

import { Random } from "./random.js";

export class Turns {
  #waiting = new Map();

  /** Return the object with functions that wait for a turn of `who`. */
  gated(who, object) {
    return Object.fromEntries(
      Object.entries(object).map(([name, call]) => [
        name,
        async (...given) => {
          await new Promise((resolve) => this.#waiting.set(who, resolve));
          return call(...given);
        },
      ]),
    );
  }

  /**
   * Run all to their ends, one call after another.
   * @param {(count: number) => number} choose which of `count` waiting calls goes on
   */
  async run(promises, choose) {
    let left = promises.length;
    for (const promise of promises) {
      promise.then(
        () => (left -= 1),
        () => (left -= 1),
      );
    }
    for (await setImmediate(); left > 0; await setImmediate()) {
      const waiting = [...this.#waiting.keys()].sort();
      if (!waiting.length) continue;
      const who = waiting[choose(waiting.length)];
      const goOn = this.#waiting.get(who);
      this.#waiting.delete(who);
      goOn();
    }
    return Promise.allSettled(promises);
  }
}

/**
 * Run a test in every order that its calls can have. Return the number of orders.
 * @param {(choose: (count: number) => number) => Promise<void>} run
 */
export async function inEveryOrder(run) {
  let [ordersCount, choices] = [0, []];
  for (;;) {
    const [taken, counts] = [[], []];
    await run((count) => {
      const choice = choices[taken.length] ?? 0;
      taken.push(choice);
      counts.push(count);
      return choice;
    });
    ordersCount += 1;
    // The next in order: the last choice that has an alternative left takes it.
    while (taken.length && taken.at(-1) === counts.at(-1) - 1) {
      taken.pop();
      counts.pop();
    }
    if (!taken.length) return ordersCount;
    choices = [...taken.slice(0, -1), taken.at(-1) + 1];
  }
}

/** Run a test in some random orders, if it makes too many calls to try all. */
export async function inSomeOrders(ordersCount, run) {
  for (let seed = 1; seed <= ordersCount; seed += 1) {
    const random = new Random(seed);
    await run((count) => random.below(count));
  }
}
