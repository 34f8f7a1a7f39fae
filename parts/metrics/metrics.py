"""The metrics in docs/operations/watching.md, and their text for Prometheus.

Under gunicorn this uses prometheus-client's multiprocess mode: each worker counts in
its own files, and the worker that serves /metrics sums them up.
"""

import os
import struct
import time
from collections.abc import Iterable
from contextlib import suppress
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

# Maximum of attempts to read the files. A starting worker fills a new file within
# microseconds.
_READS_MAX = 100
_PAUSE_S = 0.01

# The reasons of retries that databases report.
_RETRY_REASONS = ("conflict", "disconnect", "checkpoint")

# Where prometheus-client looks for the directory of the files.
DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"


class Metrics:
    """The series of this process. Thread-safe. No label is an id."""

    def __init__(self, codes: Iterable[str], requests_max: int) -> None:
        """Create the series, with one for each code of a problem.

        Create them after a fork, or they would count in the files of another process.
        `requests_max` is the maximum number of requests with slow hashes.
        """
        # Omit the time of creation, which would be a second series for each.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        registry = self._registry = CollectorRegistry()
        counter = partial(Counter, registry=registry)
        # Summed over the live processes.
        gauge = partial(Gauge, registry=registry, multiprocess_mode="livesum")

        self.requests = Histogram(
            "deeds_request_duration_seconds",
            "Time from the first line of a handler to the answer.",
            ["route", "method"],
            buckets=_BUCKETS_S,
            registry=registry,
        )
        self.operations = counter(
            "deeds_operations", "Operations by outcome.", ["kind", "outcome"]
        )
        self.refusals = counter(
            "deeds_refusals", "Answers that are problems, by code.", ["code"]
        )
        self.hash_seconds = Summary(
            "deeds_hash_seconds",
            "Time of Argon2id evaluations.",
            ["secret_class"],
            registry=registry,
        )
        self.retries = counter(
            "deeds_database_retries", "Transactions tried again.", ["reason"]
        )
        self.log_lines_dropped = counter(
            "deeds_log_lines_dropped", "Lines of the log that could not be written."
        )
        self.requests_waiting = gauge(
            "deeds_hash_queue_requests", "Requests with slow hashes."
        )
        self.hashes_waiting = gauge(
            "deeds_hash_queue_hashes", "Slow hashes of these requests."
        )
        gauge(
            "deeds_hash_queue_requests_max", "Requests with slow hashes at most."
        ).set(requests_max)
        self._begin_at_0(codes)

    def _begin_at_0(self, codes: Iterable[str]) -> None:
        # Prometheus detects no increase if a series first appears as 1.
        for code in codes:
            self.refusals.labels(code)
        for reason in _RETRY_REASONS:
            self.retries.labels(reason)
        for secret_class in ("ordinary", "strong"):
            self.hash_seconds.labels(secret_class)

    def text(self) -> bytes:
        """Return the metrics of all processes in the format of Prometheus."""
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
