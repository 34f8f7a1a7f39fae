// Random choices that are the same for the same seed.

export class Random {
  #state;

  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /**
   * Return a whole number from 0 to below `count`: a linear congruential generator's
   * high bits.
   */
  below(count) {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * count);
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  chance(percent) {
    return this.below(100) < percent;
  }
}
