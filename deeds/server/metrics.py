"""The metrics, and their text for Prometheus.

Docs/operations/watching.md names all of them.

Under gunicorn this is prometheus-client's multiprocess mode: each worker counts in
files of its own, and whichever is asked adds all of them up.
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
from prometheus_client.multiprocess import MultiProcessCollector

from deeds.domain.model import SecretClass

OPERATIONS = {
    "/v1/mint": "mint",
    "/v1/swap": "swap",
    "/v1/check": "check",
    "/v1/item/<item_id>": "item",
    "/v1/offers": "offer",
    "/v1/offers/<offer_id>": "read_offer",
    "/v1/offers/<offer_id>/complete": "complete",
    "/item/<item_id>": "item",
}

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

# Where prometheus-client looks for the directory of the files.
DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"


class Metrics:
    """Counts for Prometheus.

    Any thread may use it, and no label may be an id or a path.
    """

    def __init__(
        self, codes: Iterable[str], retry_reasons: Iterable[str], requests_max: int
    ) -> None:
        """Create the metrics.

        `requests_max` is how many requests with slow hashes may be there.

        Codes and reasons begin with 0: Prometheus sees no increase in what begins with
        1.
        """
        # When a series began, a second series for each: nobody asks.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        registry = self._registry = CollectorRegistry()

        def counter(name: str, meaning: str, *labels: str) -> Counter:
            return Counter(name, meaning, labels, registry=registry)

        def gauge(name: str, meaning: str) -> Gauge:
            # Added up over the processes that live.
            family = Gauge(
                name,
                meaning,
                ["secret_class"],
                registry=registry,
                multiprocess_mode="livesum",
            )
            return family.labels(SecretClass.ORDINARY.value)

        self._requests = Histogram(
            "deeds_request_duration_seconds",
            "Time from the first line of a handler to the answer.",
            ["route", "method"],
            buckets=_BUCKETS_S,
            registry=registry,
        )
        self._operations = counter(
            "deeds_operations", "Operations by outcome.", "kind", "outcome"
        )
        self._refusals = counter(
            "deeds_refusals", "Answers that are problems, by code.", "code"
        )
        hashes = counter("deeds_hashes", "Argon2id evaluations.", "secret_class")
        seconds = counter(
            "deeds_hash_seconds", "Time of Argon2id evaluations.", "secret_class"
        )
        self._hashes = {
            each: (hashes.labels(each.value), seconds.labels(each.value))
            for each in SecretClass
        }
        self._retries = counter(
            "deeds_database_retries", "Transactions tried again.", "reason"
        )
        self._requests_waiting = gauge(
            "deeds_hash_queue_requests", "Requests with slow hashes."
        )
        self._hashes_waiting = gauge(
            "deeds_hash_queue_hashes", "Slow hashes, running or waiting."
        )
        gauge(
            "deeds_hash_queue_requests_max", "Requests with slow hashes at most."
        ).set(requests_max)
        for code in codes:
            self._refusals.labels(code)
        for reason in retry_reasons:
            self._retries.labels(reason)

    def count_request(
        self, route: str, method: str, seconds: float, outcome: str
    ) -> None:
        """Count a request: `outcome` is done, replayed or the code of a problem."""
        self._requests.labels(route, method).observe(seconds)
        if outcome not in {"done", "replayed"}:
            self._refusals.labels(outcome).inc()
        if route in OPERATIONS and method != "OPTIONS":
            self._operations.labels(OPERATIONS[route], outcome).inc()

    def count_hash(self, secret_class: SecretClass, seconds: float) -> None:
        """Count an evaluation and its time."""
        hashes, hash_seconds = self._hashes[secret_class]
        hashes.inc()
        hash_seconds.inc(seconds)

    def set_queue(self, requests_count: int, hashes_count: int) -> None:
        """Set how many requests and slow hashes run or wait."""
        self._requests_waiting.set(requests_count)
        self._hashes_waiting.set(hashes_count)

    def count_retry(self, reason: str) -> None:
        """Count a transaction that is tried again."""
        self._retries.labels(reason).inc()

    def text(self) -> bytes:
        """Return the metrics of all processes in the format of Prometheus."""
        registry = self._registry
        if DIRECTORY in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
