"""Reads of the registry beside a bare Flask route that answers the same JSON."""

import json

from bench.bare_app import METADATA
from bench.minting import mint_item
from bench.payload import SecretKind, get
from bench.row import Row, middle, ratios, refused_count
from bench.run import Plan, Run, Section
from bench.server import bare_server, fresh_sqlite_url, service

# Every client reads all of them in turn.
ITEMS_COUNT = 256


def _steps_count(plan: Plan) -> int:
    return 2 * plan.rounds


def _measure(run: Run) -> list[Row]:
    reads, bare_reads = [], []
    url = fresh_sqlite_url(run.directory)
    with service(run.directory, url, "sqlite") as server, bare_server(run.directory) as bare:
        requests = tuple(_mint_and_get(server.port) for _ in range(ITEMS_COUNT))
        for _ in range(run.plan.rounds):
            reads.append(run.measure(server, run.repeated(requests)))
            bare_reads.append(run.measure(bare, run.repeated(requests)))
    rates = [each.rate for each in reads]
    bare_rates = [each.rate for each in bare_reads]
    row = Row(
        name="GET /v1/item/{id}: requests/s ÷ bare Flask",
        unit="",
        target=0.5,
        at_least=True,
        values=ratios(rates, bare_rates),
        refused_count=refused_count(reads, bare_reads),
        note=f"sqlite {middle(rates):,.0f}/s; bare {middle(bare_rates):,.0f}/s",
    )
    return [row]


def _mint_and_get(port: int) -> bytes:
    (deed,) = mint_item(port, 1, SecretKind.STRONG, json.loads(METADATA))
    return get(f"/v1/item/{deed.item_id}")


SECTION = Section("reads", _steps_count, _measure)
