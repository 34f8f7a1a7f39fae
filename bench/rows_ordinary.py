"""Ordinary secrets: what of Argon2's own speed is left inside the service."""

from bench.measurement import Measurement
from bench.minting import call, mint_items
from bench.payload import SecretKind
from bench.raw_hash import ordinary_cost, raw_rate
from bench.row import Row, middle, ratios, refused_count
from bench.run import CLIENTS_COUNT, Plan, Run, Section
from bench.server import fresh_sqlite_url, service

# A 1-to-1 swap hashes the secret of its input and that of its output.
HASHES_PER_SWAP = 2

SHARE_MIN = 0.85

# A swap takes 16 clients a quarter of a second here, so a stretch must be longer than others.
SECONDS_FACTOR = 1.5


def _steps_count(plan: Plan) -> int:
    return 2 * plan.rounds


def _measure(run: Run) -> list[Row]:
    swaps: list[Measurement] = []
    raw_rates: list[float] = []
    url = fresh_sqlite_url(run.directory)
    with service(run.directory, url, "sqlite, ordinary secrets") as server:
        cost = ordinary_cost(call(server.port, "GET", "/v1/info"))
        for _ in range(run.plan.rounds):
            deeds = mint_items(server.port, CLIENTS_COUNT, SecretKind.ORDINARY)
            seconds = run.plan.seconds * SECONDS_FACTOR
            source = run.swaps(deeds, SecretKind.ORDINARY)
            swaps.append(run.measure(server, source, seconds=seconds))
            raw_rates.append(raw_rate(cost, run.plan.seconds))
            run.progress(f"argon2-cffi alone {raw_rates[-1]:,.0f}/s", 1)
    run.facts["raw_hashes_per_s"] = raw_rates
    rate = middle(each.rate for each in swaps)
    row = Row(
        name="ordinary secrets: hashes/s in swaps ÷ argon2-cffi alone",
        unit="",
        target=SHARE_MIN,
        at_least=True,
        values=ratios((HASHES_PER_SWAP * each.rate for each in swaps), raw_rates),
        refused_count=refused_count(swaps),
        note=f"{rate:,.1f} swaps/s; {middle(raw_rates):,.1f} hashes/s alone",
    )
    return [row]


SECTION = Section("ordinary", _steps_count, _measure)
