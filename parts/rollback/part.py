"""The rollback part: a wrapper around the database, a command, and findings."""

from deeds.part import Part, Retries
from deeds.settings import Settings
from parts.rollback.checkpoint import checkpoint_file
from parts.rollback.commands import accept_rollback
from parts.rollback.examination import examine
from parts.rollback.watch import WatchedDatabase
from storage.database import Database


def wrap_database(settings: Settings, database: Database, retries: Retries) -> Database:
    """Return a WatchedDatabase with the checkpoint file of the settings."""
    return WatchedDatabase(database, checkpoint_file(settings), retries.note)


PART = Part(
    "rollback",
    wrap_database=wrap_database,
    commands=(accept_rollback,),
    examine=examine,
)
