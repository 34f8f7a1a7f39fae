"""Ledgers on SQLite for these tests, and what takes operations away from them."""

import itertools
import re
import sqlite3
import time
from contextlib import closing

from deeds.errors import LedgerRolledBackError
from storage.repository import add_operation
from storage.sqlite import SqliteDatabase

NEVER_S = 3600.0
SOON_S = 0.005


# No two operations of a process have the same time.
next_time_ms = itertools.count(time.time_ns() // 1_000_000).__next__


def open_database(path):
    return SqliteDatabase(path, next_time_ms)


def write_operation(database, key=None):
    """Write an operation that moves nothing, and return it."""
    return database.write(lambda opened, _: add_operation(opened, "mint", key), None)


def change(path, sql, *values):
    """Run a statement on the ledger, past the service."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(sql, values)


def lose(path, operation):
    """Take an operation away."""
    change(path, "DELETE FROM operations WHERE id = ?", operation.id)


def copy(source, target):
    """Make the target, which may be in use, the same ledger as the source."""
    with (
        closing(sqlite3.connect(source)) as read,
        closing(sqlite3.connect(target)) as written,
    ):
        read.backup(written)


def is_lost(database):
    """Return whether a monitor is told that writes fail."""
    try:
        database.probe("SELECT 1")
    except LedgerRolledBackError:
        return True
    return False


def lacks(operation_id):
    """Match what a start says of a ledger that lacks an operation."""
    advice = "; restore the right database, or run: python -m app accept-rollback"
    return re.compile(
        f"operation {operation_id} of [-0-9]{{10}}T[:0-9]{{8}}Z"
        " was committed but is not in the ledger: this is an older copy or another"
        f" ledger, and secrets spent since are live again{re.escape(advice)}"
    )
