"""Counts the failed secrets of each client, in this process or in a Redis that processes share."""

import logging
from time import monotonic, time

from limits import parse
from limits.errors import StorageError
from limits.storage import Storage

from deeds.blueprints.bounded_counts import BoundedCounts
from deeds.rate_limits import FAILURES, RateLimit

# What is under way at once is counted only when it is done, so a client can get past its limit. The
# longer window makes it pay that back: in so many units it gets no more than so many times as much.
LONG_WINDOW_UNITS = 60

# For so long a storage that failed is not asked again, and each process counts alone.
SHARED_PAUSE_S = 5.0

_log = logging.getLogger("deeds")


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

    def add(self, client: str, count: int) -> float:
        """Count failures; return for how many seconds the client is over its limit, or 0."""
        if self._shared is None or monotonic() < self._shared_from_s:
            return self._add(self._own, client, count)
        try:
            return self._add(self._shared, client, count)
        except StorageError:
            self._shared_from_s = monotonic() + SHARED_PAUSE_S
            _log.warning(
                "DEEDS_RATE_LIMITS_STORAGE does not answer: each process counts alone",
                extra={"event": "counts_apart"},
            )
            return self._add(self._own, client, count)

    def _add(self, storage: Storage, client: str, count: int) -> float:
        # Never less than a second: an answer tells whole ones.
        waits_s = [0.0]
        for window in self._windows:
            key = window.key_for("deeds", FAILURES, client)
            if storage.incr(key, window.get_expiry(), amount=count) >= window.amount:
                waits_s.append(max(1.0, storage.get_expiry(key) - time()))
        return max(waits_s)
