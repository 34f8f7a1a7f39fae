// What the Claim page was given, looked at and claimed: it joins the list, the service,
// the wallet and what is drawn of them.

import { gettext } from "../../format/gettext.js";
import { formatRawOutput } from "../../format/raw_output.js";
import { refusalText, textFor } from "../../texts.js";
import { findOrigins, originAs } from "../../ui/origin.js";
import { NoAnswerError } from "../../wallet/api.js";
import { keyOf } from "../../wallet/records.js";
import { askToKeep, inSession } from "../../wallet/store.js";
import { delayMs, oneByOne, recordsOf, untilEnded } from "../open_wallet.js";
import { claimState, isKept, isOpened, isOver, offerOf, ON_ITS_WAY } from "./state.js";

/** What another tab did in the meantime is drawn, and no mistake. */
const OVERTAKEN = new Set(["already_held", "already_claimed"]);

/**
 * Return what claims and shows. There is a wallet with its store where the browser can
 * have one.
 * @param {{
 *   list: ReturnType<typeof makeClaimList>,
 *   view: ReturnType<typeof import("./view.js").claimView>, api: import("../../wallet/api.js").Api,
 *   isAsked?: boolean,
 * } & Partial<import("../open_wallet.js").Opened>} parts `isAsked` tells whether a secret may be sent to
 *   ask for its state
 */
export function makeClaims({
  list,
  view,
  api,
  wallet,
  store,
  wake,
  isAsked = isSecureContext,
}) {
  /** Why an operation has not ended, by its key. */
  const problems = new Map();
  /** What is said of items before any of them is claimed here, by their ids. */
  const origins = new Map();
  let rows = [];
  /** What the last tap claims, until it is done. */
  let taking = new Set();
  const draw = oneByOne(async () => {
    const outputs = list.all();
    // What comes meanwhile is drawn with its origin.
    const items = outputs.map(looking.itemOf);
    await addOrigins(items);
    const known = store && (await recordsOf(store, outputs.map(keyOf)));
    const all = outputs.map((output, place) =>
      rowOf(output, items[place], known?.[place]),
    );
    const isPast = (row) => !isOpened(row) && isOver(row.state);
    rows = all.filter((row) => !isPast(row));
    list.drop(all.filter(isPast).map(({ output }) => output));
    list.forget(rows.filter(({ state }) => isKept(state)).map(({ output }) => output));
    view.draw(rows, Boolean(wallet));
  });
  const looking = makeLooking({
    check: isAsked ? api.check : null,
    readItem: wallet ? wallet.item : api.item,
    onChange: draw,
  });

  async function addOrigins(items) {
    const missing = new Set(items.filter((item) => item && !origins.has(item.id)));
    if (!store || !missing.size) return;
    const found = await findOrigins(store, [...missing]);
    for (const [itemId, origin] of found) origins.set(itemId, origin);
  }

  function rowOf(output, item, known) {
    const problem = problems.get(known?.operation?.key) ?? looking.problem();
    const state = claimState({
      ...known,
      found: looking.stateOf(output),
      problem,
      isAsked,
    });
    const isLost = item === null || (item === undefined && looking.problem());
    const origin =
      origins.get(output.itemId) ?? (isLost ? originAs("unknown") : undefined);
    return asTaken({ output, state, item, origin });
  }

  /**
   * From the tap on it is on its way, whatever is known so far: so nothing moves later.
   */
  function asTaken(row) {
    return row.state.canTake && taking.has(keyOf(row.output))
      ? { ...row, state: ON_ITS_WAY }
      : row;
  }

  async function takeOne(output) {
    if (!wallet || !store || !wake) return;
    const outcome = await wallet.claim(output, { unit: output.unit }).catch((error) => {
      if (!OVERTAKEN.has(error.code)) throw error;
    });
    if (!outcome) return;
    const ended = follow(outcome, output, { store, wake }).catch((error) =>
      view.tell(textFor(error)),
    );
    // While the service says to wait, nothing more is claimed either.
    if (outcome.operation.state !== "begun" || outcome.problem?.retryAfterS)
      await ended;
  }

  /** Say of a claim that was refused why, and ask what its output is now. */
  async function follow(outcome, output, opened) {
    const isLate = outcome.operation.state === "begun";
    problems.set(outcome.operation.key, outcome.problem);
    const operation = await untilEnded(opened, outcome, draw);
    if (operation.state === "refused") {
      view.tell(refusalText(operation));
      await looking.look(list.all(), [output]);
    }
    if (!isLate) return;
    await draw();
    view.focusOutcome();
  }

  // While many are claimed each is some changes: all are drawn at the end.
  store?.onChange(() => (taking.size && rows.length > 1 ? undefined : draw()));

  return {
    /** Show these alone, above what was opened before and is not over. */
    async receive(outputs) {
      list.add(outputs);
      await this.show(outputs);
    },

    async show(outputs = []) {
      view.setAdding(false);
      view.setLooking(list.opened().length > 0);
      const looked = looking.look(list.all(), outputs);
      await draw();
      if (list.opened().length) view.focusFound();
      await looked;
      await draw();
      view.setLooking(false);
    },

    /**
     * Claim what is offered of the links just opened, one after the other: each is a
     * swap of its own. One that was opened before is opened again first.
     */
    async take(older = null) {
      if (older) {
        list.add([older]);
        await draw();
      }
      const wanted = offerOf(rows.filter(isOpened)).rows;
      taking = new Set(wanted.map(({ output }) => keyOf(output)));
      rows = rows.map(asTaken);
      view.setBusy(gettext("One moment…"));
      view.draw(rows, true);
      view.tell("");
      view.focusOutcome();
      askToKeep();
      try {
        for (const [place, { output }] of wanted.entries()) {
          if (wanted.length > 1)
            view.setBusy(
              gettext("Claiming {number} of {total}…", {
                number: place + 1,
                total: wanted.length,
              }),
            );
          await takeOne(output);
        }
      } catch (error) {
        view.tell(textFor(error));
      }
      taking.clear();
      view.setBusy();
      await draw();
      view.focusOutcome();
    },

    /** Forget these; what is on its way goes on. */
    async putAway(outputs) {
      list.drop(outputs);
      await draw();
    },

    note(outcomes) {
      for (const { operation, problem } of outcomes)
        problems.set(operation.key, problem);
      draw();
    },
  };
}

