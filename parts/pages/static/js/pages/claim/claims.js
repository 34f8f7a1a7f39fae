// The links that the Claim page shows and claims, and what is known of their state.
// Events change the state, and the view draws it.

import { gettext } from "../../format/gettext.js";
import { formatRawOutput } from "../../format/raw_output.js";
import { refusalText, textFor } from "../../texts.js";
import { findOrigins, originAs } from "../../ui/origin.js";
import { NoAnswerError } from "../../wallet/api.js";
import { keyOf } from "../../wallet/records.js";
import { askToKeep, inTab } from "../../wallet/store.js";
import { oneByOne, recordsOf, untilEnded } from "../open_wallet.js";
import { keepTrying } from "../retries.js";
import {
  claimState,
  isKept,
  isOpened,
  isOver,
  LOST,
  offerOf,
  ON_ITS_WAY,
} from "./state.js";

/** Name under which the tab stores the links that it was given. */
const NAME = "deeds.claim";

/**
 * Codes that say that another tab has claimed the link. That is no error: the page
 * draws the result.
 */
const OVERTAKEN = new Set(["already_held", "already_claimed"]);

/**
 * Return the list of outputs that the page was given. Those that may still be claimed
 * are stored for the life of the tab, so that a reload shows them again. Their secrets
 * are in the tab's storage only. If the browser stores nothing, a reload forgets them.
 */
