"""The metrics, and their text for Prometheus. docs/operations/watching.md names all of them.

Under gunicorn this is prometheus-client's multiprocess mode: each worker counts in files of its
own, and whichever is asked adds all of them up.
"""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
    values,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from deeds.domain.model import SecretClass

# A strong swap takes 1 ms; after 10 s a client has gone.
_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

# Where prometheus-client looks for the directory of the files.
_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
_PREFIX = "deeds-metrics-"

# Room for all series that can ever be, allocated beforehand: a write into a file that has to grow
# while memory is full would kill the process.
_FILE_SIZES = {"counter": 65_536, "histogram": 524_288, "gauge_livesum": 65_536}

# A younger directory may be one that its owner has not locked yet.
_ABANDONED_AFTER_S = 60.0


class Metrics:
    """Counts for Prometheus: the `HashMeasures` and `RequestMeasures` of the service."""

    def __init__(
        self, codes: Iterable[str], retry_reasons: Iterable[str], requests_max: int
    ) -> None:
        """Create the metrics; `requests_max` is how many requests with slow hashes may be there.

        Codes and reasons begin with 0: Prometheus sees no increase in what begins with 1.
        """
        # When a series began, a second series for each: nobody asks.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        registry = self._registry = CollectorRegistry()

        def counter(name: str, meaning: str, *labels: str) -> Counter:
            return Counter(name, meaning, labels, registry=registry)

        def gauge(name: str, meaning: str) -> Gauge:
            # Added up over the processes that live.
            family = Gauge(
                name, meaning, ["secret_class"], registry=registry, multiprocess_mode="livesum"
            )
            return family.labels(SecretClass.ORDINARY.value)

        self._requests = Histogram(
            "deeds_request_duration_seconds",
            "Time from the first line of a handler to the answer.",
            ["route", "method"],
            buckets=_BUCKETS_S,
            registry=registry,
        )
        self._operations = counter("deeds_operations", "Operations by outcome.", "kind", "outcome")
        self._refusals = counter("deeds_refusals", "Answers that are problems, by code.", "code")
        self._hashes = counter("deeds_hashes", "Argon2id evaluations.", "secret_class")
        self._hash_seconds = counter(
            "deeds_hash_seconds", "Time of Argon2id evaluations.", "secret_class"
        )
        self._retries = counter("deeds_database_retries", "Transactions tried again.", "reason")
        self._requests_waiting = gauge("deeds_hash_queue_requests", "Requests with slow hashes.")
        self._hashes_waiting = gauge("deeds_hash_queue_hashes", "Slow hashes, running or waiting.")
        gauge("deeds_hash_queue_requests_max", "Requests with slow hashes at most.").set(
            requests_max
        )
        for code in codes:
            self._refusals.labels(code)
        for reason in retry_reasons:
            self._retries.labels(reason)
        for secret_class in SecretClass:
            self._hashes.labels(secret_class.value)
            self._hash_seconds.labels(secret_class.value)

    def count_request(self, route: str, method: str, seconds: float) -> None:
        """Count a request of a route and how long it took."""
        self._requests.labels(route, method).observe(seconds)

    def count_operation(self, kind: str, outcome: str) -> None:
        """Count what came of a mint, swap, check or read of an item."""
        self._operations.labels(kind, outcome).inc()

    def count_refusal(self, code: str) -> None:
        """Count an answer that is a problem."""
        self._refusals.labels(code).inc()

    def count_hash(self, secret_class: SecretClass, seconds: float) -> None:
        """Count an evaluation and its time."""
        self._hashes.labels(secret_class.value).inc()
        self._hash_seconds.labels(secret_class.value).inc(seconds)

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
        if _DIRECTORY in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


class MetricsFiles:
    """The files in which the workers of one gunicorn count, in a private directory in memory.

    They are numbered by worker and not by process: a worker that follows one that died goes on in
    its files, so that there are never more files than workers, and no counter ever falls.
    """

    def __init__(self, parent: str) -> None:
        """Create the directory in `parent`; remove there what killed services have left."""
        for path in Path(parent).glob(f"{_PREFIX}*"):
            # In use, somebody else's, or removed by another start at this moment.
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _ABANDONED_AFTER_S:
                    os.close(_lock(path))
                    shutil.rmtree(path)
        self.directory = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        # Held until this process and all its workers have ended.
        self._lock = _lock(self.directory)

    def allocate(self, taken: Collection[int]) -> int:
        """Create the files of the first number that is not taken, and return it.

        Raises:
            OSError: there is no room for them.
        """
        number = next(each for each in count() if each not in taken)
        for kind, size in _FILE_SIZES.items():
            with (self.directory / f"{kind}_{number}.db").open("ab") as file:
                os.posix_fallocate(file.fileno(), 0, size)
        return number

    def count_as(self, number: int) -> None:
        """Let this process count in the files of that number; before it creates its metrics."""
        os.environ[_DIRECTORY] = str(self.directory)
        values.ValueClass = values.MultiProcessValue(lambda: number)  # type: ignore[no-untyped-call]

    def free(self, number: int) -> None:
        """Forget what was under way in a worker that has ended, and keep what it has counted."""
        mark_process_dead(number, str(self.directory))  # type: ignore[no-untyped-call]

    def remove(self) -> None:
        """Remove the directory with all that is in it."""
        shutil.rmtree(self.directory, ignore_errors=True)
        os.close(self._lock)


def _lock(directory: Path) -> int:
    """Return a descriptor that holds the lock of a directory, which nobody else may hold."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
