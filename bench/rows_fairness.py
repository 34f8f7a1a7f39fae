"""One client that keeps the hashing busy: what is left to the others."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from bench.flood import Flooded, flood
from bench.measurement import Measurement
from bench.minting import mint_items
from bench.payload import SecretKind, mint_body, post
from bench.row import Row, middle, ratios, refused_count
from bench.run import CLIENTS_COUNT, Plan, Run, Section
from bench.server import Server, fresh_sqlite_url, service

MINT_OUTPUTS_COUNT = 256
ATTACKERS_COUNT = 10
ATTACKER = "198.51.100.1"

# More than are answered: each connection sends again as soon as it has its answer.
MINTS_PER_SECOND = 10_000

SHARE_MIN = 0.5

# Swaps of ordinary secrets take long, and so do the mints beside them.
SECONDS_FACTOR = 3


def _steps_count(plan: Plan) -> int:
    return 2 * plan.rounds


def _measure(run: Run) -> list[Row]:
    alone: list[Measurement] = []
    beside: list[Measurement] = []
    floods: list[Flooded] = []
    url = fresh_sqlite_url(run.directory)
    settings = {"DEEDS_TRUSTED_PROXIES": "1"}
    body, _ = mint_body(MINT_OUTPUTS_COUNT, SecretKind.ORDINARY)
    mint = post("/v1/mint", body, ATTACKER)

    @contextmanager
    def attacked(server: Server) -> Iterator[None]:
        with flood(
            server.port, mint, per_second=MINTS_PER_SECOND, connections_count=ATTACKERS_COUNT
        ) as found:
            yield
        floods.extend(found)

    with service(run.directory, url, "sqlite, ordinary secrets", settings) as server:
        for _ in range(run.plan.rounds):
            alone.append(_swap(run, server))
            beside.append(_swap(run, server, attacked(server)))
    run.facts["fairness"] = [dict(each.statuses) for each in floods]
    before, during = (middle(each.rate for each in found) for found in (alone, beside))
    mints = sum(each.statuses[200] for each in floods)
    return [
        Row(
            name="10 connections mint 256 ordinary secrets each: "
            "ordinary swaps/s of 16 others beside them ÷ without them",
            unit="",
            target=SHARE_MIN,
            at_least=True,
            values=ratios((each.rate for each in beside), (each.rate for each in alone)),
            refused_count=refused_count(alone, beside),
            note=f"{during:,.1f}/s beside, {before:,.1f}/s without; {mints} mints made, "
            f"{sum(each.statuses[503] for each in floods)} refused",
        )
    ]


def _swap(
    run: Run, server: Server, beside: AbstractContextManager[None] | None = None
) -> Measurement:
    deeds = mint_items(server.port, CLIENTS_COUNT, SecretKind.ORDINARY)
    chains = run.swaps(deeds, SecretKind.ORDINARY)
    others = [replace(each, client=f"192.0.2.{n}") for n, each in enumerate(chains, start=1)]
    return run.measure(server, others, seconds=SECONDS_FACTOR * run.plan.seconds, beside=beside)


SECTION = Section("fairness", _steps_count, _measure)
