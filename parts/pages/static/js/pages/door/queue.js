// The scans of a door that wait for the service. They are claims in the wallet that
// have begun at a door, so a closed tab loses none. Only scans made here since the door
// was opened, and scans that a person releases, are sent. A scan is not sent if its
// ticket had expired by then, by the service's time.

import { NoAnswerError } from "../../wallet/api.js";
import { keyOf } from "../../wallet/records.js";
import { keepFinishing } from "../retries.js";

/** Code of a scan that came too late. It is not stored. */
export const EXPIRED = "expired";

/**
 * Return the queue of a deed's door.
 * @typedef {import("../../wallet/records.js").OperationRecord} OperationRecord
 * @param {{
 *   itemId: string, store: Pick<import("../../wallet/store.js").Store, "read">,
 *   wallet: Pick<import("../../wallet/wallet.js").Wallet, "claim" | "finish" | "cancel">,
 *   clock: ReturnType<typeof import("./clock.js").makeClock>,
 *   onEnd: (operation: OperationRecord) => Promise<any>, onError: (error: any) => void,
 * }} parts `onEnd` gets each scan that has waited; the next one is sent after it
 */
export function makeQueue({ itemId, store, wallet, clock, onEnd, onError }) {
  /**
   * Keys of the tickets that may be sent, and of those that are being sent for the
   * first time.
   */
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
   * Claim a ticket. While the service is unreachable or slow, the claim is only
   * recorded, so that it can safely be cancelled. What a list `knows` of the ticket is
   * recorded with it.
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
      // An older scan of the ticket may be sent now that it was scanned again.
      wake(problem);
    }
  }

  /** Send a scan. If it came too late, end it instead. */
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
      // A request that is tried offline must be treated as if it may have been sent.
      if (!navigator.onLine) break;
      const isOurs = allowed.has(ticket.key) && !underWay.has(ticket.key);
      // A cancelled scan is not sent: the service is only asked about it.
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

    /** Permit sending these scans. */
    allow(scans) {
      for (const { ticket } of scans) allowed.add(ticket.key);
      wake();
    },

    /** Stop sending. */
    pause: () => allowed.clear(),
  };
}
