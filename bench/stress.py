"""The rows under attack, by guesses and by greedy, numerous and slow clients."""

import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from http import HTTPStatus
from itertools import cycle

from bench.load import Answers, Stretch, quantile_ms, start_load
from bench.payload import (
    Requests,
    SecretKind,
    item_id_of,
    mint_body,
    mint_item,
    post,
)
from bench.rows import hashes_per_s
from bench.run import (
    CLIENTS_COUNT,
    WARM_UP_SECONDS,
    Measurement,
    Results,
    Row,
    Run,
    ratio,
)
from bench.server import Server
from tests.support.abusers import ABUSES, abusing

# Wrong secrets sent per second, as a multiple of this machine's hashing rate.
OVERLOAD = 10
WRONG_COUNT = 16

# More requests than two processes admit to hashing, 24 each.
BESIDE_COUNT = 60

# Connections of each of three processes, together more than the service accepts.
CROWD_COUNT = 500

SLOW_CLIENTS_COUNT = 300

# Guests waiting at a door, and the interval at which each one's page polls its code.
CODES_COUNT = 500
CODE_INTERVAL_S = 2


def flood(run: Run) -> list[Row]:
    """Measure strong swaps during a flood of wrong secrets, and its refusals."""
    capacity = hashes_per_s(run.seconds)
    # The limit of wrong secrets would end the flood at once.
    server = run.service("flooded", DEEDS_RATE_LIMITS="failures=off")
    item_id = item_id_of(mint_item(server.port, 1, SecretKind.STRONG)[0])
    wrong = [f"+1.{item_id}.{SecretKind.ORDINARY.make()}" for _ in range(WRONG_COUNT)]
    guesses = [partial(cycle, [post("/v1/check", {"outputs": wrong})])] * BESIDE_COUNT
    interval_s = BESIDE_COUNT * WRONG_COUNT / (OVERLOAD * capacity)
    floods: list[Answers] = []
    results = _alternate(
        run,
        partial(run.swap, server),
        partial(_beside, run, server, guesses, run.seconds, interval_s, floods),
    )
    refusals_s = [each.get(HTTPStatus.SERVICE_UNAVAILABLE, []) for each in floods]
    p99_ms = [quantile_ms(each, 0.99) for each in refusals_s]
    name = "flood of wrong ordinary secrets: strong swaps/s during it ÷ without it"
    note = f"{sum(map(len, refusals_s)):,} refused; {capacity:,.0f} hashes/s alone"
    return [
        ratio(name, "≥ 0.6", results, "beside", "alone"),
        Row("flood: p99 of its refusals", "≤ 60 ms", p99_ms, note=note),
    ]


def fairness(run: Run) -> list[Row]:
    """Measure ordinary swaps of others beside one client that mints continuously."""
    server = run.service("fairness", DEEDS_TRUSTED_PROXIES="1")
    # Swaps of ordinary secrets take long, and so do the mints beside them.
    seconds = 3 * run.seconds
    others = [f"192.0.2.{number}" for number in range(1, CLIENTS_COUNT + 1)]
    body = mint_body(256, SecretKind.ORDINARY)
    mints = [partial(cycle, [post("/v1/mint", body, "198.51.100.1")])] * 10
    results = _alternate(
        run,
        partial(
            run.swap, server, SecretKind.ORDINARY, addresses=others, seconds=seconds
        ),
        partial(_beside, run, server, mints, seconds),
    )
    name = "10 connections mint 256 secrets each: ordinary swaps/s of 16 others ÷ alone"
    return [ratio(name, "≥ 0.5", results, "beside", "alone")]


def crowd(run: Run) -> list[Row]:
    """Measure /v1/info on new connections while another client holds too many."""
    server = run.service("crowded")
    for _ in range(3):
        run.pool.submit(_keep_connected, server.port)
    reads = partial(cycle, [b"GET /v1/info HTTP/1.0\r\n\r\n"])
    measured = [run.measure(server, [reads], run.seconds) for _ in range(run.rounds)]
    name = "1,500 connections of one client: p99 of /v1/info for another"
    p99_ms = [each.p99_ms for each in measured]
    return [Row(name, "≤ 200 ms", p99_ms, sum(each.refused_count for each in measured))]


def _keep_connected(port: int) -> None:
    """Keep connections open from a separate address, until the service stops."""

    def keep(_: int) -> None:
        while True:
            with socket.create_connection(
                ("127.0.0.1", port), 60, ("127.0.0.2", 0)
            ) as client:
                client.recv(1)

    with ThreadPoolExecutor(CROWD_COUNT) as threads:
        threads.map(keep, range(CROWD_COUNT))


def slow_clients(run: Run) -> list[Row]:
    """Measure strong swaps beside clients that send a body byte by byte."""
    server = run.service("slow clients")
    slow = (server.port, [ABUSES["a slow body"]], SLOW_CLIENTS_COUNT, 1.0)
    results = _alternate(run, partial(run.swap, server), partial(abusing, *slow))
    name = f"{SLOW_CLIENTS_COUNT} slow clients: p99 of strong swaps ÷ without them"
    return [ratio(name, "≤ 2", results, "beside", "alone", "p99_ms")]


def codes(run: Run) -> list[Row]:
    """Measure strong swaps while the pages of waiting guests poll their codes."""
    server = run.service("shown codes")
    shown = mint_item(server.port, BESIDE_COUNT, SecretKind.STRONG)
    checks = [partial(cycle, [post("/v1/check", {"outputs": [raw]})]) for raw in shown]
    interval_s = CODE_INTERVAL_S * BESIDE_COUNT / CODES_COUNT
    beside = partial(_beside, run, server, checks, run.seconds, interval_s)
    results = _alternate(run, partial(run.swap, server), beside)
    name = f"{CODES_COUNT} shown codes: p99 of strong swaps ÷ without them"
    return [ratio(name, "≤ 3", results, "beside", "alone", "p99_ms")]


def _alternate(
    run: Run,
    swap: Callable[[], Measurement],
    beside: Callable[[], AbstractContextManager[object]],
) -> Results:
    """Measure swaps alone and beside another load, in every round."""

    def swap_beside() -> Measurement:
        with beside():
            return swap()

    return run.alternate(alone=swap, beside=swap_beside)


@contextmanager
def _beside(
    run: Run,
    server: Server,
    requests: Sequence[Requests],
    seconds: float,
    interval_s: float = 0.0,
    recorded: list[Answers] | None = None,
) -> Iterator[None]:
    """Send these requests during a measurement, its mint and its warm-up.

    Append their answers to `recorded`.
    """
    stretch = Stretch.soon(seconds + 2 * WARM_UP_SECONDS + 1, interval_s=interval_s)
    wait = start_load(run.pool, server.port, requests, stretch)
    yield
    answers = wait()
    if recorded is not None:
        recorded.append(answers)
