"""The command `deeds schemes`: which hash schemes still guard live outputs."""

from collections.abc import Mapping, Sequence

import click
from sqlalchemy import Engine

from deeds.domain.model import SchemeSpec
from deeds.domain.schemes import current_specs
from deeds.settings import Settings
from storage.schema import check_schema
from storage.scheme_counts import SchemeCounts, count_schemes
from storage.transactions import snapshot

_NO_PEPPER = "none"

_AFTER_REMOVAL = """\
Of a pepper that was removed, spent outputs are "unknown" to /v1/check, and an Idempotency-Key that
is no random UUID and was first used under it is forgotten."""


def schemes_command(engine: Engine, settings: Settings) -> click.Command:
    """Return the command on an engine and the settings."""

    @click.command("schemes")
    def schemes() -> None:
        """Tell which hash schemes guard live outputs, and which peppers may go."""
        check_schema(engine)
        with snapshot(engine) as connection:
            found = count_schemes(connection)
        current = list(current_specs(settings.ordinary_cost, settings.pepper).values())
        click.echo(_table(found, current))
        if advice := _advice(found, current):
            click.echo("\n".join(["", *advice, _AFTER_REMOVAL]))

    return schemes


def _table(found: Sequence[SchemeCounts], current: Sequence[SchemeSpec]) -> str:
    lines = [f"{'':>4} {'class':8} {'parameters':20} {'pepper':16} {'live':>13} {'spent':>13}"]
    for each in found:
        spec = each.scheme.spec
        lines.append(
            f"{each.scheme.id:>4} {spec.secret_class:8} {spec.cost!s:20} "
            f"{spec.pepper_fingerprint or _NO_PEPPER:16} {each.live:>13,} {each.spent:>13,}"
            f"{'  current' if spec in current else ''}"
        )
    return "\n".join(lines)


def _advice(found: Sequence[SchemeCounts], current: Sequence[SchemeSpec]) -> list[str]:
    """Return a line for each pepper that was ever used."""
    in_use = {spec.pepper_fingerprint for spec in current}
    lines = []
    for fingerprint, live in _live_by_pepper(found).items():
        if fingerprint in in_use:
            lines.append(f"Pepper {fingerprint} is the current one.")
        elif live:
            lines.append(f"Pepper {fingerprint} must stay: it guards {live:,} live outputs.")
        else:
            lines.append(f"Pepper {fingerprint} may go: it guards no live output.")
    return lines


def _live_by_pepper(found: Sequence[SchemeCounts]) -> Mapping[str, int]:
    live: dict[str, int] = {}
    for each in found:
        if fingerprint := each.scheme.spec.pepper_fingerprint:
            live[fingerprint] = live.get(fingerprint, 0) + each.live
    return live
