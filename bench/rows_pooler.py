"""Strong secrets on PostgreSQL behind pgbouncer in transaction mode, beside a direct connection.

Measured only where pgbouncer is installed.
"""

import shutil
from contextlib import ExitStack

from bench.measurement import Measurement
from bench.minting import mint_items
from bench.payload import SecretKind
from bench.row import Row, middle, ratios, refused_count
from bench.run import CLIENTS_COUNT, Plan, Run, Section
from bench.server import fresh_postgres_url, service
from tests.support.pgbouncer import behind, running_pgbouncer
from tests.support.postgres import running_cluster


def _steps_count(plan: Plan) -> int:
    return 2 * plan.rounds if shutil.which("pgbouncer") else 0


def _measure(run: Run) -> list[Row]:
    if not shutil.which("pgbouncer"):
        return []
    measured: dict[str, list[Measurement]] = {"direct": [], "pgbouncer": []}
    with ExitStack() as stack:
        cluster = stack.enter_context(running_cluster())
        url = stack.enter_context(fresh_postgres_url(cluster))
        pooler = stack.enter_context(running_pgbouncer(cluster.admin_url))
        servers = [
            stack.enter_context(service(run.directory, url, "direct")),
            stack.enter_context(service(run.directory, behind(url, pooler.directory), "pgbouncer")),
        ]
        for _ in range(run.plan.rounds):
            for server in servers:
                deeds = mint_items(server.port, CLIENTS_COUNT, SecretKind.STRONG)
                measurement = run.measure(server, run.swaps(deeds, SecretKind.STRONG))
                measured[server.name].append(measurement)
    rates = {name: [each.rate for each in of_one] for name, of_one in measured.items()}
    return [
        Row(
            name="strong secrets, PostgreSQL: swaps/s through pgbouncer ÷ direct",
            unit="",
            target=0.7,
            at_least=True,
            values=ratios(rates["pgbouncer"], rates["direct"]),
            refused_count=refused_count(*measured.values()),
            note=", ".join(f"{name} {middle(of_one):,.0f}/s" for name, of_one in rates.items()),
        )
    ]


SECTION = Section("pooler", _steps_count, _measure)
