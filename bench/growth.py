"""Costs of swaps in a growing ledger, beside an empty one, and the curves."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from itertools import chain, islice, product

import psycopg

from bench.payload import SecretKind, item_id_of, mint_item
from bench.run import CLIENTS_COUNT, Row, Run, median_of, ratio
from bench.server import running, sqlite_url

# Few items, so that each has over a million outputs at the end of the curve.
CURVE_ITEMS_COUNT = 4
CURVE_SIZES = (1_024, 10_000, 100_000, 1_000_000, 10_000_000)
CLIENTS_COUNTS = (1, 2, 4, 8, 16, 32)
MINTED_COUNT = 256
ROUNDS_MAX = MINTED_COUNT // CLIENTS_COUNT

_GROW_ITEM = "UPDATE items SET total = total + ? WHERE id = ?"
# Inserted by ascending digest: several times faster, with the same B-tree.
_ADD = (
    "INSERT INTO outputs (item_id, digest, amount, created_by)"
    " SELECT items.id, {} AS digest, 1, items.created_by FROM items, {}"
    " WHERE items.id = ? ORDER BY digest"
)
_ADD_ON_SQLITE = _ADD.format(
    "randomblob(32)",
    "(WITH RECURSIVE numbers(n) AS ("
    "SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?"
    ") SELECT n FROM numbers)",
)
_ADD_ON_POSTGRES = _ADD.format(
    "uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())",
    "generate_series(1, %s)",
)
# Foreign keys hold by construction, and checking each would take minutes.
_TRUST_FOREIGN_KEYS = "SELECT set_config('session_replication_role', 'replica', true)"


def preload(database_url: str, item_id: str, outputs_count: int) -> None:
    """Add outputs of one unit each to an item by SQL, as if they were in its mint.

    Their secrets are unknown. Stop all services on the database first.
    """
    if not outputs_count:
        return
    values = (outputs_count, item_id)
    # Finish the database's deferred work: WAL, statistics, dirty pages.
    if database_url.startswith("sqlite"):
        path = database_url.removeprefix("sqlite:///")
        with closing(sqlite3.connect(path)) as connection:
            with connection:
                connection.execute(_GROW_ITEM, values)
                connection.execute(_ADD_ON_SQLITE, values)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return
    with psycopg.connect(database_url, autocommit=True) as session:
        with session.transaction():
            session.execute(_GROW_ITEM.replace("?", "%s"), values)
            session.execute(_TRUST_FOREIGN_KEYS)
            session.execute(_ADD_ON_POSTGRES.replace("?", "%s"), values)
        session.execute("VACUUM ANALYZE")
        session.execute("CHECKPOINT")


def ledger(run: Run) -> list[Row]:
    """Measure swaps in an item of a million outputs; with --long, also the curves."""
    urls = [sqlite_url(run.directory) for _ in range(4)]
    rows = _grow(run, "sqlite, one item", urls[:2], 1, [1_000_000])
    if run.is_long:
        rows += _grow(run, "sqlite", urls[2:], CURVE_ITEMS_COUNT, CURVE_SIZES)
        cluster = run.postgres()
        databases = [cluster.create_migrated_database() for _ in range(2)]
        rows += _grow(run, "postgresql", databases, CURVE_ITEMS_COUNT, CURVE_SIZES)
    return rows


def _grow(
    run: Run, database: str, urls: list[str], items_count: int, sizes: Sequence[int]
) -> list[Row]:
    """Measure swaps in a growing ledger, beside one that began empty."""
    empty = run.service("empty", urls[1])
    with running(run.directory, "growing", urls[0]) as server:
        items = [
            mint_item(server.port, MINTED_COUNT, SecretKind.STRONG)
            for _ in range(items_count)
        ]
    # One of each item in turn, so that every round uses all items.
    unused = chain.from_iterable(zip(*items, strict=True))
    outputs_count = items_count * MINTED_COUNT
    for size in sizes:
        run.say(f"loading {size:,} outputs")
        for raw_outputs in items:
            preload(
                urls[0],
                item_id_of(raw_outputs[0]),
                (size - outputs_count) // items_count,
            )
        outputs_count = size
        with running(run.directory, f"{size:,} outputs", urls[0]) as grown:
            results = run.alternate(
                empty=lambda: run.swap(empty),
                grown=lambda: run.swap(
                    grown, raw_outputs=list(islice(unused, CLIENTS_COUNT))
                ),
            )
        for name, line in (
            ("grown", database),
            ("empty", f"{database} empty, same minutes"),
        ):
            cpu_ms = median_of(results, name, "cpu_ms")
            run.add_point("CPU ms of a swap by outputs", line, size, cpu_ms)
            rate = median_of(results, name, "rate")
            run.add_point("swaps/s by outputs", line, size, rate)
    cpu = f"{database}, {sizes[-1]:,} outputs: CPU of a swap ÷ empty ledger"
    duration = f"{database}, {sizes[-1]:,} outputs: time of a swap ÷ empty ledger"
    return [
        ratio(cpu, "≤ 1.3", results, "grown", "empty", "cpu_ms"),
        ratio(duration, "≤ 1.3", results, "empty", "grown"),
    ]


def clients(run: Run) -> list[Row]:
    """Measure the curves of throughput and latency by number of clients."""
    for server in run.on_both_databases():
        for kind, count in product(SecretKind, CLIENTS_COUNTS):
            results = run.alternate(
                swaps=partial(run.swap, server, kind, clients_count=count)
            )
            run.add_point(
                f"{kind} swaps/s by clients",
                server.name,
                count,
                median_of(results, "swaps", "rate"),
            )
            for name in ("p50", "p99"):
                latency_ms = median_of(results, "swaps", f"{name}_ms")
                run.add_point(
                    f"{kind} swaps, {name} ms by clients",
                    server.name,
                    count,
                    latency_ms,
                )
    return []
