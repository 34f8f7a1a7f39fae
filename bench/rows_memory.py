"""Memory of the worker processes while swaps go by."""

from bench.minting import mint_items
from bench.payload import SecretKind, SwapChain
from bench.processes import children_rss_mb
from bench.row import Row
from bench.run import CLIENTS_COUNT, Plan, Run, Section
from bench.server import Server, fresh_sqlite_url, service

RSS_MB_MAX = 110.0

# Flat means: at the end at most this much of what it was after FLAT_FROM swaps.
GROWTH_MAX = 1.05
FLAT_FROM = 10_000

_STEPS_SHORT = (1_000, 2_000, 5_000, 10_000, 20_000)
_STEPS_LONG = (*_STEPS_SHORT, 40_000, 60_000, 80_000, 100_000)

SECONDS_MAX = 300.0


def _swaps_counts(plan: Plan) -> tuple[int, ...]:
    return _STEPS_LONG if plan.long else _STEPS_SHORT


def _steps_count(plan: Plan) -> int:
    return len(_swaps_counts(plan))


def _measure(run: Run) -> list[Row]:
    rss_mb: dict[int, list[float]] = {}
    refused = done = 0
    with service(run.directory, fresh_sqlite_url(run.directory), "sqlite") as server:
        for count in _swaps_counts(run.plan):
            refused += _swap(run, server, count - done)
            rss_mb[count] = children_rss_mb(server.master_pid)
            done = count
    run.curves["memory"] = [
        {"swaps_count": count, "rss_mb": values} for count, values in rss_mb.items()
    ]
    growth = max(rss_mb[done]) / max(rss_mb[FLAT_FROM])
    return [
        Row(
            name=f"memory of each process after {done:,} swaps",
            unit="MB",
            target=RSS_MB_MAX,
            at_least=False,
            values=(max(rss_mb[done]),),
            refused_count=refused,
            note="the largest of " + ", ".join(f"{each:.0f}" for each in sorted(rss_mb[done])),
        ),
        Row(
            name=f"memory after {done:,} swaps ÷ after {FLAT_FROM:,}",
            unit="",
            target=GROWTH_MAX,
            at_least=False,
            values=(growth,),
        ),
    ]


def _swap(run: Run, server: Server, count: int) -> int:
    """Do so many swaps; return how many were refused."""
    deeds = mint_items(server.port, CLIENTS_COUNT, SecretKind.STRONG)
    per_client, rest = divmod(count, CLIENTS_COUNT)
    chains = [
        SwapChain(deed, SecretKind.STRONG, per_client + (index < rest))
        for index, deed in enumerate(deeds)
    ]
    return run.measure_all(server, chains, seconds_max=SECONDS_MAX).refused_count


SECTION = Section("memory", _steps_count, _measure)
