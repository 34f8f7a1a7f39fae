"""What the rollback part has for others."""

from deeds.part import Part, Retries
from deeds.settings import Settings
from parts.rollback.checkpoint import CheckpointFile, checkpoint_path
from parts.rollback.commands import accept_rollback
from parts.rollback.watch import WatchedDatabase
from storage.database import Database


def wrap_database(settings: Settings, database: Database, retries: Retries) -> Database:
    """Return the database, watched, with the checkpoint file of the settings."""
    path = checkpoint_path(settings)
    file = None if path is None else CheckpointFile(path)
    return WatchedDatabase(database, file, retries.note)


PART = Part("rollback", wrap_database=wrap_database, commands=(accept_rollback,))
