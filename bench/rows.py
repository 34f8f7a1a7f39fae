"""The rows without an attack: swaps, hashes, reads, memory and start."""

import json
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from bench.bare_app import METADATA
from bench.payload import (
    SecretKind,
    completions,
    get,
    item_id_of,
    make_offers,
    mint_item,
    swaps,
)
from bench.run import CLIENTS_COUNT, Measurement, Row, Run, median_of, ratio
from bench.server import Server, running, sqlite_url
from deeds.hashing import ORDINARY_COST, HashJob, argon2id
from deeds.process import usable_cpus_count
from tests.support.pgbouncer import behind, running_pgbouncer
from tests.support.serving import children_rss_mb

# From this many swaps on, memory should hardly grow.
MEMORY_FLAT_FROM = 10_000


def strong(run: Run) -> list[Row]:
    """Measure swaps without slow hashing, beside bare Flask and on both databases."""
    # A body as long as that of a swap.
    body = next(swaps(f"+1.deed_{'0' * 26}.{'0' * 32}", SecretKind.STRONG))
    sqlite, postgres = run.on_both_databases()
    bare = run.bare()
    results = run.alternate(
        sqlite=lambda: run.swap(sqlite),
        bare=lambda: run.repeat(bare, [body]),
        postgresql=lambda: run.swap(postgres),
        completed=lambda: _complete(run, sqlite),
        on_postgres=lambda: _complete(run, postgres),
    )
    p99_ms = [each.p99_ms for each in results["sqlite"]]
    p50 = f"p50 {median_of(results, 'sqlite', 'p50_ms'):.1f} ms"
    name = "strong secrets: CPU of a swap ÷ of a bare Flask POST"
    on_postgres = "strong secrets: swaps/s on PostgreSQL ÷ SQLite"
    of_offer = "strong secrets: CPU of an offer's completion ÷ of a swap"
    return [
        ratio(name, "≤ 2.6", results, "sqlite", "bare", "cpu_ms"),
        ratio(
            "strong secrets: swaps/s ÷ bare Flask POSTs/s",
            "≥ 0.25",
            results,
            "sqlite",
            "bare",
        ),
        Row("strong secrets: p99", "≤ 50 ms", p99_ms, note=p50),
        ratio(on_postgres, "≥ 0.6", results, "postgresql", "sqlite"),
        ratio(f"{of_offer}, SQLite", "≤ 1.4", results, "completed", "sqlite", "cpu_ms"),
        ratio(
            f"{of_offer}, PostgreSQL",
            "≤ 1.4",
            results,
            "on_postgres",
            "postgresql",
            "cpu_ms",
        ),
    ]


def _complete(run: Run, server: Server) -> Measurement:
    """Measure completions of offers, which are prepared and may run out early."""
    paid = [completions(server.port, 200) for _ in range(CLIENTS_COUNT)]
    return run.measure(server, [partial(iter, each) for each in paid], run.seconds)


def ordinary(run: Run) -> list[Row]:
    """Measure ordinary swaps against the speed of argon2-cffi alone."""
    sqlite, postgres = run.on_both_databases()
    # With 16 clients a swap takes a quarter of a second. Measure longer, because only
    # swaps that are answered in time count.
    seconds = 3 * run.seconds
    kind = SecretKind.ORDINARY
    results = run.alternate(
        sqlite=lambda: run.swap(sqlite, kind, seconds=seconds),
        postgresql=lambda: run.swap(postgres, kind, seconds=seconds),
        # A 1-to-1 swap hashes two secrets: of its input and of its output.
        alone=lambda: Measurement(hashes_per_s(run.seconds) / 2),
    )
    name = "ordinary secrets: swaps/s ÷ half of the hashes/s of argon2-cffi alone"
    return [
        ratio(f"{name}, SQLite", "≥ 0.85", results, "sqlite", "alone"),
        ratio(f"{name}, PostgreSQL", "≥ 0.85", results, "postgresql", "alone"),
    ]


