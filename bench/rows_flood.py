"""A flood of wrong ordinary secrets: how it is refused, and what wallets notice of it."""

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from bench.flood import Flooded, flood
from bench.measurement import Measurement
from bench.minting import call, mint_item, mint_items
from bench.payload import SecretKind, make_secret, post
from bench.processes import children_rss_mb
from bench.raw_hash import ordinary_cost, raw_rate
from bench.row import Row, middle, ratios, refused_count
from bench.run import CLIENTS_COUNT, Plan, Run, Section
from bench.server import Server, fresh_sqlite_url, service
from deeds.domain.hashing import ORDINARY_COST

# Wrong secrets a second that are sent, as a multiple of those that this machine can hash.
OVERLOAD = 10

# Wrong secrets of one request.
WRONG_COUNT = 16

# More than the lanes of two processes take, 24 requests each.
CONNECTIONS_COUNT = 60

SHARE_MIN = 0.5
REFUSAL_MS_MAX = 50.0

# docs/reliability.md: what hashing and waiting requests may add to a process.
GROWTH_MB_MAX = 64.0

_MS_PER_S = 1000


def _steps_count(plan: Plan) -> int:
    return 2 * plan.rounds


def _measure(run: Run) -> list[Row]:
    unloaded: list[Measurement] = []
    loaded: list[Measurement] = []
    floods: list[Flooded] = []
    # Limits of addresses would end the flood before it began.
    settings = {"DEEDS_RATE_LIMITS": "failures=off"}
    url = fresh_sqlite_url(run.directory)
    with service(run.directory, url, "sqlite, flooded", settings) as server:
        cost = ordinary_cost(call(server.port, "GET", "/v1/info"))
        capacity = raw_rate(cost, run.plan.seconds)
        # An item with an ordinary output: else wrong secrets need no hashing.
        item_id = mint_item(server.port, 1, SecretKind.ORDINARY)[0].item_id
        wrong = [f"+1.{item_id}.{make_secret(SecretKind.ORDINARY)}" for _ in range(WRONG_COUNT)]
        request = post("/v1/check", {"outputs": wrong})
        rss_mb = [max(children_rss_mb(server.master_pid))]

        @contextmanager
        def flooded() -> Iterator[None]:
            per_second = OVERLOAD * capacity / WRONG_COUNT
            with flood(
                server.port, request, per_second=per_second, connections_count=CONNECTIONS_COUNT
            ) as found:
                yield
                rss_mb.append(max(children_rss_mb(server.master_pid)))
            floods.extend(found)

        for _ in range(run.plan.rounds):
            unloaded.append(_swap(run, server))
            loaded.append(_swap(run, server, beside=flooded()))
    run.facts["flood"] = {
        "hashes_per_s_alone": capacity,
        "wrong_secrets_per_s": [WRONG_COUNT * each.rate for each in floods],
        "statuses": [dict(each.statuses) for each in floods],
        "errors": [each.errors_count for each in floods],
        "rss_mb": rss_mb,
    }
    return [
        _share_row(unloaded, loaded),
        _refusal_row(floods, capacity),
        Row(
            name="flood: memory that it adds to a process",
            unit="MB",
            target=GROWTH_MB_MAX,
            at_least=False,
            values=(max(rss_mb) - rss_mb[0],),
            note=f"{rss_mb[0]:.0f} MB before; {ORDINARY_COST.memory_cost_kib} KiB a hash",
        ),
    ]


def _swap(
    run: Run, server: Server, beside: AbstractContextManager[None] | None = None
) -> Measurement:
    deeds = mint_items(server.port, CLIENTS_COUNT, SecretKind.STRONG)
    return run.measure(server, run.swaps(deeds, SecretKind.STRONG), beside=beside)


def _share_row(unloaded: list[Measurement], loaded: list[Measurement]) -> Row:
    before, during = (middle(each.rate for each in found) for found in (unloaded, loaded))
    return Row(
        name="flood of wrong ordinary secrets: strong swaps/s during it ÷ without it",
        unit="",
        target=SHARE_MIN,
        at_least=True,
        values=ratios((each.rate for each in loaded), (each.rate for each in unloaded)),
        refused_count=refused_count(unloaded, loaded),
        note=f"{during:,.0f}/s during it, {before:,.0f}/s without",
    )


def _refusal_row(floods: list[Flooded], capacity: float) -> Row:
    sent = middle(WRONG_COUNT * each.rate for each in floods)
    refused = sum(len(each.refusals_s) for each in floods)
    middle_s = middle(_quantile_s(each.refusals_s, 0.5) for each in floods)
    return Row(
        name="flood: p99 of its refusals",
        unit="ms",
        target=REFUSAL_MS_MAX,
        at_least=False,
        values=tuple(_quantile_s(each.refusals_s, 0.99) * _MS_PER_S for each in floods),
        note=f"p50 {middle_s * _MS_PER_S:.0f} ms; {refused:,} refused; "
        f"{sent:,.0f} secrets/s sent, {capacity:,.0f} hashes/s alone",
    )


def _quantile_s(latencies_s: list[float], share: float) -> float:
    if not latencies_s:
        return math.nan
    return sorted(latencies_s)[max(0, math.ceil(share * len(latencies_s)) - 1)]


SECTION = Section("flood", _steps_count, _measure)
