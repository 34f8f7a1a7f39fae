// Sends random requests to fake services: valid, invalid, repeated and late ones.
// tests/page/test_fake_service.py compares the answers with the service's.

import { AMOUNT_MAX } from "../../../../parts/pages/static/js/format/amounts.js";
import {
  formatRawOutput,
  parseRawOutput,
} from "../../../../parts/pages/static/js/format/raw_output.js";
import { ProblemError } from "../../../../parts/pages/static/js/wallet/api.js";
import { keyOf } from "../../../../parts/pages/static/js/wallet/records.js";
import { now, pass } from "./clock.js";
import { fakeService } from "./fake_service.js";
import { Random } from "./random.js";

const SEEDS_COUNT = 10;
const REQUESTS_COUNT = 300;

const WRITES = "mint swap swap makeOffer makeOffer complete complete".split(" ");
const READS = "check find findOffered item offer".split(" ");

// Few of each, so that they meet.
const SECRETS = Array.from({ length: 100 }, (_, place) => `secret ${place}`);
const UNKNOWN = { itemId: "deed_none", amount: 1, secret: "secret" };

class Asker {
  constructor(seed) {
    this.random = new Random(seed);
    this.service = fakeService();
    this.api = this.service.api();
    this.itemIds = [];
    this.asked = []; // What may change something, each with its key.
  }

  async step() {
    const { random } = this;
    if (random.chance(10)) pass(random.pick([1, 10, 30]));
    if (random.chance(3) && this.left().length) return this.wait();
    if (random.chance(30)) return this.ask(...this[random.pick(READS)]());
    if (random.chance(10) && this.asked.length) return this.ask(...this.again());
    const key = random.chance(8)
      ? random.pick(this.asked)?.at(-1)
      : crypto.randomUUID();
    const asked = [...this[random.pick(WRITES)](), key];
    this.asked.push(asked);
    return this.ask(...asked);
  }

  async ask(verb, ...given) {
    try {
      const { itemId } = await this.api[verb](...given);
      if (itemId) this.itemIds.push(itemId);
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
    }
  }

  /** Return the offers that may be completed, the first to expire first. */
  left() {
    const at = now();
    return [...this.service.offers]
      .filter(([, offer]) => !offer.isCompleted && offer.expiresAt > at)
      .sort(([, one], [, other]) => one.expiresAt - other.expiresAt);
  }

  /** Ask for an offer as it expires, or a moment before. */
  wait() {
    const [[id, { expiresAt }]] = this.left();
    pass(Math.max(0, Math.floor((expiresAt - now()) / 1000) - 1));
    const last = expiresAt - this.random.pick([1, 2]);
    while (now() < last);
    return this.ask("offer", id);
  }

  /** Return a request that was sent before, in this order or another, or nearly so. */
  again() {
    const [verb, ...given] = structuredClone(this.random.pick(this.asked));
    const body = given.at(-2);
    if (this.random.chance(50)) body.outputs.reverse();
    if (verb === "makeOffer" && this.random.chance(20)) body.expiresIn = 180;
    if (verb === "mint" && this.random.chance(20)) body.metadata = { name: "B" };
    return [verb, ...given];
  }

  mint() {
    const { random } = this;
    const amount = random.chance(5) ? AMOUNT_MAX : 1 + random.below(3);
    const names = this.some(() => random.pick(SECRETS));
    const metadata = random.pick([undefined, {}, { name: "Ä", description: "b" }]);
    return ["mint", { outputs: names.map((secret) => ({ amount, secret })), metadata }];
  }

  swap() {
    const inputs = this.some(() => this.held());
    return ["swap", { inputs, outputs: this.made(inputs) }];
  }

  makeOffer() {
    const { random } = this;
    const inputs = this.some(() => this.held(), 0);
    const got = random.chance(70) ? this.some(() => this.held()) : inputs;
    const expiresIn = random.pick([undefined, 60, 120]);
    return ["makeOffer", { inputs, outputs: this.made(got), expiresIn }];
  }

