"""Counts the failed secrets of each client, in this process or in a Redis that processes share.

Secrets that may fail are counted before they are looked at, and given back once they are known: a
burst of requests gets no further than the same requests one after the other.
"""

import logging
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Lock
from time import monotonic, time
from typing import TypeVar

from limits import RateLimitItem, parse
from limits.errors import StorageError
from limits.storage import Storage

from deeds.blueprints.bounded_counts import BoundedCounts
from deeds.domain.errors import TooManyFailuresError
from deeds.rate_limits import FAILURES, RateLimit

# One request may hold more secrets than the limit, and is judged as a whole if the client is below
# it. The longer window makes up for that: in so many units no more than so many times the limit.
LONG_WINDOW_UNITS = 60

# For so long a storage that failed is not asked again, and each process counts alone.
SHARED_PAUSE_S = 5.0

Answer = TypeVar("Answer")

_log = logging.getLogger("deeds")


@dataclass(frozen=True, slots=True)
class Held:
    """Secrets that count as failed until they are known; of none of them there is no storage."""

    client: str
    count: int
    storage: Storage | None = None


class FailureCounts:
    """The counts of one limit. Any thread may use them."""

    def __init__(self, limit: RateLimit, shared: Storage | None = None) -> None:
        """Take the limit and, where processes share counts, where those are kept."""
        long_count = LONG_WINDOW_UNITS * limit.count
        self._windows = (
            parse(str(limit)),
            parse(f"{long_count}/{LONG_WINDOW_UNITS} {limit.unit}"),
        )
        self._own = BoundedCounts()
        self._shared = shared
        self._shared_from_s = 0.0
        self._lock = Lock()
        # What requests of this process hold at the moment.
        self._held: Counter[str] = Counter()

    def hold(self, client: str, count: int) -> Held:
        """Count secrets that may fail, before anything is done for them.

        Raises:
            TooManyFailuresError: the client is over its limit, perhaps only for as long as its
                other requests are under way. Nothing is held.
        """
        if not count:
            return Held(client, 0)
        return self._ask(lambda storage: self._hold(storage, client, count))

    def release(self, held: Held, failed_count: int) -> float:
        """Count those that failed in place of those held.

        Returns:
            For how many seconds the client is over its limit, or 0.
        """
        if held.storage is None and not failed_count:
            return 0.0
        self._note_held(held.client, -held.count)

        def settle(storage: Storage) -> float:
            held_count = held.count if storage is held.storage else 0
            self._change(storage, held.client, failed_count - held_count)
            return self._wait_s(storage, held.client) if failed_count else 0.0

        return settle(self._own) if held.storage is self._own else self._ask(settle)

    def _hold(self, storage: Storage, client: str, count: int) -> Held:
        # All windows, whatever the first one says: what is given back was counted in each.
        befores = [
            (window, storage.incr(key, window.get_expiry(), amount=count) - count)
            for window, key in self._keys(client)
        ]
        if any(before >= window.amount for window, before in befores):
            self._change(storage, client, -count)
            wait_s = math.ceil(self._wait_s(storage, client))
            raise TooManyFailuresError(retry_after_s=wait_s)
        self._note_held(client, count)
        return Held(client, count, storage)

    def _change(self, storage: Storage, client: str, change: int) -> None:
        for window, key in self._keys(client):
            # A window that has ended since gives nothing back: that would be a credit.
            if change > 0 or (change and storage.get(key) >= -change):
                storage.incr(key, window.get_expiry(), amount=change)

    def _wait_s(self, storage: Storage, client: str) -> float:
        # Never less than a second: an answer tells whole ones.
        waits_s = [0.0]
        for window, key in self._keys(client):
            if storage.get(key) - self._held[client] >= window.amount:
                waits_s.append(max(1.0, storage.get_expiry(key) - time()))
        return max(waits_s)

    def _keys(self, client: str) -> Iterator[tuple[RateLimitItem, str]]:
        return ((window, window.key_for("deeds", FAILURES, client)) for window in self._windows)

    def _note_held(self, client: str, change: int) -> None:
        with self._lock:
            self._held[client] += change
            if not self._held[client]:
                del self._held[client]

    def _ask(self, question: Callable[[Storage], Answer]) -> Answer:
        """Ask the shared storage, or our own where there is none or it does not answer."""
        if self._shared is not None and monotonic() >= self._shared_from_s:
            try:
                return question(self._shared)
            except StorageError:
                self._shared_from_s = monotonic() + SHARED_PAUSE_S
                _log.warning(
                    "DEEDS_RATE_LIMITS_STORAGE does not answer: each process counts alone",
                    extra={"event": "counts_apart"},
                )
        return question(self._own)
