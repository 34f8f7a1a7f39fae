"""One run of the benchmark: its plan, its load processes, and the journal of all measurements."""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.load import LoadGenerator
from bench.measurement import Measurement, measure
from bench.payload import Deed, Repeated, Requests, SecretKind, SwapChain
from bench.row import Row
from bench.server import Server

CLIENTS_COUNT = 16

# More than any server here can do, so that no client runs out of requests before its time is over.
_REQUESTS_PER_SECOND_MAX = {SecretKind.ORDINARY: 2_000, SecretKind.STRONG: 8_000}
_READS_PER_SECOND_MAX = 30_000

# The clients of one process get more than those of another when its connections are fewer.
_UNEVENNESS = 2


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure."""

    rounds: int
    seconds: float
    warm_up_seconds: float
    long: bool


@dataclass(frozen=True, slots=True)
class Run:
    """What the rows and curves of one run share."""

    plan: Plan
    load: LoadGenerator
    # On a real disk; removed after the run.
    directory: Path
    # Tells the progress bar what was just done or is going on, and how many steps that was.
    progress: Callable[[str, int], None]
    measurements: list[Measurement] = field(default_factory=list)
    curves: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)

    def measure(
        self,
        server: Server,
        requests: Sequence[Requests],
        *,
        seconds: float | None = None,
        beside: AbstractContextManager[None] | None = None,
    ) -> Measurement:
        """Measure one stretch, with the plan's warm-up before it and this `beside` it."""
        measurement = measure(
            self.load,
            server,
            requests,
            seconds=seconds or self.plan.seconds,
            warm_up_seconds=self.plan.warm_up_seconds,
            beside=beside,
        )
        # A client that has nothing left to send makes the others look faster.
        assert measurement.ran_out_count == 0, "this server needs more requests than were made"
        return self._noted(measurement)

    def measure_all(
        self, server: Server, requests: Sequence[Requests], *, seconds_max: float
    ) -> Measurement:
        """Measure until all requests are answered, without a warm-up."""
        return self._noted(measure(self.load, server, requests, seconds=seconds_max))

    def swaps(self, deeds: Sequence[Deed], kind: SecretKind) -> list[SwapChain]:
        """Return a chain for each deed, long enough for one stretch."""
        count = self._count(_REQUESTS_PER_SECOND_MAX[kind], len(deeds))
        return [SwapChain(deed, kind, count) for deed in deeds]

    def repeated(self, requests: tuple[bytes, ...]) -> list[Repeated]:
        """Return the requests for each client, over and over for one stretch."""
        return [Repeated(requests, self._count(_READS_PER_SECOND_MAX, 1))] * CLIENTS_COUNT

    def _count(self, per_second_max: int, clients_count: int) -> int:
        seconds = self.plan.warm_up_seconds + self.plan.seconds
        return math.ceil(per_second_max * seconds * _UNEVENNESS / clients_count)

    def _noted(self, measurement: Measurement) -> Measurement:
        self.measurements.append(measurement)
        self.progress(f"{measurement.server} {measurement.rate:,.0f}/s", 1)
        return measurement


@dataclass(frozen=True, slots=True)
class Section:
    """Rows or curves that are measured together."""

    name: str
    # How many steps the progress bar will see.
    steps_count: Callable[[Plan], int]
    measure: Callable[[Run], list[Row]]
