"""What the rollback part has for others."""

from collections.abc import Sequence

import click

from deeds.part import Ledger, Part, Retries
from deeds.settings import Settings
from parts.rollback.checkpoint import CheckpointFile, checkpoint_path
from parts.rollback.commands import accept_rollback_command
from parts.rollback.watch import WatchedDatabase
from storage.database import Database


def wrap_database(settings: Settings, database: Database, retries: Retries) -> Database:
    """Return the database, watched, with the checkpoint file of the settings."""
    return WatchedDatabase(database, _checkpoint_file(settings), retries.note)


def commands(ledger: Ledger) -> Sequence[click.Command]:
    """Return `accept-rollback`."""
    file = _checkpoint_file(ledger.settings)
    return [accept_rollback_command(ledger.database, ledger.schemas, file)]


def _checkpoint_file(settings: Settings) -> CheckpointFile | None:
    path = checkpoint_path(settings)
    return None if path is None else CheckpointFile(path)


PART = Part("rollback", wrap_database=wrap_database, commands=commands)
