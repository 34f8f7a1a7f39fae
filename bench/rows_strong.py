"""Strong secrets: what everything but the hash costs, on both databases and beside bare Flask."""

from contextlib import ExitStack

from bench.measurement import Measurement
from bench.minting import mint_items
from bench.payload import Deed, SecretKind, SwapChain
from bench.postgres_written import Written
from bench.row import Row, middle, ratios, refused_count
from bench.run import CLIENTS_COUNT, Plan, Run, Section
from bench.server import (
    Server,
    bare_server,
    fresh_postgres_url,
    fresh_sqlite_url,
    postgres_facts,
    service,
)
from tests.support.postgres import running_cluster

Measured = dict[str, list[Measurement]]


def _steps_count(plan: Plan) -> int:
    return 3 * plan.rounds


def _measure(run: Run) -> list[Row]:
    measured: Measured = {"sqlite": [], "postgresql": [], "bare": []}
    with ExitStack() as stack:
        cluster = stack.enter_context(running_cluster())
        postgres_url = stack.enter_context(fresh_postgres_url(cluster))
        run.facts["postgresql"] = postgres_facts(postgres_url)
        sqlite_url = fresh_sqlite_url(run.directory)
        servers = [
            stack.enter_context(service(run.directory, sqlite_url, "sqlite")),
            stack.enter_context(bare_server(run.directory)),
            stack.enter_context(service(run.directory, postgres_url, "postgresql")),
        ]
        before = Written.so_far(postgres_url)
        for _ in range(run.plan.rounds):
            for server in servers:
                measured[server.name].append(_measure_one(run, server))
        run.facts["postgresql_of_a_swap"] = Written.so_far(postgres_url).per_operation(before)
    return [
        _cpu_row(measured),
        _bare_row(measured),
        _latency_row(measured),
        _tail_row(measured),
        _postgres_row(measured),
    ]


def _measure_one(run: Run, server: Server) -> Measurement:
    if server.name == "bare":
        # Bodies of the same length as those of the service.
        deed = Deed("deed_" + "0" * 26, "0" * 32)
        return run.measure(
            server, run.repeated(tuple(SwapChain(deed, SecretKind.STRONG, 1).build()))
        )
    deeds = mint_items(server.port, CLIENTS_COUNT, SecretKind.STRONG)
    return run.measure(server, run.swaps(deeds, SecretKind.STRONG))


def _cpu_row(measured: Measured) -> Row:
    share = middle(each.client_cpu_share for each in measured["sqlite"])
    return Row(
        name="strong secrets, SQLite: server CPU of a swap",
        unit="ms",
        target=1.0,
        at_least=False,
        values=tuple(each.server_cpu_ms for each in measured["sqlite"]),
        refused_count=refused_count(measured["sqlite"]),
        note=f"the clients took {share:.0%} of all CPU",
    )


def _bare_row(measured: Measured) -> Row:
    return Row(
        name="strong secrets, SQLite: swaps/s ÷ requests/s of bare Flask",
        unit="",
        target=0.25,
        at_least=True,
        values=_rate_ratios(measured, "sqlite", "bare"),
        refused_count=refused_count(measured["sqlite"], measured["bare"]),
        note=f"{_rate(measured, 'sqlite')}; {_rate(measured, 'bare')}",
    )


def _latency_row(measured: Measured) -> Row:
    return Row(
        name="strong secrets, SQLite: p99",
        unit="ms",
        target=50,
        at_least=False,
        values=tuple(each.p99_ms for each in measured["sqlite"]),
        refused_count=refused_count(measured["sqlite"]),
        note=f"p50 {middle(each.p50_ms for each in measured['sqlite']):.1f} ms",
    )


def _tail_row(measured: Measured) -> Row:
    sqlite = measured["sqlite"]
    return Row(
        name="strong secrets, SQLite: p99 ÷ p50",
        unit="",
        target=10,
        at_least=False,
        values=ratios((each.p99_ms for each in sqlite), (each.p50_ms for each in sqlite)),
        refused_count=refused_count(sqlite),
    )


def _postgres_row(measured: Measured) -> Row:
    postgres = measured["postgresql"]
    server_ms = middle(each.server_cpu_ms for each in postgres)
    database_ms = middle(each.postgres_cpu_ms for each in postgres)
    return Row(
        name="strong secrets: swaps/s on PostgreSQL ÷ SQLite",
        unit="",
        target=0.5,
        at_least=True,
        values=_rate_ratios(measured, "postgresql", "sqlite"),
        refused_count=refused_count(postgres),
        note=f"{_rate(measured, 'postgresql')}; CPU of a swap {server_ms:.2f} ms"
        f" and {database_ms:.2f} ms in the database",
    )


def _rate_ratios(measured: Measured, upper: str, lower: str) -> tuple[float, ...]:
    return ratios((each.rate for each in measured[upper]), (each.rate for each in measured[lower]))


def _rate(measured: Measured, name: str) -> str:
    return f"{name} {middle(each.rate for each in measured[name]):,.0f}/s"


SECTION = Section("strong", _steps_count, _measure)
