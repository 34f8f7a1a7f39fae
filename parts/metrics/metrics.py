"""The metrics in docs/operations/watching.md, and their text for Prometheus.

Under gunicorn this is prometheus-client's multiprocess mode: each worker counts in
files of its own, and the one that is asked adds all of them up.
"""

import os
import struct
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Summary,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

# A strong swap takes 1 ms; after 10 s a client has gone.
_BUCKETS_S = (
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
)

# A worker that starts needs microseconds for what a read may have to wait for.
_READS_MAX = 100
_PAUSE_S = 0.01

# What databases may name as the reason of a retry.
RETRY_REASONS = ("conflict", "disconnect", "checkpoint")

# Where prometheus-client looks for the directory of the files.
DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"


class Metrics:
    """Counts for Prometheus.

    Any thread may use it, and no label may be an id or a path. Nothing is counted
    before `open`, which each process calls for itself: series that are created before a
    fork would count in the files of another process.
    """

    def __init__(self, codes: Iterable[str], requests_max: int) -> None:
        """Create them for problems with these codes.

        `requests_max` is how many requests may have slow hashes at once.
        """
        self._codes = tuple(codes)
        self._requests_max = requests_max
        self._lock = threading.Lock()
        self._is_open = False

    def open(self) -> None:
        """Create the series of this process; do nothing where they are there."""
        if self._is_open:
            return
        with self._lock:
            if not self._is_open:
                self._create()
                self._is_open = True

    def _create(self) -> None:
        # When a series began, a second series for each: nobody asks.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        registry = self._registry = CollectorRegistry()

        counter = partial(Counter, registry=registry)
        self._requests = Histogram(
            "deeds_request_duration_seconds",
            "Time from the first line of a handler to the answer.",
            ["route", "method"],
            buckets=_BUCKETS_S,
            registry=registry,
        )
        self._operations = counter(
            "deeds_operations", "Operations by outcome.", ["kind", "outcome"]
        )
        self._refusals = counter(
            "deeds_refusals", "Answers that are problems, by code.", ["code"]
        )
        self._hash_seconds = Summary(
            "deeds_hash_seconds",
            "Time of Argon2id evaluations.",
            ["secret_class"],
            registry=registry,
        )
        self._retries = counter(
            "deeds_database_retries", "Transactions tried again.", ["reason"]
        )
        # From 0 on: Prometheus sees no increase from nothing to 1.
        for code in self._codes:
            self._refusals.labels(code)
        for reason in RETRY_REASONS:
            self._retries.labels(reason)
        for secret_class in ("ordinary", "strong"):
            self._hash_seconds.labels(secret_class)
        self._add_queue()

    def _add_queue(self) -> None:
        # Added up over the processes that live.
        gauge = partial(Gauge, registry=self._registry, multiprocess_mode="livesum")
        self._requests_waiting = gauge(
            "deeds_hash_queue_requests", "Requests with slow hashes."
        )
        self._hashes_waiting = gauge(
            "deeds_hash_queue_hashes", "Slow hashes of these requests."
        )
        gauge(
            "deeds_hash_queue_requests_max", "Requests with slow hashes at most."
        ).set(self._requests_max)

    def count_request(
        self, route: str, method: str, seconds: float, kind: str, outcome: str
    ) -> None:
        """Count a request: `outcome` is done, replayed or the code of a problem.

        `kind` may be empty: then it is no operation.
        """
        self.open()
        self._requests.labels(route, method).observe(seconds)
        if outcome not in {"done", "replayed"}:
            self._refusals.labels(outcome).inc()
        if kind:
            self._operations.labels(kind, outcome).inc()

    def count_hash(self, secret_class: str, seconds: float) -> None:
        """Count an evaluation and its time; the class is "ordinary" or "strong"."""
        self.open()
        self._hash_seconds.labels(secret_class).observe(seconds)

    @contextmanager
    def queueing(self, hashes_count: int) -> Iterator[None]:
        """Count a request with slow hashes until the block ends."""
        self.open()
        self._requests_waiting.inc()
        self._hashes_waiting.inc(hashes_count)
        try:
            yield
        finally:
            self._requests_waiting.dec()
            self._hashes_waiting.dec(hashes_count)

    def count_retry(self, reason: str) -> None:
        """Count a transaction that is tried again, for one of RETRY_REASONS."""
        self.open()
        self._retries.labels(reason).inc()

    def text(self) -> bytes:
        """Return the metrics of all processes in the format of Prometheus."""
        self.open()
        if DIRECTORY not in os.environ:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        for _ in range(_READS_MAX - 1):
            # A worker that starts may have created a file that is still empty.
            with suppress(struct.error):
                return generate_latest(registry)
            time.sleep(_PAUSE_S)
        return generate_latest(registry)
