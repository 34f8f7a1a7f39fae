// Asks for the state of links that wait, so that an open page notices a claim by
// itself, says what is new and what is under way, and goes on with a series of links.

import { fill, gettext, ngettext } from "../../format/gettext.js";
import { operationText, partText, refusalText, waitText } from "../../texts.js";
import { byId, make } from "../../ui/dom.js";
import { say, sayError } from "../../ui/forms.js";
import { oneByOne, untilEnded } from "../open_wallet.js";

const ROUND_MS = 20_000;
const DELAY_MS_MAX = 600_000;
const NEWS_COUNT_MAX = 3;
const NEWS = {
  claimed: gettext("Claimed: {units}."),
  lost: gettext("Used elsewhere: {units}."),
  unknownSum: gettext("Not known to the service: {units}."),
};

/**
 * Ask now and every 20 seconds (`roundMs`) while it is wanted, more and more rarely
 * while it fails, and no more once it is over.
 * @param {{
 *   checkRound: () => Promise<unknown>, isWanted: () => boolean, isOver?: () => boolean,
 *   roundMs?: number, now?: () => number, schedule?: (run: () => void, delayMs: number) => unknown,
 * }} parts `isWanted` is whether something waits and a person can see the page
 * @returns {() => Promise<void>} asks at once, unless the last answer said not to
 */
export function keepAsking({ checkRound, isWanted, ...more }) {
  const { isOver = () => false, roundMs = ROUND_MS, schedule = setTimeout } = more;
  // Whatever is done to the device's time.
  const { now = () => performance.now() } = more;
  let [turn, failuresCount, notBefore] = [0, 0, 0];

  async function ask() {
    notBefore = Infinity;
    try {
      await checkRound();
      [failuresCount, notBefore] = [0, now() + roundMs / 10];
    } catch (error) {
      failuresCount += 1;
      const delay = Math.min(roundMs * 2 ** failuresCount, DELAY_MS_MAX);
      notBefore = now() + Math.max(delay, 1000 * (error.retryAfterS ?? 0));
    }
  }

  async function round() {
    turn += 1;
    const mine = turn;
    if (now() >= notBefore && isWanted()) await ask();
    // A round that began later goes on in its place.
    if (mine === turn && !isOver()) schedule(() => mine === turn && round(), delayMs());
  }

  const delayMs = () =>
    notBefore === Infinity ? roundMs : Math.max(roundMs, notBefore - now());
  return round;
}

/**
 * Return a sentence for each deed of which links were claimed, or something was lost.
 */
export function newsOf(before, after) {
  const all = after.flatMap((summary) => {
    const { itemId, item } = summary;
    const more = (name) => summary[name] - (before.get(itemId)?.[name] ?? Infinity);
    const news = Object.entries(NEWS).filter(([name]) => more(name) > 0);
    return news.map(([name, text]) =>
      fill(text, { units: partText(more(name), item) }),
    );
  });
  const more = all.length - NEWS_COUNT_MAX;
  return more > 0
    ? [
        ...all.slice(0, NEWS_COUNT_MAX),
        ngettext("And {count} more.", "And {count} more.", more),
      ]
    : all;
}

/**
 * Return what goes on making links of a series, also of one that an earlier visit or
 * another tab has begun. It is to be called after each change of the store: each batch
 * is one.
 * @param {Pick<import("../open_wallet.js").Opened, "wallet" | "store" | "wake">} opened
 * @param {() => string | undefined} wanted returns a deed of which links are still to be made
 */
export function seriesMaker(opened, wanted) {
  let isRefused = false;

  async function makeBatch() {
    const itemId = isRefused ? "" : wanted();
    const outcome = itemId && (await opened.wallet.prepareNext(itemId));
    if (!outcome) return;
    // What has no answer yet is sent again by the page, and no other batch before it.
    const operation = await untilEnded(opened, outcome, () => {});
    isRefused = operation.state === "refused";
    if (isRefused) say(refusalText(operation));
  }

  return oneByOne(() => makeBatch().catch(sayError));
}

export function drawBegun(begun, problems = new Map(), itemOf = () => undefined) {
  byId("begun").hidden = !begun.length;
  const rows = begun.map((operation) => {
    const problem = problems.get(operation.key);
    const next = operation.atDoor ? gettext("Its door asks what to do with it.") : "";
    const why = problem ? waitText(problem, "") : next;
    return make("li", {}, `${operationText(operation, itemOf)}. ${why}`);
  });
  byId("begun-list").replaceChildren(...rows);
}
