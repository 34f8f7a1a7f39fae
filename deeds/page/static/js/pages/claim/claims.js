// What the Claim page was given, looked at and claimed: it joins the list, the service, the wallet
// and what is drawn of them.

import { refusalText } from "../../texts/operations.js";
import { textFor } from "../../texts/problems.js";
import { likenessOf } from "../../ui/card.js";
import { findOrigins, originAs } from "../../wallet/origin.js";
import { keyOf } from "../../wallet/records.js";
import { askToKeep } from "../../wallet/store.js";
import { whenEnded } from "../open_wallet.js";
import { makeLooking } from "./looking.js";
import { claimState, isKept, isOver, offerOf } from "./state.js";

/** What another tab did in the meantime is drawn, and no mistake. */
const OVERTAKEN = new Set(["already_held", "already_spent", "spent_elsewhere"]);

/**
 * Return what claims and shows. There is a wallet with its store where the browser can have one.
 * @param {{
 *   list: ReturnType<typeof import("./list.js").makeClaimList>,
 *   view: ReturnType<typeof import("./view.js").claimView>, api: import("../../wallet/api.js").Api,
 *   wallet?: import("../../wallet/wallet.js").Wallet, store?: import("../../wallet/store.js").Store,
 *   wake?: (problem?: any) => void, isAsked?: boolean,
 * }} parts `wake` sends again what is begun, see open_wallet.js; `isAsked` tells whether a secret may
 *   be sent to ask for its state
 */
export function makeClaims({ list, view, api, wallet, store, wake, isAsked = isSecureContext }) {
  /** Why an operation has not ended, by its key. */
  const problems = new Map();
  /** What is said of items before any of them is claimed here, by their ids. */
  const origins = new Map();
  let rows = [];
  let isTaking = false;
  let drawsCount = 0;
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
    await addOrigins(list.all().map(looking.itemOf));
    const records = await readRecords(list.all());
    // Another one began to read later than this.
    if (thisDraw !== drawsCount) return drawn;
    rows = list.all().map((output, place) => rowOf(output, records[place]));
    list.forget(rows.filter(({ state }) => isKept(state)).map(({ output }) => output));
    view.draw(rows, Boolean(wallet));
  }

  async function addOrigins(items) {
    const missing = new Set(items.filter((item) => item && !origins.has(item.id)));
    if (!store || !missing.size) return;
    const found = await findOrigins(store, [...missing], likenessOf);
    for (const [itemId, origin] of found) origins.set(itemId, origin);
  }

  async function readRecords(outputs) {
    if (!store) return outputs.map(() => ({}));
    const keys = outputs.map(keyOf);
    const operationOf = (slices, key) => slices.outputs.get(key)?.operation ?? [];
    const next = (slices) => ({ operations: keys.flatMap((key) => operationOf(slices, key)) });
    return store.read({ outputs: keys, next }, (slices) =>
      keys.map((key) => {
        const record = slices.outputs.get(key);
        return { record, operation: record?.operation && slices.operations.get(record.operation) };
      }),
    );
  }

  function rowOf(output, { record, operation }) {
    const problem = problems.get(operation?.key) ?? looking.problem();
    const found = looking.stateOf(output);
    const state = claimState({ record, operation, found, problem, isAsked });
    const item = looking.itemOf(output);
    const isLost = item === null || (item === undefined && looking.problem());
    const origin = origins.get(output.itemId) ?? (isLost ? originAs("unknown") : undefined);
    return { output, state, item, origin };
  }

  async function takeOne(output) {
    if (!wallet || !store) return;
    const outcome = await wallet.claim(output, { unit: output.unit }).catch((error) => {
      if (!OVERTAKEN.has(error.code)) throw error;
    });
    if (outcome?.operation.state === "begun") {
      const ended = waitFor(outcome, output, store).catch((error) => view.tell(textFor(error)));
      // While the service says to wait, nothing more is claimed either.
      if (outcome.problem?.retryAfterS) await ended;
    }
    if (outcome?.operation.state === "refused") await tellRefused(outcome.operation, output);
  }

  async function waitFor(outcome, output, store) {
    problems.set(outcome.operation.key, outcome.problem);
    draw();
    wake?.(outcome.problem);
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

  // While many are claimed each is some changes: all are drawn at the end.
  store?.onChange(() => (isTaking && rows.length > 1 ? undefined : draw()));

  return {
    /** Show these beside what is shown, in the place of what is over. */
    async receive(outputs) {
      list.drop(rows.filter(({ state }) => isOver(state)).map(({ output }) => output));
      list.add(outputs);
      await this.show(outputs);
    },

    /** Show what there is, and ask for it. */
    async show(outputs = []) {
      view.setAdding(false);
      view.setLooking(true);
      const looked = looking.look(list.all(), outputs);
      await draw();
      if (list.all().length) view.focusFound();
      await looked;
      await draw();
      view.setLooking(false);
    },

    /** Claim what is offered, one after the other: each is a swap of its own. */
    async take() {
      const wanted = offerOf(rows).rows;
      isTaking = true;
      view.setBusy(true);
      view.tell("");
      askToKeep();
      try {
        for (const [place, { output }] of wanted.entries()) {
          if (wanted.length > 1) view.setBusy(true, `Claiming ${place + 1} of ${wanted.length}…`);
          await takeOne(output);
        }
      } catch (error) {
        view.tell(textFor(error));
      }
      isTaking = false;
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
