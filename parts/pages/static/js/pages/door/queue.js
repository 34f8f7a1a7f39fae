// The scans of a door that wait for the service: the claims that this browser has begun
// at a door, so that a closed tab forgets none. Nothing is sent but what was scanned
// here since the door was opened, and what a person lets go; nothing that had expired
// when it was scanned, by the service's time.

import { NoAnswerError } from "../../wallet/api.js";
import { keyOf } from "../../wallet/records.js";
import { keepFinishing } from "../retries.js";

/** How a scan ends that came too late; nothing is kept of this code. */
export const EXPIRED = "expired";

/**
 * @typedef {import("../../wallet/records.js").OperationRecord} OperationRecord
 *
 * Return the queue of a deed's door.
 * @param {{
 *   itemId: string, store: Pick<import("../../wallet/store.js").Store, "read">,
 *   wallet: Pick<import("../../wallet/wallet.js").Wallet, "claim" | "finish" | "cancel">,
 *   clock: ReturnType<typeof import("./clock.js").makeClock>,
 *   onEnd: (operation: OperationRecord) => Promise<any>, onError: (error: any) => void,
 * }} parts `onEnd` is told of each that has waited; the next one is sent after it
 */
export function makeQueue({ itemId, store, wallet, clock, onEnd, onError }) {
  /** The keys of the tickets that may be sent, and of those that are, for the first time. */
  const allowed = new Set();
  const underWay = new Set();
  let isAway = false;

  /** Return the claims that wait, the oldest first, each with its ticket. */
  function list() {
    const begun = { itemId, state: "begun" };
    const next = ({ operations }) => ({
      outputs: operations.list(begun).flatMap(({ inputs }) => inputs),
    });
    return store.read({ operations: begun, next }, ({ operations, outputs }) =>
      operations
        .list(begun)
        .filter(({ atDoor }) => atDoor)
        .map((scan) => ({ ...scan, ticket: outputs.existing(scan.inputs[0]) }))
        .sort((one, other) => one.begunAt - other.begunAt),
    );
  }

  /**
   * Claim a ticket. While the service is away or slow it is only noted, so that it can be
   * cancelled for sure. What a list `knows` of it is kept with it.
   */
  async function claim(output, knows) {
    const key = keyOf(output);
    const isSlow = isAway || underWay.size > 0 || !navigator.onLine;
    const isUnsent = isSlow || !clock.isKnown() || undefined;
    let problem;
    allowed.add(key);
    underWay.add(key);
    try {
      const outcome = await wallet.claim(output, { atDoor: true, isUnsent, knows });
      isAway = outcome.operation.state === "begun";
      ({ problem } = outcome);
      return outcome;
    } finally {
      underWay.delete(key);
      // What was kept from earlier may be sent once it is scanned again.
      wake(problem);
    }
  }

  /** Send a scan, unless it came too late, which ends it. */
  async function send(scan) {
    const hadExpired = scan.isUnsent && (await clock.hadExpired(scan));
    const problem = new NoAnswerError();
    if (hadExpired === null) return { operation: scan, problem };
    if (!hadExpired) return wallet.finish(scan.key);
    await wallet.cancel(scan.key);
    // Another tab may have sent it by now.
    const now = (await list()).find(({ key }) => key === scan.key);
    if (now) return { operation: now, problem };
    return { operation: { ...scan, state: "refused", code: EXPIRED } };
  }

  async function sendAll() {
    const outcomes = [];
    for (const scan of await list()) {
      const { isCancelled, ticket } = scan;
      // What is tried without a network may have been sent, for all that is known then.
      if (!navigator.onLine) break;
      const isOurs = allowed.has(ticket.key) && !underWay.has(ticket.key);
      // What is cancelled is only asked about.
      if (!isOurs && !isCancelled) continue;
      const outcome = await send(scan);
      outcomes.push(outcome);
      isAway = Boolean(outcome.problem);
      if (isAway) break;
      await onEnd(outcome.operation);
    }
    if (!outcomes.length) isAway = false;
    return outcomes;
  }

  const wake = keepFinishing({ finishBegun: sendAll, onError });
  return {
    list,
    claim,
    wake,

    /** Let these scans be sent. */
    allow(scans) {
      for (const { ticket } of scans) allowed.add(ticket.key);
      wake();
    },

    /** Send nothing any more. */
    pause: () => allowed.clear(),
  };
}
