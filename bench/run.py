"""Shared by all rows of the table: a run, its measurements, and the table."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from itertools import cycle
from pathlib import Path
from statistics import median

from bench.load import Stretch, quantile_ms, start_load
from bench.payload import Requests, SecretKind, mint_item, swaps
from bench.server import BARE, Server, running
from tests.support.postgres import PostgresCluster, running_cluster

CLIENTS_COUNT = 16
WARM_UP_SECONDS = 0.4


@dataclass(frozen=True, slots=True)
class Measurement:
    """The result of one stretch of load on one server.

    `rate` is per second. `cpu_ms` is the CPU per 200, including that of PostgreSQL.
    """

    rate: float
    refused_count: int = 0
    p50_ms: float = 0.0
    p99_ms: float = 0.0
    cpu_ms: float = 0.0


Results = dict[str, list[Measurement]]

# The points of each line of each curve.
Curves = dict[str, dict[str, list[tuple[float, float]]]]


@dataclass(frozen=True, slots=True)
class Row:
    """One figure per round, mostly a ratio, and its target, such as `≤ 50 ms`."""

    name: str
    target: str
    values: Sequence[float]
    refused_count: int = 0
    note: str = ""

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the table. A row with refused requests does not pass."""
        middle = median(self.values)
        sign, bound, *_ = self.target.split()
        is_met = middle >= float(bound) if sign == "≥" else middle <= float(bound)
        verdict = "pass" if is_met and not self.refused_count else "short"
        if self.refused_count:
            verdict += f", {self.refused_count} refused"
        figures = (middle, min(self.values), max(self.values))
        return (self.name, self.target, *map(_shown, figures), verdict)


@dataclass(frozen=True, slots=True)
class Run:
    """Measures servers, with the same clients and for the same time."""

    rounds: int
    seconds: float
    is_long: bool
    # On a real disk; removed after the run.
    directory: Path
    pool: ProcessPoolExecutor
    say: Callable[[str], None]
    # Stops the servers of the row that is being measured.
    stack: ExitStack
    curves: Curves = field(default_factory=dict)

    def service(self, name: str, url: str | None = None, **settings: str) -> Server:
        return self.stack.enter_context(running(self.directory, name, url, **settings))

    def bare(self) -> Server:
        return self.stack.enter_context(
            running(self.directory, "bare", application=BARE)
        )

    def on_both_databases(self) -> tuple[Server, Server]:
        """Start the service on SQLite and on PostgreSQL."""
        url = self.postgres().create_migrated_database()
        return self.service("sqlite"), self.service("postgresql", url)

    def postgres(self) -> PostgresCluster:
        return self.stack.enter_context(running_cluster())

    def add_point(self, curve: str, line: str, x: float, y: float) -> None:
        self.curves.setdefault(curve, {}).setdefault(line, []).append((x, y))

    def alternate(self, **measured: Callable[[], Measurement]) -> Results:
        """Measure each in turn, in every round; return the results by name."""
        results: Results = {name: [] for name in measured}
        for _ in range(self.rounds):
            for name, measure in measured.items():
                results[name].append(measure())
        return results

    def swap(
        self,
        server: Server,
        kind: SecretKind = SecretKind.STRONG,
        *,
        clients_count: int = CLIENTS_COUNT,
        raw_outputs: Sequence[str] = (),
        addresses: Sequence[str] = (),
        seconds: float | None = None,
    ) -> Measurement:
        """Measure swaps, one client for each output.

        Without `raw_outputs`, mint one for each client first.
        """
        raws = raw_outputs or [
            mint_item(server.port, 1, kind)[0] for _ in range(clients_count)
        ]
        forwarded = addresses or (None,) * len(raws)
        chains = [
            partial(swaps, raw, kind, address)
            for raw, address in zip(raws, forwarded, strict=True)
        ]
        return self.measure(server, chains, seconds or self.seconds)

    def repeat(self, server: Server, requests: list[bytes]) -> Measurement:
        """Measure clients that repeat these requests."""
        return self.measure(
            server, [partial(cycle, requests)] * CLIENTS_COUNT, self.seconds
        )

    def measure(
        self, server: Server, requests: Sequence[Requests], seconds: float
    ) -> Measurement:
        """Measure one stretch of load after a warm-up."""
        stretch = Stretch.soon(seconds, WARM_UP_SECONDS)
        wait = start_load(self.pool, server.port, requests, stretch)
        time.sleep(max(0.0, stretch.counted_from_s - time.monotonic()))
        before_s = server.cpu_s()
        time.sleep(max(0.0, stretch.end_s - time.monotonic()))
        cpu_s = server.cpu_s() - before_s
        answers = wait()
        latencies_s = answers.get(HTTPStatus.OK, [])
        rate = len(latencies_s) / seconds
        self.say(f"{server.name} {rate:,.0f}/s")
        return Measurement(
            rate=rate,
            refused_count=sum(map(len, answers.values())) - len(latencies_s),
            p50_ms=quantile_ms(latencies_s, 0.50),
            p99_ms=quantile_ms(latencies_s, 0.99),
            cpu_ms=cpu_s / max(1, len(latencies_s)) * 1000,
        )


def ratio(
    name: str,
    target: str,
    results: Results,
    upper: str,
    lower: str,
    figure: str = "rate",
) -> Row:
    """Return a row of `upper` ÷ `lower` in each round; its note has the medians."""
    pairs = list(zip(results[upper], results[lower], strict=True))
    values = [getattr(one, figure) / getattr(other, figure) for one, other in pairs]
    refused_count = sum(one.refused_count + other.refused_count for one, other in pairs)
    figures = (f"{each} {_shown(median_of(results, each, figure))}" for each in results)
    return Row(name, target, values, refused_count, f"{figure}: {', '.join(figures)}")


def median_of(results: Results, name: str, figure: str) -> float:
    return float(median(getattr(each, figure) for each in results[name]))


def _shown(figure: float) -> str:
    return f"{figure:.3g}" if figure < 100 else f"{figure:,.0f}"


def table(rows: Sequence[Row]) -> str:
    """Return the table as text, each row followed by its note."""
    cells = [
        ("", "target", "median", "min", "max", "verdict"),
        *(row.cells() for row in rows),
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for line, note in zip(cells, ["", *(row.note for row in rows)], strict=True):
        padded = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        lines.append("  ".join(padded).rstrip())
        lines += [f"    {note}"] if note else []
    return "\n".join(lines)
