// What the Claim page was given, looked at and claimed: it joins the list, the service, the wallet
// and what is drawn of them.

import { refusalText } from "../../texts/operations.js";
import { textFor } from "../../texts/problems.js";
import { metadataOf } from "../../ui/card.js";
import { delayMs } from "../../wallet/keep_finishing.js";
import { originOf, relatedTo } from "../../wallet/origin.js";
import { keyOf } from "../../wallet/records.js";
import { askToKeep } from "../../wallet/store.js";
import { whenEnded } from "../open_wallet.js";
import { makeLooking } from "./looking.js";
import { claimState, isKept, isOver, offerOf } from "./state.js";

/** What another tab did in the meantime is drawn, and no mistake. */
const OVERTAKEN = new Set(["already_held", "already_spent", "spent_elsewhere"]);

const named = (item) => ({ ...item, name: metadataOf(item).name ?? "" });

/** An output that the wallet has, or has had; it may only have been looked at. */
const isOwn = ({ state }) => state !== "offered" && state !== "void";

/**
 * Return what claims and shows.
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
  /** What is said of items before any of them is claimed here, by their ids. */
  const origins = new Map();
  let rows = [];
  let isTaking = false;
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
    for (const item of list.all().map(looking.itemOf)) await addOrigin(item);
    const records = await readRecords(list.all());
    // Another one began to read later than this.
    if (thisDraw !== drawsCount) return drawn;
    const found = list.all().map((output, place) => rowOf(output, records[place]));
    rows = found.map((row) => ({ ...row, origin: origins.get(row.output.itemId) }));
    list.forget(rows.filter(({ state }) => isKept(state)).map(({ output }) => output));
    view.draw(rows, Boolean(wallet));
  }

  async function addOrigin(item) {
    if (!item || !store || origins.has(item.id)) return;
    const related = ({ items }) => relatedTo(named(item), items.list().map(named));
    const unsure = (slices) => related(slices).filter(({ isMinted }) => !isMinted);
    /** @type {import("../../wallet/records.js").Plan} */
    const wanted = {
      items: "all",
      next: (slices) => ({ outputs: unsure(slices).map(({ id }) => ({ itemId: id })) }),
    };
    const known = await store.read(wanted, (slices) => {
      const isHere = ({ id }) => slices.outputs.list({ itemId: id }).some(isOwn);
      return related(slices).filter((each) => each.isMinted || isHere(each));
    });
    origins.set(item.id, originOf(named(item), known));
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

  async function takeOne(output) {
    if (!wallet || !store) return;
    const outcome = await wallet.claim(output, { unit: output.unit }).catch(nullIfOvertaken);
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

  /** Claim one after the other: each is a swap of its own. */
  async function takeAll(outputs) {
    for (const [place, output] of outputs.entries()) {
      if (outputs.length > 1) view.setBusy(true, `Claiming ${place + 1} of ${outputs.length}…`);
      await takeOne(output);
    }
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

    /** Claim what is offered. */
    async take() {
      isTaking = true;
      view.setBusy(true);
      view.tell("");
      askToKeep();
      try {
        await takeAll(offerOf(rows).rows.map(({ output }) => output));
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

function nullIfOvertaken(error) {
  if (OVERTAKEN.has(error.code)) return null;
  throw error;
}
