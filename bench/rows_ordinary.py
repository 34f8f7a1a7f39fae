"""Ordinary secrets: what of the hash's own speed is left inside the service."""

from bench.measurement import Measurement
from bench.minting import call, mint_items
from bench.payload import Mints, SecretKind
from bench.raw_hash import ordinary_cost, raw_rate
from bench.row import Row, middle, ratios, refused_count
from bench.run import CLIENTS_COUNT, Plan, Run, Section
from bench.server import Server, fresh_sqlite_url, service

# A 1-to-1 swap hashes the secret of its input and that of its output.
HASHES_PER_SWAP = 2

MINT_OUTPUTS_COUNT = 256
MINT_SECONDS_MAX = 120.0

# A swap takes 16 clients a quarter of a second here, so a stretch must be longer than others.
SECONDS_FACTOR = 1.5


def _steps_count(plan: Plan) -> int:
    return 3 * plan.rounds


def _measure(run: Run) -> list[Row]:
    swaps: list[Measurement] = []
    mints: list[Measurement] = []
    raw_rates: list[float] = []
    url = fresh_sqlite_url(run.directory)
    with service(run.directory, url, "sqlite, ordinary secrets") as server:
        cost = ordinary_cost(call(server.port, "GET", "/v1/info"))
        for _ in range(run.plan.rounds):
            swaps.append(_measure_swaps(run, server))
            raw_rates.append(raw_rate(cost, run.plan.seconds))
            run.progress(f"argon2-cffi alone {raw_rates[-1]:,.0f}/s", 1)
            mint = Mints(MINT_OUTPUTS_COUNT, SecretKind.ORDINARY, 1)
            mints.append(run.measure_all(server, [mint], seconds_max=MINT_SECONDS_MAX))
    run.facts["raw_hashes_per_s"] = raw_rates
    return [_swap_row(swaps, raw_rates), _mint_row(mints, raw_rates)]


def _measure_swaps(run: Run, server: Server) -> Measurement:
    deeds = mint_items(server.port, CLIENTS_COUNT, SecretKind.ORDINARY)
    seconds = run.plan.seconds * SECONDS_FACTOR
    return run.measure(server, run.swaps(deeds, SecretKind.ORDINARY), seconds=seconds)


def _swap_row(swaps: list[Measurement], raw_rates: list[float]) -> Row:
    rate = middle(each.rate for each in swaps)
    return Row(
        name="ordinary secrets: hashes/s in served swaps ÷ argon2-cffi alone",
        unit="",
        target=0.95,
        at_least=True,
        values=ratios((HASHES_PER_SWAP * each.rate for each in swaps), raw_rates),
        refused_count=refused_count(swaps),
        note=f"{rate:,.1f} swaps/s; {middle(raw_rates):,.1f} hashes/s alone",
    )


def _mint_row(mints: list[Measurement], raw_rates: list[float]) -> Row:
    at_raw_rate_s = [MINT_OUTPUTS_COUNT / rate for rate in raw_rates]
    return Row(
        name="mint of 256 ordinary outputs: time ÷ (256 ÷ argon2-cffi alone)",
        unit="",
        target=1.1,
        at_least=False,
        values=ratios((each.seconds for each in mints), at_raw_rate_s),
        refused_count=refused_count(mints),
        note=f"{middle(each.seconds for each in mints):.2f} s",
    )


SECTION = Section("ordinary", _steps_count, _measure)