export function makeClaimList(tab = inTab) {
  const stored = Array.from(JSON.parse(tab.read(NAME) || "[]"));
  const shown = new Map(stored.map((output) => [keyOf(output), output]));
  const forgotten = new Set();

  function keep() {
    const outputs = [...shown.values()];
    const left = outputs.filter((output) => !forgotten.has(keyOf(output)));
    tab.write(NAME, left.length ? JSON.stringify(left) : "");
  }

  return {
    all: () => [...shown.values()],

    /** Return the outputs that were opened last, together. */
    opened: () => [...shown.values()].filter(({ isOlder }) => !isOlder),

    /** Add outputs that were just opened. All others in the list become older ones. */
    add(outputs) {
      for (const [key, output] of shown) shown.set(key, { ...output, isOlder: true });
      for (const { isOlder: _, ...output } of outputs) shown.set(keyOf(output), output);
      keep();
    },

    /** Stop storing these outputs, but still show them. */
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

/**
 * Return functions that claim and show links. There are a wallet and a store if the
 * browser supports them.
 * @param {{
 *   list: ReturnType<typeof makeClaimList>,
 *   view: ReturnType<typeof import("./view.js").claimView>, api: import("../../wallet/api.js").Api,
 *   isAsked?: boolean, onKept?: () => void,
 * } & Partial<import("../open_wallet.js").Opened>} parts `isAsked`: whether a secret
 *   may be sent to ask for its state; `onKept` is called once the wallet has all
 *   outputs that were opened
 */
export function makeClaims({ list, view, api, isAsked = isSecureContext, ...opened }) {
  const { wallet, store, onKept = () => {} } = opened;
  const answers = makeAnswers(isAsked ? api.check : null, (wallet ?? api).item);
  const known = makeKnown(answers, store, isAsked);
  /** Keys of what the last tap claims, until that is done. */
  let taking = new Set();
  let rows = [];

  const draw = oneByOne(async () => {
    const all = (await known.rowsOf(list.all()).catch(showLost)).map(asTaken);
    const isPast = (row) => !isOpened(row) && isOver(row.state);
    rows = all.filter((row) => !isPast(row));
    list.drop(all.filter(isPast).map(({ output }) => output));
    const kept = rows.filter(({ state }) => isKept(state));
    list.forget(kept.map(({ output }) => output));
    if (kept.length && rows.filter(isOpened).every(({ state }) => isKept(state)))
      onKept();
    view.draw(rows, Boolean(wallet));
  });
  /** If the wallet is gone, nothing is on its way any more. */
  function showLost(error) {
    if (error.code !== "gone") throw error;
    rows = rows.map(asLost);
    taking.clear();
    view.setBusy();
    view.draw(rows, false);
    throw error;
  }

  const look = makeLook(answers, draw);
  const lookAgain = (outputs) => look(list.all(), outputs);
  const takeOne = makeTakeOne(opened, { view, note: known.note, draw, lookAgain });

  const asTaken = (row) => (taking.has(keyOf(row.output)) ? onItsWay(row) : row);

  // Each of many claims is several changes: draw once, at the end.
  store?.onChange(() => (taking.size && rows.length > 1 ? undefined : draw()));

  return {
    /** Show these outputs above earlier ones that are not over. */
    receive(outputs) {
      list.add(outputs);
      return this.show(outputs);
    },

    async show(outputs = []) {
      view.setAdding(false);
      view.setLooking(list.opened().length > 0);
      const answered = look(list.all(), outputs);
      await draw();
      if (list.opened().length) view.focusFound();
      await answered;
      view.setLooking(false);
    },

    /**
     * Claim the links just opened that can be claimed, one by one: each is a swap of
     * its own. Older links are opened again first.
     */
    async take(older = []) {
      if (older.length) {
        list.add(older);
        await draw();
      }
      const claimable = offerOf(rows.filter(isOpened)).rows;
      taking = new Set(claimable.map(({ output }) => keyOf(output)));
      rows = rows.map(asTaken);
      view.setBusy(gettext("One moment…"));
      view.draw(rows, true);
      view.tell("");
      view.focusOutcome();
      askToKeep();
      try {
        for (const [place, { output }] of claimable.entries()) {
          const turn = { number: place + 1, total: claimable.length };
          if (turn.total > 1)
            view.setBusy(gettext("Claiming {number} of {total}…", turn));
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

    /** Forget these. A claim on its way continues. */
    putAway(outputs) {
      list.drop(outputs);
      return draw();
    },

    note(outcomes) {
      outcomes.forEach(known.note);
      draw();
    },
  };
}

/**
 * A link counts as on its way from the tap on, whatever is known, so that nothing moves
 * later.
 */
const onItsWay = (row) => (row.state.canTake ? { ...row, state: ON_ITS_WAY } : row);

const asLost = (row) => (row.state.kind === "busy" ? { ...row, state: LOST } : row);

/** Return a function that claims one output, and says why if it is refused. */
function makeTakeOne(opened, { view, note, draw, lookAgain }) {
  /** If a claim was refused, say why, and ask for the state of its output. */
  async function end(operation, output) {
    if (operation.state !== "refused") return;
    view.tell(refusalText(operation));
    await lookAgain([output]);
  }

  return async (output) => {
    const outcome = await opened.wallet
      ?.claim(output, { unit: output.unit, knows: output })
      .catch((error) => {
        if (!OVERTAKEN.has(error.code)) throw error;
      });
    if (!outcome) return;
    const { operation, problem } = outcome;
    note(outcome);
    if (operation.state !== "begun") return end(operation, output);
    const ended = untilEnded(opened, outcome, draw)
      .then((late) => end(late, output))
      .then(draw)
      .then(view.focusOutcome)
      .catch((error) => view.tell(textFor(error)));
    // While the service says to wait, begin no other claim.
    if (problem?.retryAfterS) await ended;
  };
}

/**
 * Return a function that queries outputs, and stops querying those of its previous
 * call. The states of `again` are queried again. Its promise resolves once there is an
 * answer; what the service cannot answer now is queried later. Answers are drawn as
 * they come.
 */
function makeLook(answers, draw) {
  let last;
  return (outputs, again) => {
    last = outputs;
    answers.forget(again);
    return keepTrying(async () => {
      if (last !== outputs) return null;
      const queries = answers.ask(outputs);
      for (const each of queries) each.then(draw, () => {});
      const results = await Promise.allSettled(queries);
      if (last !== outputs) return null;
      const problems = results.flatMap((each) => ("reason" in each ? each.reason : []));
      [answers.problem] = problems;
      await draw();
      const passing = problems.filter(isPassing);
      return passing.length ? passing : null;
    })();
  };
}

const isPassing = (error) =>
  error instanceof NoAnswerError || error.status === 429 || error.status >= 500;

/** Return what the wallet knows of outputs, and what the service has said. */
function makeKnown(answers, store, isAsked) {
  /** Why operations have not ended, by key. */
  const problems = new Map();

  async function rowsOf(outputs) {
    // An item that arrives meanwhile is drawn later, with its origin.
    const items = outputs.map(answers.itemOf);
    // A thousand links of one item need one lookup.
    const distinct = [...new Set(items)].flatMap((item) => item ?? []);
    const origins = store ? await findOrigins(store, distinct) : new Map();
    const known = store ? await recordsOf(store, outputs.map(keyOf)) : [];
    // The output that a claim made may be spent again.
    const keys = known.map(({ operation }) => operation?.outputs[0]?.key ?? "");
    const made = store ? await recordsOf(store, keys) : [];
    return outputs.map((output, place) =>
      rowOf(output, items[place], origins, { ...known[place], made: made[place] }),
    );
  }

  function rowOf(output, item, origins, known) {
    const problem = problems.get(known?.operation?.key) ?? answers.problem;
    const found = answers.stateOf(output);
    const state = claimState({ ...known, found, problem, isAsked });
    const isLost = item === null || (item === undefined && answers.problem);
    const origin =
      origins.get(output.itemId) ?? (isLost ? originAs("unknown") : undefined);
    return { output, state, item, origin };
  }

  return {
    rowsOf,
    /** Record why an operation has not ended. */
    note(/** @type {import("../open_wallet.js").Outcome} */ { operation, problem }) {
      problems.set(operation.key, problem);
    },
  };
}

/**
 * Return what the service has said of outputs and their items.
 * @param {((rawOutputs: string[]) => Promise<string[]>) | null} check if null, ask for
 *   items only
 * @param {(itemId: string) => Promise<import("../../wallet/records.js").Item>} readItem
 */
export function makeAnswers(check, readItem) {
  const states = new Map();
  const items = new Map();

  async function askStates(outputs) {
    if (!check || !outputs.length) return;
    const found = await check(outputs.map(formatRawOutput));
    outputs.forEach((output, place) => states.set(keyOf(output), found[place]));
  }

  async function askItem(itemId) {
    const item = await readItem(itemId).catch((error) => {
      if (error.code !== "item_not_found") throw error;
      return null;
    });
    items.set(itemId, item);
  }

  return {
    /** Why the service gave no answer the last time. @type {any} */
    problem: undefined,
    /** Ask for missing answers: all states in one request, and each item once. */
    ask(outputs) {
      const itemIds = new Set(outputs.map(({ itemId }) => itemId));
      const missing = [...itemIds].filter((itemId) => !items.has(itemId));
      const unasked = outputs.filter((output) => !states.has(keyOf(output)));
      return [askStates(unasked), ...missing.map(askItem)];
    },
    forget(outputs) {
      for (const output of outputs) states.delete(keyOf(output));
    },
    stateOf: (output) => states.get(keyOf(output)),
    /** Return the item, null if it does not exist, undefined if that is unknown. */
    itemOf: ({ itemId }) => items.get(itemId),
  };
}
