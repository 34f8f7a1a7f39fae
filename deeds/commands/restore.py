"""The command `deeds restore`: puts a backup in the place of an SQLite ledger."""

from pathlib import Path

import click
from sqlalchemy import Engine

from deeds.commands.copying import inspect, one_line_errors, progress_bar, refuse_postgresql
from storage.backup import restore
from storage.mark import HOW_TO_ACCEPT, find_rollback, mark_file_of


def restore_command(engine: Engine, mark_path: str | None) -> click.Command:
    """Return the command on an engine and the path of the settings."""

    @click.command("restore")
    @click.argument("file", type=click.Path(path_type=Path))
    def run_restore(file: Path) -> None:
        """Put the backup FILE in the place of the ledger, which is kept under another name.

        The service must not run. A backup that is older than the ledger has to be accepted before
        it is served: secrets spent since are live again in it.
        """
        refuse_postgresql(engine)
        mark = mark_file_of(engine, mark_path)
        assert mark is not None  # noqa: S101  (an SQLite ledger always has one)
        with one_line_errors(str(file)), progress_bar() as show:
            restored = restore(engine, mark, file, inspect, show)
            rollback = find_rollback(engine, mark)
            engine.dispose()
        click.echo(f"The ledger is {file}, up to operation {restored.newest.operation_id}.")
        if restored.replaced is not None:
            click.echo(f"The one that was there is now {restored.replaced}.")
        if rollback is not None:
            click.echo(f"The service will not start: {rollback}. To accept that: {HOW_TO_ACCEPT}")

    return run_restore
