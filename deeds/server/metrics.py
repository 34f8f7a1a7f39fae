"""The metrics, and their text for Prometheus. All of them are named in docs/operations/watching.md.

With several processes each writes into files of its own, and whichever is asked adds all of them
up: `deeds.server.metrics_files` has prepared that before this module is imported.
"""

import os
from collections.abc import Iterable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector

from deeds.domain.model import SecretClass

CONTENT_TYPE = CONTENT_TYPE_LATEST

# A strong swap takes 1 ms; after 10 s a client has gone.
_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

_ORDINARY = SecretClass.ORDINARY.value


class Metrics:
    """Counts (`deeds.domain.protocols.Measures`) for Prometheus."""

    def __init__(
        self, *, codes: Iterable[str], retry_reasons: Iterable[str], requests_max: int
    ) -> None:
        """Take every problem's code, every reason to try again, and how many may hash at once.

        What is counted from nothing has to be there before: Prometheus sees no increase in a
        series that begins with 1.
        """
        # When a series began, a second series for each: nobody asks.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        own = self._registry = CollectorRegistry()
        self._requests = Histogram(
            "deeds_request_duration_seconds",
            "Time from the first line of a handler to the answer.",
            ["route", "method"],
            buckets=_BUCKETS_S,
            registry=own,
        )
        self._operations = Counter(
            "deeds_operations",
            "Mints, swaps, checks and reads of items by what came of them.",
            ["kind", "outcome"],
            registry=own,
        )
        self._refusals = Counter(
            "deeds_refusals", "Answers that are problems, by code.", ["code"], registry=own
        )
        self._hashes = Counter("deeds_hashes", "Argon2id evaluations.", ["lane"], registry=own)
        self._hash_seconds = Counter(
            "deeds_hash_seconds", "Time that Argon2id evaluations took.", ["lane"], registry=own
        )
        self._retries = Counter(
            "deeds_database_retries", "Transactions tried again.", ["reason"], registry=own
        )
        self._queue_requests = _gauge(
            own, "deeds_hash_queue_requests", "Requests in the lane, running or waiting."
        )
        self._queue_hashes = _gauge(
            own, "deeds_hash_queue_hashes", "Evaluations in the lane, running or waiting."
        )
        _gauge(own, "deeds_hash_queue_requests_max", "Requests that the lane takes at once.").set(
            requests_max
        )
        self._begin(codes, retry_reasons)

    def count_request(self, route: str, method: str, seconds: float) -> None:
        """Count a request of a route and how long it took."""
        self._requests.labels(route, method).observe(seconds)

    def count_operation(self, kind: str, outcome: str) -> None:
        """Count what came of a mint, swap, check or read of an item."""
        self._operations.labels(kind, outcome).inc()

    def count_refusal(self, code: str) -> None:
        """Count an answer that is a problem."""
        self._refusals.labels(code).inc()

    def count_hashes(self, lane: SecretClass, count: int, seconds: float) -> None:
        """Count evaluations and the time they took together."""
        self._hashes.labels(lane.value).inc(count)
        self._hash_seconds.labels(lane.value).inc(seconds)

    def set_queue(self, requests_count: int, hashes_count: int) -> None:
        """Tell what is in the lane of ordinary secrets, running or waiting."""
        self._queue_requests.set(requests_count)
        self._queue_hashes.set(hashes_count)

    def count_retry(self, reason: str) -> None:
        """Count a transaction that is tried again."""
        self._retries.labels(reason).inc()

    def text(self) -> bytes:
        """Return the metrics of all processes in the format of Prometheus."""
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return generate_latest(self._registry)
        everybody = CollectorRegistry()
        MultiProcessCollector(everybody)  # type: ignore[no-untyped-call]
        return generate_latest(everybody)

    def _begin(self, codes: Iterable[str], retry_reasons: Iterable[str]) -> None:
        for code in codes:
            self._refusals.labels(code)
        for reason in retry_reasons:
            self._retries.labels(reason)
        for lane in SecretClass:
            self._hashes.labels(lane.value)
            self._hash_seconds.labels(lane.value)


def _gauge(registry: CollectorRegistry, name: str, meaning: str) -> Gauge:
    # Added up over the processes that live.
    family = Gauge(name, meaning, ["lane"], registry=registry, multiprocess_mode="livesum")
    return family.labels(_ORDINARY)