  complete() {
    const { random } = this;
    const all = random.chance(80) ? this.left() : [];
    const [id, offer] = random.pick(all.length ? all : [...this.service.offers]) ?? [];
    if (!offer || random.chance(5)) {
      const [, body] = this.swap();
      return ["complete", "offer_none", body];
    }
    const pays = offer.outputs.map((raw) => this.held(raw));
    const inputs = random.chance(80) ? pays : this.some(() => this.held());
    const outputs = this.made(offer.inputs.map(formatRawOutput));
    if (random.chance(25)) {
      // What the other half has already.
      const twice = random.pick([...offer.inputs, ...offer.outputs]);
      const text = formatRawOutput(twice);
      const pairs = [
        [text, ...this.made([text])],
        [this.held(twice), text],
      ];
      const [input, output] = random.pick(pairs);
      inputs.push(input);
      outputs.push(output);
    }
    return ["complete", id, { inputs, outputs }];
  }

  // The page asks for many in parts.
  check = () => ["check", [this.held(), this.held()]];
  find = () => ["find", ...this.named([...this.service.outputs.keys()])];
  findOffered() {
    const offered = [...this.service.offers.values()].flatMap(({ outputs }) => outputs);
    return ["findOffered", ...this.named(offered.map(keyOf))];
  }
  item = () => ["item", this.itemId()];
  offer = () => ["offer", this.complete()[1]];

  /** Return an item and some secrets, about every second one that of a key. */
  named(keys) {
    const { random } = this;
    const [itemId, secret] = (random.pick(keys) ?? keyOf(UNKNOWN)).split(".");
    const secrets = this.some(() => random.pick([secret, random.pick(SECRETS)]));
    return [random.chance(10) ? this.itemId() : itemId, secrets];
  }

  itemId = () => this.random.pick(this.itemIds.slice(-6).concat(UNKNOWN.itemId));

  /** Return some of what `make` returns, rarely none, one twice, or too many. */
  some(make, least = 1) {
    const { random } = this;
    const made = Array.from({ length: least + random.below(3) }, make);
    if (random.chance(2)) return [];
    if (random.chance(2)) return Array.from({ length: 257 }, () => made[0] ?? make());
    return made.length && random.chance(8) ? [...made, random.pick(made)] : made;
  }

  /** Return an output, rarely a spent one; if possible of this item and amount. */
  held(wanted = {}) {
    const { random, service } = this;
    const isAny = random.chance(8);
    const all = [...service.outputs].filter(([, { spent }]) => isAny || !spent);
    const raws = all.map(([key, { amount }]) => {
      const [itemId, secret] = key.split(".");
      return { itemId, secret, amount };
    });
    const isWanted = ({ itemId, amount }) =>
      itemId === wanted.itemId && amount === wanted.amount;
    const some = raws.filter(isWanted);
    const raw = random.pick(some.length ? some : raws.slice(-30)) ?? UNKNOWN;
    return formatRawOutput(this.changed(raw, random.pick(SECRETS)));
  }

  /** Return outputs of the same amounts under other secrets, or nearly so. */
  made(inputs) {
    return inputs.map((text) => {
      const made = { ...parseRawOutput(text), secret: this.random.pick(SECRETS) };
      return formatRawOutput(this.changed(made, this.random.pick(SECRETS)));
    });
  }

  /** Return an output with something changed, rarely. */
  changed(raw, secret) {
    if (!this.random.chance(8)) return raw;
    const amount = 1 + (raw.amount % 4);
    const others = [{ secret }, { amount }, { itemId: this.itemId() }];
    return { ...raw, ...this.random.pick(others) };
  }
}

for (let seed = 1; seed <= SEEDS_COUNT; seed += 1) {
  const asker = new Asker(seed);
  for (let count = 0; count < REQUESTS_COUNT; count += 1) await asker.step();
}
