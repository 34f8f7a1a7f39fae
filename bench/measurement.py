"""One measured stretch of load on one server, and what it took."""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import Any, Self

from bench.load import Load, LoadGenerator
from bench.payload import Requests
from bench.processes import machine_cpu_s, tree_cpu_s
from bench.server import Server
from deeds.server.cpus import usable_cpus_count

_MS_PER_S = 1000


@dataclass(frozen=True, slots=True)
class Measurement:
    """The figures of one stretch. CPU is per request that was answered 200."""

    server: str
    clients_count: int
    seconds: float
    ok_count: int
    refused: dict[int, int]
    connection_errors_count: int
    ran_out_count: int
    rate: float
    p50_ms: float
    p99_ms: float
    server_cpu_ms: float
    postgres_cpu_ms: float
    # CPU of the clients ÷ CPU of clients, server and PostgreSQL together.
    client_cpu_share: float
    # CPU of all else ÷ all CPU that there was: how far the figures can be trusted.
    others_cpu_share: float

    @property
    def refused_count(self) -> int:
        """Return how many requests were not answered 200, or not at all."""
        return sum(self.refused.values()) + self.connection_errors_count

    @property
    def all_cpu_ms(self) -> float:
        """Return the CPU of a request in the service and in PostgreSQL together."""
        return self.server_cpu_ms + self.postgres_cpu_ms

    def as_json(self) -> dict[str, Any]:
        """Return the fields."""
        return asdict(self)


def measure(
    load: LoadGenerator,
    server: Server,
    requests: Sequence[Requests],
    *,
    seconds: float,
    warm_up_seconds: float = 0.0,
    beside: AbstractContextManager[None] | None = None,
) -> Measurement:
    """Put the load on the server for so many seconds and return what it took.

    What is `beside` it is entered once all requests are made, and left when they are answered.
    """
    load.prepare(server.port, requests, warm_up_seconds=warm_up_seconds)
    with beside or nullcontext():
        before = _Used.so_far(server)
        done = load.run(seconds)
        used = _Used.so_far(server).minus(before)
    return _measurement(server, len(requests), done, used)


@dataclass(frozen=True, slots=True)
class _Used:
    """CPU seconds, and when that was."""

    server_s: float
    postgres_s: float
    machine_s: float
    at_s: float

    @classmethod
    def so_far(cls, server: Server) -> Self:
        postgres_pids = [server.postgres_pid] if server.postgres_pid else []
        return cls(
            tree_cpu_s([server.master_pid]),
            tree_cpu_s(postgres_pids),
            machine_cpu_s(),
            time.monotonic(),
        )

    def minus(self, before: Self) -> "_Used":
        return _Used(
            self.server_s - before.server_s,
            self.postgres_s - before.postgres_s,
            self.machine_s - before.machine_s,
            self.at_s - before.at_s,
        )


def _measurement(server: Server, clients_count: int, done: Load, used: _Used) -> Measurement:
    requests_count = max(1, done.ok_count)
    ours_s = done.client_cpu_s + used.server_s + used.postgres_s
    there_was_s = used.at_s * usable_cpus_count()
    return Measurement(
        server=server.name,
        clients_count=clients_count,
        seconds=done.seconds,
        ok_count=done.ok_count,
        refused=done.refused,
        connection_errors_count=done.connection_errors_count,
        ran_out_count=done.ran_out_count,
        rate=done.rate,
        p50_ms=done.quantile_s(0.50) * _MS_PER_S,
        p99_ms=done.quantile_s(0.99) * _MS_PER_S,
        server_cpu_ms=used.server_s / requests_count * _MS_PER_S,
        postgres_cpu_ms=used.postgres_s / requests_count * _MS_PER_S,
        client_cpu_share=done.client_cpu_s / ours_s if ours_s else 0.0,
        others_cpu_share=max(0.0, used.machine_s - ours_s) / there_was_s,
    )
