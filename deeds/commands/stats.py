"""The command `deeds stats`: how much there is in the ledger."""

import click
from sqlalchemy import Engine

from deeds.commands.audit import counts_text
from storage.counts import count_bytes, count_ledger
from storage.schema import check_schema
from storage.transactions import snapshot


def stats_command(engine: Engine) -> click.Command:
    """Return the command on an engine."""

    @click.command("stats")
    def stats() -> None:
        """Count items, operations and outputs, and tell the size on disk."""
        check_schema(engine)
        with snapshot(engine) as connection:
            counts, size = count_ledger(connection), count_bytes(connection)
        click.echo(counts_text(counts))
        click.echo(f"{'bytes on disk':<14} {size:>15,}")

    return stats
