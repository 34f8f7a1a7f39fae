"""The command `deeds backup`: copies an SQLite ledger while it is served."""

from pathlib import Path

import click
from sqlalchemy import Engine

from deeds.commands.copying import inspect, one_line_errors, progress_bar, refuse_postgresql
from storage.backup import back_up
from storage.schema import check_schema


def backup_command(engine: Engine) -> click.Command:
    """Return the command on an engine."""

    @click.command("backup")
    @click.argument("file", type=click.Path(path_type=Path))
    def backup(file: Path) -> None:
        """Copy the ledger into FILE, which must not be there yet. The service may run meanwhile.

        The copy is audited before it appears. It holds no pepper: keep those elsewhere.
        """
        refuse_postgresql(engine)
        check_schema(engine)
        with one_line_errors(str(file)), progress_bar() as show:
            newest = back_up(engine, file, inspect, show)
        click.echo(f"{file} holds the ledger up to operation {newest.operation_id}.")

    return backup
