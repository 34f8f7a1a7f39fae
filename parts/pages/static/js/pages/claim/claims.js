// What the Claim page was given, looked at and claimed, and what is known of it by now.
// What happens changes that, and what is known is drawn: events, state, view.

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

/** Where the tab keeps what it was given. */
const NAME = "deeds.claim";

/** What another tab did in the meantime is drawn, and no mistake. */
const OVERTAKEN = new Set(["already_held", "already_claimed"]);

/**
 * Return the list of outputs that the page was given. Those that may still be taken are
 * kept for as long as the tab is there, so that a reload shows them again; their
 * secrets are in its storage alone. Where it keeps nothing, a reload forgets.
 */
export function makeClaimList(tab = inTab) {
  const found = Array.from(JSON.parse(tab.read(NAME) || "[]"));
  const shown = new Map(found.map((output) => [keyOf(output), output]));
  const forgotten = new Set();

  function keep() {
    const kept = [...shown.values()].filter((output) => !forgotten.has(keyOf(output)));
    tab.write(NAME, kept.length ? JSON.stringify(kept) : "");
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

/**
 * Return what claims and shows. There is a wallet with its store where the browser can
 * have one.
 * @param {{
 *   list: ReturnType<typeof makeClaimList>,
 *   view: ReturnType<typeof import("./view.js").claimView>, api: import("../../wallet/api.js").Api,
 *   isAsked?: boolean, onKept?: () => void,
 * } & Partial<import("../open_wallet.js").Opened>} parts `isAsked` tells whether a secret may be sent to
 *   ask for its state; `onKept` is called once the wallet has what was opened
 */
export function makeClaims({ list, view, api, isAsked = isSecureContext, ...opened }) {
  const { wallet, store, onKept = () => {} } = opened;
  const answers = makeAnswers(isAsked ? api.check : null, (wallet ?? api).item);
  const known = makeKnown(answers, store, isAsked);
  /** What the last tap claims, until it is done. */
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
  /** What was on its way is so no more where the wallet is gone. */
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

  // While many are claimed each is some changes: all are drawn at the end.
  store?.onChange(() => (taking.size && rows.length > 1 ? undefined : draw()));

  return {
    /** Show these alone, above what was opened before and is not over. */
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
     * Claim what is offered of the links just opened, one after the other: each is a
     * swap of its own. What was opened before is opened again first.
     */
    async take(older = []) {
      if (older.length) {
        list.add(older);
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
          const turn = { number: place + 1, total: wanted.length };
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

    /** Forget these; what is on its way goes on. */
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

/** From the tap on it is on its way, whatever is known so far: so nothing moves later. */
const onItsWay = (row) => (row.state.canTake ? { ...row, state: ON_ITS_WAY } : row);

const asLost = (row) => (row.state.kind === "busy" ? { ...row, state: LOST } : row);

/** Return what claims one output, and says why that was refused. */
function makeTakeOne(opened, { view, note, draw, lookAgain }) {
  /** Say of a claim that was refused why, and ask what its output is now. */
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
    // While the service says to wait, nothing more is claimed either.
    if (problem?.retryAfterS) await ended;
  };
}

/**
 * Return what looks at outputs, and at nothing else from then on; what was known of
 * `again` is asked again. It returns once there is an answer; what the service cannot
 * say now is asked later. What is known is drawn as it comes.
 */
function makeLook(answers, draw) {
  let last;
  return (outputs, again) => {
    last = outputs;
    answers.forget(again);
    return keepTrying(async () => {
      if (last !== outputs) return null;
      const asked = answers.ask(outputs);
      for (const each of asked) each.then(draw, () => {});
      const ended = await Promise.allSettled(asked);
      if (last !== outputs) return null;
      const problems = ended.flatMap((each) => ("reason" in each ? each.reason : []));
      [answers.problem] = problems;
      await draw();
      const passing = problems.filter(isPassing);
      return passing.length ? passing : null;
    })();
  };
}

const isPassing = (error) =>
  error instanceof NoAnswerError || error.status === 429 || error.status >= 500;

/** Return what is known of outputs, to the wallet and by what the service has said. */
function makeKnown(answers, store, isAsked) {
  /** Why an operation has not ended, by its key. */
  const problems = new Map();

  async function rowsOf(outputs) {
    // What comes meanwhile is drawn with its origin.
    const items = outputs.map(answers.itemOf);
    // Of a thousand links of one item it is asked once.
    const given = [...new Set(items)].flatMap((item) => item ?? []);
    const origins = store ? await findOrigins(store, given) : new Map();
    const known = store ? await recordsOf(store, outputs.map(keyOf)) : [];
    // What a claim has made may be gone again.
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
    /** Note why an operation has not ended. */
    note(/** @type {import("../open_wallet.js").Outcome} */ { operation, problem }) {
      problems.set(operation.key, problem);
    },
  };
}

/**
 * Return what the service has said of outputs and their items.
 * @param {((rawOutputs: string[]) => Promise<string[]>) | null} check null asks for the items alone
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
    /** What kept the service from answering the last time. @type {any} */
    problem: undefined,
    /** Ask for what is not known yet: all states at once, and each item once. */
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
    /**
     * Return the item, null if it does not exist, undefined if that is not known yet.
     */
    itemOf: ({ itemId }) => items.get(itemId),
  };
}
