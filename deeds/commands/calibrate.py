"""The command `flask --app app deeds calibrate`: measures Argon2id and recommends its cost."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import click

from deeds.argon2_build import Argon2Build, BuildKind, build_in_use, other_builds
from deeds.calibration import OWASP_COSTS, cost_for, fastest_rate
from deeds.domain.model import Argon2Cost
from deeds.hash_rate import BuildDiedError, HashRate, measure_build
from deeds.server.cpus import usable_cpus_count

# A swap of one output for one hashes two secrets: a tenth of a second of one core. Nobody notices
# that, and a guess costs several times what OWASP asks for at least.
WANTED_MS_DEFAULT = 50

# RFC 9106, section 4, gives 500 ms as an example for servers.
WANTED_MS_MAX = 2_000

# 5 costs on one core and on all, with two builds: some ten seconds.
STRETCH_MS_DEFAULT = 400
STRETCH_MS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class _Rates:
    """What a build does at one cost, on one core and on all."""

    one: HashRate
    all: HashRate


@click.command("calibrate")
@click.option(
    "--milliseconds",
    type=click.IntRange(1, WANTED_MS_MAX),
    default=WANTED_MS_DEFAULT,
    show_default=True,
    help="How long one hash shall take on one core.",
)
@click.option(
    "--stretch-milliseconds",
    type=click.IntRange(1, STRETCH_MS_MAX),
    default=STRETCH_MS_DEFAULT,
    show_default=True,
    help="How long to measure for each figure.",
)
def calibrate(milliseconds: int, stretch_milliseconds: int) -> None:
    """Measure hashing here and tell what to set DEEDS_ARGON2 to. Needs no database.

    Measures the build of Argon2 that is in use, and the other one if it is on disk. Best done while
    nothing else runs.
    """
    seconds = stretch_milliseconds / 1000
    in_use = build_in_use()
    measured = _measure_all([in_use, *other_builds(in_use)], seconds)
    for build, rates in measured.items():
        click.echo(f"{'In use' if build is in_use else 'Not in use'}: {build}")
        click.echo(_table(rates) if rates else "\nIt does not run on this CPU.\n")
    if not measured[in_use]:
        raise click.ClickException("there is nothing to recommend; `make native` builds it anew")
    if BuildKind.NATIVE not in {build.kind for build in measured}:
        click.echo("`make native` builds Argon2 for this CPU: up to 3 times as many hashes/s.\n")
    click.echo(_recommendation(in_use, measured[in_use], milliseconds, seconds))


def _measure_all(builds: Sequence[Argon2Build], seconds: float) -> dict[Argon2Build, list[_Rates]]:
    """Return what each build does at each of OWASP's costs; nothing where it cannot run."""
    measured: dict[Argon2Build, list[_Rates]] = {build: [] for build in builds}
    steps = [(cost, build) for cost in OWASP_COSTS for build in builds]
    hidden = not sys.stderr.isatty()
    with click.progressbar(steps, label="Measuring", file=sys.stderr, hidden=hidden) as bar:
        for cost, build in bar:
            # It cannot run here, or there is no memory for this cost.
            with suppress(BuildDiedError):
                measured[build].append(_measure(build, cost, seconds))
    return measured


def _measure(build: Argon2Build, cost: Argon2Cost, seconds: float) -> _Rates:
    cores_count = usable_cpus_count()
    one = measure_build(build, cost, 1, seconds)
    return _Rates(one, measure_build(build, cost, cores_count, seconds) if cores_count > 1 else one)


def _table(measured: Sequence[_Rates]) -> str:
    lines = [f"{'':20} {'on one core':>24} {_on_all_cores():>26}"]
    lines += [
        f"{rates.one.cost!s:20}" + _figures(rates.one) + _figures(rates.all) for rates in measured
    ]
    return "\n" + "\n".join(lines) + "\n"


def _figures(rate: HashRate) -> str:
    return f" {rate.per_second:7,.1f} hashes/s {rate.milliseconds:6,.1f} ms"


def _on_all_cores() -> str:
    return f"on all cores ({usable_cpus_count()})"


def _recommendation(
    build: Argon2Build, measured: Sequence[_Rates], wanted_ms: int, seconds: float
) -> str:
    best = fastest_rate([rates.all for rates in measured])
    [minimum] = [rates for rates in measured if rates.all is best]
    cost = cost_for(
        wanted_ms,
        minimum.one,
        lambda changed: measure_build(build, changed, 1, seconds).milliseconds,
    )
    given = minimum if cost == best.cost else _measure(build, cost, seconds)
    least = f"OWASP's minimum takes {minimum.one.milliseconds:.1f} ms here as {best.cost}."
    threads_count = given.all.threads_count
    return f"""\
{least}
For {wanted_ms} ms, and never less than that minimum, set

    DEEDS_ARGON2={cost}

Measured: {given.one.milliseconds:.1f} ms a hash on one core, \
{given.all.per_second:,.1f} hashes/s on {threads_count}. A process hashes up to
{threads_count} secrets at once, in {threads_count * cost.memory_cost_kib / 1024:,.0f} MiB.

It is a trade: whoever steals the database pays as much for each guess at a secret that somebody
chose. But a swap of one output for one hashes two secrets, so this machine makes at most \
{given.all.per_second / 2:,.0f} such
swaps/s. Strong secrets cost next to nothing in any case. Outputs that are there keep their cost."""
