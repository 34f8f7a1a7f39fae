"""Swaps in big ledgers: an item of a million outputs; in the long run also the curve to 10**7."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from bench.ledger_growth import GrowingLedger, Pair, compare
from bench.row import Row, middle, ratios, refused_count
from bench.run import Plan, Run, Section
from bench.server import fresh_postgres_url, fresh_sqlite_url, service
from tests.support.postgres import running_cluster

COST_RATIO_MAX = 1.3

BIG_ITEM_OUTPUTS_COUNT = 1_000_000

# The curve: few items, so that at its end each has more than a million outputs.
CURVE_ITEMS_COUNT = 4
CURVE_SIZES = (1_024, 10_000, 100_000, 1_000_000, 10_000_000)
CURVE_DATABASES = ("sqlite", "postgresql")


def _steps_count(plan: Plan) -> int:
    curves_count = len(CURVE_SIZES) * len(CURVE_DATABASES) if plan.long else 0
    return 2 * plan.rounds * (1 + curves_count)


def _measure(run: Run) -> list[Row]:
    rows = _measure_big_item(run)
    if run.plan.long:
        for database in CURVE_DATABASES:
            rows += _measure_curve(run, database)
    return rows


def _measure_big_item(run: Run) -> list[Row]:
    big = GrowingLedger(run.directory, fresh_sqlite_url(run.directory), "sqlite", 1)
    run.progress(f"loading {BIG_ITEM_OUTPUTS_COUNT:,} outputs", 0)
    big.grow_to(BIG_ITEM_OUTPUTS_COUNT)
    empty_url = fresh_sqlite_url(run.directory)
    with service(run.directory, empty_url, "sqlite, empty ledger") as empty:
        pairs = compare(run, empty, big)
    return _rows("SQLite, item of 1,000,000 outputs", pairs)


def _measure_curve(run: Run, database: str) -> list[Row]:
    pairs: list[Pair] = []
    points = run.curves.setdefault("ledger", [])
    with ExitStack() as stack:
        empty_url, url = _urls(run, database, stack)
        ledger = GrowingLedger(run.directory, url, database, CURVE_ITEMS_COUNT)
        name = f"{database}, empty ledger"
        empty = stack.enter_context(service(run.directory, empty_url, name))
        for size in CURVE_SIZES:
            run.progress(f"loading {size:,} outputs into {database}", 0)
            ledger.grow_to(size)
            pairs = compare(run, empty, ledger)
            points.append(_point(database, size, pairs))
    return _rows(f"{database}, ledger of 10,000,000 outputs", pairs)


def _urls(run: Run, database: str, stack: ExitStack) -> tuple[str, str]:
    if database == "sqlite":
        return fresh_sqlite_url(run.directory), fresh_sqlite_url(run.directory)
    cluster = stack.enter_context(running_cluster())
    return (
        stack.enter_context(fresh_postgres_url(cluster)),
        stack.enter_context(fresh_postgres_url(cluster)),
    )


def _rows(place: str, pairs: Sequence[Pair]) -> list[Row]:
    refused = refused_count([pair.empty for pair in pairs], [pair.grown for pair in pairs])
    values = {
        "CPU of a swap": _cpu_ratios(pairs),
        "time of a swap": _time_ratios(pairs),
    }
    grown, empty = (
        f"{middle(rates):,.0f}/s"
        for rates in ([p.grown.rate for p in pairs], [p.empty.rate for p in pairs])
    )
    return [
        Row(
            name=f"{place}: {what} ÷ empty ledger",
            unit="",
            target=COST_RATIO_MAX,
            at_least=False,
            values=found,
            refused_count=refused,
            note=f"{grown}; empty {empty}",
        )
        for what, found in values.items()
    ]


def _point(database: str, outputs_count: int, pairs: Sequence[Pair]) -> dict[str, Any]:
    return {
        "database": database,
        "outputs_count": outputs_count,
        "cpu_ratio": middle(_cpu_ratios(pairs)),
        "time_ratio": middle(_time_ratios(pairs)),
        "cpu_ms": middle(pair.grown.all_cpu_ms for pair in pairs),
        "empty_cpu_ms": middle(pair.empty.all_cpu_ms for pair in pairs),
        "rate": middle(pair.grown.rate for pair in pairs),
        "empty_rate": middle(pair.empty.rate for pair in pairs),
        "refused_count": refused_count([pair.grown for pair in pairs]),
    }


def _cpu_ratios(pairs: Sequence[Pair]) -> tuple[float, ...]:
    return ratios(
        (pair.grown.all_cpu_ms for pair in pairs), (pair.empty.all_cpu_ms for pair in pairs)
    )


def _time_ratios(pairs: Sequence[Pair]) -> tuple[float, ...]:
    return ratios((pair.empty.rate for pair in pairs), (pair.grown.rate for pair in pairs))


SECTION = Section("ledger", _steps_count, _measure)
