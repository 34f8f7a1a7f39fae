// What the Claim page was given, looked at and taken: it joins the list, the service, the wallet and
// what is drawn of them.

import { refusalText } from "../../texts/operations.js";
import { textFor } from "../../texts/problems.js";
import { delayMs } from "../../wallet/keep_finishing.js";
import { keyOf } from "../../wallet/records.js";
import { askToKeep } from "../../wallet/store.js";
import { whenEnded } from "../open_wallet.js";
import { makeLooking } from "./looking.js";
import { claimState, isKept, isOver } from "./state.js";

/** What another tab did in the meantime is drawn, and no mistake. */
const OVERTAKEN = new Set(["already_held", "already_spent", "spent_elsewhere"]);

/**
 * Return what takes and shows.
 * @param {object} parts
 * @param {ReturnType<typeof import("./list.js").makeClaimList>} parts.list
 * @param {ReturnType<typeof import("./view.js").claimView>} parts.view
 * @param {import("../../wallet/api.js").Api} parts.api
 * @param {import("../../wallet/wallet.js").Wallet} [parts.wallet] with its store, where the browser
 *   can have one
 * @param {import("../../wallet/store.js").Store} [parts.store]
 * @param {() => void} [parts.wake] sends again what is begun, see open_wallet.js
 * @param {boolean} [parts.isAsked] whether a secret may be sent to ask for its state
 */
export function makeClaims({
  list,
  view,
  api,
  wallet,
  store,
  wake = () => {},
  isAsked = isSecureContext,
}) {
  /** Why an operation has not ended, by its key. */
  const problems = new Map();
  let states = new Map();
  let drawsCount = 0;
  /** What the latest draw promises. */
  let drawn = Promise.resolve();
  const looking = makeLooking({
    check: isAsked ? api.check : null,
    readItem: wallet ? wallet.item : api.item,
    onChange: draw,
  });

  /** Show what is known by now; the promise resolves once that, or something newer, is shown. */
  function draw() {
    drawsCount += 1;
    drawn = drawUnlessOvertaken(drawsCount);
    return drawn;
  }

  async function drawUnlessOvertaken(thisDraw) {
    const records = await readRecords(list.all());
    // Another one began to read later than this.
    if (thisDraw !== drawsCount) return drawn;
    const rows = list.all().map((output, place) => rowOf(output, records[place]));
    states = new Map(rows.map(({ output, state }) => [keyOf(output), state]));
    list.forget(rows.filter(({ state }) => isKept(state)).map(({ output }) => output));
    view.draw(rows, Boolean(wallet));
  }

  async function readRecords(outputs) {
    if (!store) return outputs.map(() => ({}));
    const wanted = {
      outputs: outputs.map(keyOf),
      next: (slices) => ({
        operations: outputs.flatMap((each) => slices.outputs.get(keyOf(each))?.operation ?? []),
      }),
    };
    return store.read(wanted, (slices) =>
      outputs.map((output) => {
        const record = slices.outputs.get(keyOf(output));
        const key = record?.operation;
        return { record, operation: key && slices.operations.get(key) };
      }),
    );
  }

  function rowOf(output, { record, operation }) {
    const problem = problems.get(operation?.key) ?? looking.problem();
    const found = looking.stateOf(output);
    return {
      output,
      item: looking.itemOf(output),
      state: claimState({ record, operation, found, problem, isAsked }),
    };
  }

  const stateOf = (output) => states.get(keyOf(output)) ?? { kind: "asking" };

  async function takeOne(output) {
    if (!wallet || !store) return;
    const outcome = await wallet.claim(output).catch(nullIfOvertaken);
    if (outcome?.operation.state === "begun") {
      waitFor(outcome, output, store).catch((error) => view.tell(textFor(error)));
    }
    if (outcome?.operation.state === "refused") await tellRefused(outcome.operation, output);
  }

  async function waitFor(outcome, output, store) {
    problems.set(outcome.operation.key, outcome.problem);
    draw();
    // No sooner than the service said.
    setTimeout(wake, delayMs([outcome], 1));
    const operation = await whenEnded(store, outcome.operation.key);
    if (operation.state === "refused") await tellRefused(operation, output);
    await draw();
    view.focusOutcome();
  }

  /** Say why, and ask what the output is now. */
  async function tellRefused(operation, output) {
    view.tell(refusalText(operation));
    await looking.look(list.all(), [output]);
  }

  store?.onChange(draw);

  return {
    /** Show these beside what is shown, in the place of what is over. */
    async receive(outputs) {
      list.drop(list.all().filter((output) => isOver(stateOf(output))));
      list.add(outputs);
      await this.show(outputs);
    },

    /** Show what there is, and ask for it. */
    async show(outputs = []) {
      if (!list.all().length) return;
      view.setAdding(false);
      view.setLooking(true);
      const looked = looking.look(list.all(), outputs);
      await draw();
      view.focusFound();
      await looked;
      await draw();
      view.setLooking(false);
    },

    /** Take custody of all that can be taken, one after the other. */
    async take() {
      view.setBusy(true);
      view.tell("");
      askToKeep();
      const free = list.all().filter((output) => stateOf(output).canTake);
      try {
        for (const output of free) await takeOne(output);
      } catch (error) {
        view.tell(textFor(error));
      }
      view.setBusy(false);
      await draw();
      view.focusOutcome();
    },

    /** Forget what is shown; what is on its way goes on. */
    async putAway() {
      list.drop(list.all());
      await draw();
    },

    /** Note why operations have not ended, and show it. */
    note(outcomes) {
      for (const { operation, problem } of outcomes) problems.set(operation.key, problem);
      draw();
    },
  };
}

function nullIfOvertaken(error) {
  if (OVERTAKEN.has(error.code)) return null;
  throw error;
}