def hashes_per_s(seconds: float) -> float:
    """Return the ordinary secrets per second that argon2-cffi hashes on all CPUs."""
    job = HashJob("somebody's secret", b"16 bytes of salt", ORDINARY_COST, None)
    started_s = time.monotonic()

    def hash_until_then(_: int) -> int:
        count = 0
        while time.monotonic() < started_s + seconds:
            argon2id(job)
            count += 1
        return count

    with ThreadPoolExecutor(usable_cpus_count()) as pool:
        count = sum(pool.map(hash_until_then, range(usable_cpus_count())))
    return count / (time.monotonic() - started_s)


def pooler(run: Run) -> list[Row]:
    """Measure PostgreSQL through pgbouncer, if that is installed."""
    if shutil.which("pgbouncer") is None:
        return []
    url = run.postgres().create_migrated_database()
    direct = run.service("direct", url)
    pooled = run.service(
        "pgbouncer", behind(url, run.stack.enter_context(running_pgbouncer(url)))
    )
    results = run.alternate(
        direct=lambda: run.swap(direct), pgbouncer=lambda: run.swap(pooled)
    )
    name = "strong secrets, PostgreSQL: swaps/s through pgbouncer ÷ direct"
    return [ratio(name, "≥ 0.7", results, "pgbouncer", "direct")]


def reads(run: Run) -> list[Row]:
    """Measure reads beside a bare Flask route that returns as much JSON."""
    bare, rows = run.bare(), []
    for database, server in zip(
        ("SQLite", "PostgreSQL"), run.on_both_databases(), strict=True
    ):
        items, offers = _registered(server)
        results = run.alternate(
            items=partial(run.repeat, server, items),
            offers=partial(run.repeat, server, offers),
            bare=partial(run.repeat, bare, items),
        )
        item = f"GET /v1/item/{{id}}, {database}: reads/s ÷ bare Flask"
        offer = f"GET /v1/offers/{{id}}, {database}: reads/s ÷ bare Flask"
        rows += [
            ratio(item, "≥ 0.5", results, "items", "bare"),
            ratio(offer, "≥ 0.4", results, "offers", "bare"),
        ]
    return rows


def _registered(server: Server) -> tuple[list[bytes], list[bytes]]:
    """Mint items and make offers; return the requests that read them."""
    metadata = json.loads(METADATA)
    minted = [
        mint_item(server.port, 1, SecretKind.STRONG, metadata) for _ in range(256)
    ]
    ids = [item_id_of(raw_output) for [raw_output] in minted]
    requested = [f"+1.{item_id}.{SecretKind.STRONG.make()}" for item_id in ids]
    offers = [get(path) for path in make_offers(server.port, requested)]
    return [get(f"/v1/item/{item_id}") for item_id in ids], offers


def memory(run: Run) -> list[Row]:
    """Measure the memory of the worker processes during many swaps."""
    server = run.service("memory")
    swaps_count = 100_000 if run.is_long else 20_000
    done, mb_by_swaps = 0, {}
    while done < swaps_count:
        done += 1 + int(
            run.swap(server, seconds=5 * run.seconds).rate * 5 * run.seconds
        )
        mb_by_swaps[done] = max(children_rss_mb(server.pid))
    after = mb_by_swaps[done]
    before = next(mb for count, mb in mb_by_swaps.items() if count >= MEMORY_FLAT_FROM)
    growth = f"memory after {swaps_count:,} swaps ÷ after {MEMORY_FLAT_FROM:,}"
    return [
        Row("memory of each process", "≤ 110 MB", [after]),
        Row(growth, "≤ 1.05", [after / before]),
    ]


def start(run: Run) -> list[Row]:
    """Measure the time from the execution of gunicorn to the first answer."""
    url, values = sqlite_url(run.directory), []
    # The first start creates the database and does not count.
    for _ in range(8):
        started_s = time.monotonic()
        with running(run.directory, "sqlite", url):
            values.append(time.monotonic() - started_s)
    return [Row("start to first answer, existing database", "≤ 1.5 s", values[1:])]
