"""Throughput and latency against the number of clients: both databases, both kinds of secrets."""

from contextlib import ExitStack

from bench.minting import mint_items
from bench.payload import SecretKind
from bench.row import Row, middle, refused_count
from bench.run import Plan, Run, Section
from bench.server import Server, fresh_postgres_url, fresh_sqlite_url, service
from tests.support.postgres import running_cluster

CLIENTS_COUNTS = (1, 2, 4, 8, 16, 32)

# The shape of a curve needs fewer rounds than a figure.
ROUNDS_MAX = 3


def _rounds(plan: Plan) -> int:
    return min(plan.rounds, ROUNDS_MAX)


def _steps_count(plan: Plan) -> int:
    databases_count = 2
    return databases_count * len(SecretKind) * len(CLIENTS_COUNTS) * _rounds(plan)


def _measure(run: Run) -> list[Row]:
    run.curves["clients"] = []
    with ExitStack() as stack:
        cluster = stack.enter_context(running_cluster())
        urls = {
            "sqlite": fresh_sqlite_url(run.directory),
            "postgresql": stack.enter_context(fresh_postgres_url(cluster)),
        }
        for name, url in urls.items():
            with service(run.directory, url, name) as server:
                for kind in SecretKind:
                    for clients_count in CLIENTS_COUNTS:
                        _measure_point(run, server, kind, clients_count)
    return []


def _measure_point(run: Run, server: Server, kind: SecretKind, clients_count: int) -> None:
    measured = [
        run.measure(server, run.swaps(mint_items(server.port, clients_count, kind), kind))
        for _ in range(_rounds(run.plan))
    ]
    run.curves["clients"].append(
        {
            "database": server.name,
            "kind": kind,
            "clients_count": clients_count,
            "rate": middle(each.rate for each in measured),
            "p50_ms": middle(each.p50_ms for each in measured),
            "p99_ms": middle(each.p99_ms for each in measured),
            "refused_count": refused_count(measured),
        }
    )


SECTION = Section("clients", _steps_count, _measure)
