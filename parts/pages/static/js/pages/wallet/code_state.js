// What becomes of a code while it is on the screen: the service is asked, often at first,
// because a guest waits for the door; and any tab may have moved what it stands for.

import { onReturn } from "../../ui/dom.js";
import { ask, NoAnswerError } from "../../wallet/api.js";
import { isUsed } from "../../wallet/holdings.js";
import { readOutputs } from "../../wallet/records.js";
import { keepAsking } from "../retries.js";

/** Until a code was shown for so long, it is asked for at these intervals, in ms. */
const ROUNDS = [
  [20_000, 2_000],
  [120_000, 5_000],
];
const LAST_ROUND_MS = 20_000;

/**
 * @typedef {"asking" | "offline" | "used" | "moved"} CodeState a door, most likely, has `used` it;
 *   what was `moved` was sent, or claimed by a copy of this wallet
 *
 * Note that the code of a held output is shown, and ask what becomes of it from now on;
 * call `tell` with its state, whenever there may be news too. Return what ends that.
 * @param {{key: string}} output
 * @param {Pick<import("../open_wallet.js").Opened, "wallet" | "store">} opened
 * @param {(state: CodeState) => void} tell
 * @param {{now?: () => number, random?: () => number, schedule?: typeof setTimeout | any}} [clock]
 */
export function watchCode({ key }, { wallet, store }, tell, clock = {}) {
  const { now = () => performance.now(), random = Math.random, schedule } = clock;
  const shownAt = now();
  let isOver = false;
  let isOffline = false;

  function roundMs() {
    const shownMs = now() - shownAt;
    const round = ROUNDS.find(([untilMs]) => shownMs < untilMs);
    // A quarter sooner or later: a whole audience must not ask in step.
    return (round?.[1] ?? LAST_ROUND_MS) * (0.75 + random() / 2);
  }

  async function look() {
    const [output] = await readOutputs(store, [key]);
    if (isOver) return;
    isOver = output.state === "spent";
    if (isOver) tell(isUsed(output) ? "used" : "moved");
    else tell(isOffline ? "offline" : "asking");
  }

  async function checkRound() {
    const { problem } = navigator.onLine
      ? await ask(() => wallet.checkShown(key))
      : { problem: new NoAnswerError() };
    isOffline = problem instanceof NoAnswerError;
    await look();
    // Without an answer it is asked as often as before: a guest waits.
    if (problem && !isOffline) throw problem;
  }

  const wake = keepAsking({ checkRound, isOver: () => isOver, roundMs, now, schedule });
  const endings = [store.onChange(() => look().catch(() => {})), onReturn(wake)];
  tell("asking");
  // It is shown, whether or not there is room to note it; what is spent no longer is.
  wallet
    .shown(key)
    .catch(() => {})
    .then(wake);
  return () => {
    isOver = true;
    endings.forEach((end) => end());
  };
}
