"""Puts load on a port from processes of its own, so that clients never wait for each other."""

import math
import multiprocessing
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Self

from bench.load_process import LoadOrder, Tally, serve_loads
from bench.payload import Requests

# So that no process of ours is ever what the fastest server waits for: one drives eight clients at
# some thousand requests a second with a small part of a core.
CLIENTS_PER_PROCESS = 8

CLIENTS_MAX = 32

STOP_SECONDS_MAX = 5.0


@dataclass(frozen=True, slots=True)
class Load:
    """What all clients together have seen."""

    statuses: Counter[int]
    connection_errors_count: int
    ran_out_count: int
    latencies_s: tuple[float, ...]
    seconds: float
    client_cpu_s: float

    @property
    def ok_count(self) -> int:
        """Return how many requests were answered 200."""
        return self.statuses[HTTPStatus.OK]

    @property
    def refused(self) -> dict[int, int]:
        """Return how often each other status was answered, the warm-up included."""
        return {status: n for status, n in self.statuses.items() if status != HTTPStatus.OK}

    @property
    def rate(self) -> float:
        """Return the 200s a second, from the first request to the last answer."""
        return self.ok_count / self.seconds if self.seconds else 0.0

    def quantile_s(self, share: float) -> float:
        """Return the latency that `share` of the 200s did not exceed."""
        if not self.latencies_s:
            return math.nan
        return self.latencies_s[max(0, math.ceil(share * len(self.latencies_s)) - 1)]


class LoadGenerator(AbstractContextManager["LoadGenerator"]):
    """A few processes that wait for orders. Use it in a `with`, which ends them."""

    def __init__(self) -> None:
        """Start the processes."""
        # Spawned, not forked: they share nothing with this process but a pipe.
        context = multiprocessing.get_context("spawn")
        self._workers: list[tuple[BaseProcess, Connection]] = []
        for _ in range(math.ceil(CLIENTS_MAX / CLIENTS_PER_PROCESS)):
            ours, theirs = context.Pipe()
            process = context.Process(target=serve_loads, args=(theirs,), daemon=True)
            process.start()
            theirs.close()
            self._workers.append((process, ours))
        self._busy: list[Connection] = []
        self._warm_up = Tally()

    def __enter__(self) -> Self:
        """Return the generator."""
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the processes, at once if something went wrong."""
        for process, pipe in self._workers:
            if error is None:
                with suppress(BrokenPipeError):
                    pipe.send(None)
                process.join(STOP_SECONDS_MAX)
            process.kill()
            process.join()
            process.close()
            pipe.close()

    def prepare(
        self, port: int, requests: Sequence[Requests], *, warm_up_seconds: float = 0.0
    ) -> None:
        """Make all requests, one element of `requests` a client, and warm up.

        Returns when every client stands still.
        """
        assert 0 < len(requests) <= CLIENTS_MAX
        parts = [
            tuple(requests[start : start + CLIENTS_PER_PROCESS])
            for start in range(0, len(requests), CLIENTS_PER_PROCESS)
        ]
        self._busy = [pipe for _, pipe in self._workers[: len(parts)]]
        for pipe, part in zip(self._busy, parts, strict=True):
            pipe.send(LoadOrder(port, part, warm_up_seconds))
        self._warm_up = _sum([pipe.recv() for pipe in self._busy])

    def run(self, seconds: float) -> Load:
        """Let the clients send for so long, or until they have nothing left."""
        for pipe in self._busy:
            pipe.send(seconds)
        total = _sum([pipe.recv() for pipe in self._busy])
        # What was refused while warming up is not hidden.
        del self._warm_up.statuses[HTTPStatus.OK]
        return Load(
            statuses=total.statuses + self._warm_up.statuses,
            connection_errors_count=total.connection_errors_count
            + self._warm_up.connection_errors_count,
            ran_out_count=total.ran_out_count + self._warm_up.ran_out_count,
            latencies_s=tuple(sorted(total.latencies_s)),
            seconds=total.ended_at_s - total.started_at_s,
            client_cpu_s=total.cpu_s,
        )


def _sum(tallies: Sequence[Tally]) -> Tally:
    return Tally(
        statuses=sum((tally.statuses for tally in tallies), Counter()),
        connection_errors_count=sum(tally.connection_errors_count for tally in tallies),
        ran_out_count=sum(tally.ran_out_count for tally in tallies),
        latencies_s=[latency for tally in tallies for latency in tally.latencies_s],
        started_at_s=min(tally.started_at_s for tally in tallies),
        ended_at_s=max(tally.ended_at_s for tally in tallies),
        cpu_s=sum(tally.cpu_s for tally in tallies),
    )
