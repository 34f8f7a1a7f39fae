"""Fixtures: an SQLite ledger, its checkpoint file, and services that watch it."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from parts.rollback.checkpoint import CheckpointFile
from parts.rollback.watch import WatchedDatabase
from tests.rollback.ledgers import SOON_S, open_database
from tests.support.databases import sqlite_path


@pytest.fixture
def path(sqlite_url):
    """The path of a ledger without operations."""
    return Path(sqlite_path(sqlite_url))


@pytest.fixture
def file(tmp_path):
    return CheckpointFile(tmp_path / "checkpoint")


@pytest.fixture
def closing_all():
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def database(path, closing_all):
    """The ledger, not watched."""
    database = open_database(path)
    closing_all.callback(database.close)
    return database


@pytest.fixture
def start(path, file, closing_all):
    """A function that opens and checks the ledger, as a service does at startup."""

    def start_on(database=None, *, file=file, check_interval_s=SOON_S, on_retry=None):
        database = database or open_database(path)
        watched = WatchedDatabase(database, file, on_retry, check_interval_s)
        closing_all.callback(watched.close)
        watched.check_start(thorough=True)
        return watched

    return start_on