/**
 * Return what asks the service for outputs and their items, until it has said what it
 * knows.
 * @param {{
 *   check: ((rawOutputs: string[]) => Promise<string[]>) | null, readItem: (itemId: string) =>
 *   Promise<import("../../wallet/records.js").Item>, onChange: () => void, schedule?: Function,
 * }} parts without `check` it asks for the items alone; `onChange` is called when more is known
 */
export function makeLooking({ check, readItem, onChange, schedule = setTimeout }) {
  const states = new Map();
  const items = new Map();
  let wanted = [];
  let problem = null;

  /** Ask for what is not known yet; again later, if the service cannot say it now. */
  async function ask(outputs, triesCount = 1) {
    const itemIds = new Set(outputs.map(({ itemId }) => itemId));
    const missing = [...itemIds].filter((itemId) => !items.has(itemId));
    const ended = await Promise.allSettled([
      askStates(outputs),
      ...missing.map(askItem),
    ]);
    const problems = ended.flatMap((each) => ("reason" in each ? each.reason : []));
    if (outputs !== wanted) return;
    problem = problems[0] ?? null;
    onChange();
    const passing = problems.filter(isPassing).map((each) => ({ problem: each }));
    const again = () => outputs === wanted && ask(outputs, triesCount + 1);
    if (passing.length) schedule(again, delayMs(passing, triesCount));
  }

  async function askStates(outputs) {
    const missing = outputs.filter((output) => !states.has(keyOf(output)));
    if (!check || !missing.length) return;
    const found = await check(missing.map(formatRawOutput));
    missing.forEach((output, place) => states.set(keyOf(output), found[place]));
    onChange();
  }

  async function askItem(itemId) {
    const item = await readItem(itemId).catch((error) => {
      if (error.code !== "item_not_found") throw error;
      return null;
    });
    items.set(itemId, item);
    onChange();
  }

  return {
    /**
     * Look at these outputs and at nothing else; what was known of `again` is asked
     * again.
     */
    look(outputs, again = []) {
      for (const output of again) states.delete(keyOf(output));
      wanted = [...outputs];
      return ask(wanted);
    },
    stateOf: (output) => states.get(keyOf(output)),
    /**
     * Return the item, null if it does not exist, undefined if that is not known yet.
     */
    itemOf: ({ itemId }) => items.get(itemId),
    problem: () => problem,
  };
}

const isPassing = (error) =>
  error instanceof NoAnswerError || error.status === 429 || error.status >= 500;

const NAME = "deeds.claim";

/**
 * Return the list of outputs that the page was given. Those that may still be taken are
 * kept for as long as the tab is there, so that a reload shows them again; their
 * secrets are in its storage alone.
 * @param {() => Storage} [findStorage] may throw, and so may the storage: then a reload forgets
 */
export function makeClaimList(findStorage) {
  const read = (storage) => Array.from(JSON.parse(storage.getItem(NAME) ?? "[]"));
  const found = inSession(read, findStorage) ?? [];
  const shown = new Map(found.map((output) => [keyOf(output), output]));
  const forgotten = new Set();

  function keep() {
    const kept = [...shown.values()].filter((output) => !forgotten.has(keyOf(output)));
    inSession((storage) => {
      if (kept.length) storage.setItem(NAME, JSON.stringify(kept));
      else storage.removeItem(NAME);
    }, findStorage);
  }

  return {
    all: () => [...shown.values()],

    /** Return those that were opened last, together. */
    opened: () => [...shown.values()].filter(({ isOlder }) => !isOlder),

    /**
     * Add outputs that were just opened: those that are there already become older, but
     * for the same ones.
     */
    add(outputs) {
      for (const [key, output] of shown) shown.set(key, { ...output, isOlder: true });
      for (const { isOlder: _, ...output } of outputs) shown.set(keyOf(output), output);
      keep();
    },

    /** Keep these no longer, and show them still. */
    forget(outputs) {
      for (const output of outputs) forgotten.add(keyOf(output));
      if (outputs.length) keep();
    },

    drop(outputs) {
      for (const output of outputs) shown.delete(keyOf(output));
      keep();
    },
  };
}
