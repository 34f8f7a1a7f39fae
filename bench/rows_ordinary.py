"""Ordinary secrets: what of each Argon2 build's own speed is left inside the service."""

from contextlib import ExitStack
from dataclasses import dataclass, field

from bench.measurement import Measurement
from bench.minting import call, mint_items
from bench.payload import Mints, SecretKind
from bench.raw_hash import ordinary_cost, raw_rate
from bench.row import Row, middle, ratios, refused_count
from bench.run import CLIENTS_COUNT, Plan, Run, Section
from bench.server import Server, fresh_sqlite_url, service
from deeds.argon2_build import Argon2Build, BuildKind, build_in_use, other_builds
from deeds.domain.model import Argon2Cost

# A 1-to-1 swap hashes the secret of its input and that of its output.
HASHES_PER_SWAP = 2

# The faster the hash, the more the rest of a swap counts.
SHARE_MIN = {BuildKind.WHEEL: 0.95, BuildKind.SOURCE: 0.95, BuildKind.NATIVE: 0.90}

MINT_OUTPUTS_COUNT = 256
MINT_SECONDS_MAX = 120.0

# A swap takes 16 clients a quarter of a second here, so a stretch must be longer than others.
SECONDS_FACTOR = 1.5


@dataclass(frozen=True, slots=True)
class _Measured:
    """What was found of one build, round by round."""

    build: Argon2Build
    server: Server
    cost: Argon2Cost
    swaps: list[Measurement] = field(default_factory=list)
    raw_rates: list[float] = field(default_factory=list)
    mints: list[Measurement] = field(default_factory=list)


def _builds() -> list[Argon2Build]:
    in_use = build_in_use()
    return [in_use, *other_builds(in_use)]


def _steps_count(plan: Plan) -> int:
    return 3 * plan.rounds * len(_builds())


def _measure(run: Run) -> list[Row]:
    with ExitStack() as stack:
        measured = [_start(run, stack, build) for build in _builds()]
        for _ in range(run.plan.rounds):
            for each in measured:
                _measure_round(run, each)
    run.facts["raw_hashes_per_s"] = {str(each.build.kind): each.raw_rates for each in measured}
    return [row for each in measured for row in (_swap_row(each), _mint_row(each))]


def _start(run: Run, stack: ExitStack, build: Argon2Build) -> _Measured:
    url = fresh_sqlite_url(run.directory)
    name = f"sqlite, ordinary secrets, {build.kind}"
    server = stack.enter_context(service(run.directory, url, name, build.environment))
    return _Measured(build, server, ordinary_cost(call(server.port, "GET", "/v1/info")))


def _measure_round(run: Run, measured: _Measured) -> None:
    measured.swaps.append(_measure_swaps(run, measured.server))
    rate = raw_rate(measured.build, measured.cost, run.plan.seconds)
    run.progress(f"argon2-cffi alone, {measured.build.kind} {rate:,.0f}/s", 1)
    measured.raw_rates.append(rate)
    mint = Mints(MINT_OUTPUTS_COUNT, SecretKind.ORDINARY, 1)
    measured.mints.append(run.measure_all(measured.server, [mint], seconds_max=MINT_SECONDS_MAX))


def _measure_swaps(run: Run, server: Server) -> Measurement:
    deeds = mint_items(server.port, CLIENTS_COUNT, SecretKind.ORDINARY)
    seconds = run.plan.seconds * SECONDS_FACTOR
    return run.measure(server, run.swaps(deeds, SecretKind.ORDINARY), seconds=seconds)


def _swap_row(measured: _Measured) -> Row:
    rate = middle(each.rate for each in measured.swaps)
    return Row(
        name=f"ordinary secrets, {measured.build.kind}: hashes/s in swaps ÷ argon2-cffi alone",
        unit="",
        target=SHARE_MIN[measured.build.kind],
        at_least=True,
        values=ratios((HASHES_PER_SWAP * each.rate for each in measured.swaps), measured.raw_rates),
        refused_count=refused_count(measured.swaps),
        note=f"{rate:,.1f} swaps/s; {middle(measured.raw_rates):,.1f} hashes/s alone",
    )


def _mint_row(measured: _Measured) -> Row:
    at_raw_rate_s = [MINT_OUTPUTS_COUNT / rate for rate in measured.raw_rates]
    return Row(
        name=f"mint of 256 ordinary outputs, {measured.build.kind}: time ÷ (256 ÷ the same alone)",
        unit="",
        target=1.1,
        at_least=False,
        values=ratios((each.seconds for each in measured.mints), at_raw_rate_s),
        refused_count=refused_count(measured.mints),
        note=f"{middle(each.seconds for each in measured.mints):.2f} s",
    )


SECTION = Section("ordinary", _steps_count, _measure)
