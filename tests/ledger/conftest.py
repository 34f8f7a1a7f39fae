"""Fixtures of tests of the storage itself."""

import secrets
import sqlite3
from contextlib import ExitStack, closing
from dataclasses import replace

import pytest
from sqlalchemy import make_url

from deeds.domain.model import Argon2Cost
from deeds.settings import Settings
from storage.checkpoint import CheckpointFile
from storage.engine import make_engine, parse_database_url
from storage.repository import Repository


@pytest.fixture
def keep_copy(request, ledger_url, tmp_path):
    """A function that copies the ledger.

    It returns the copy's URL, and a function that puts the copy in its place. On
    PostgreSQL every connection to it is cut.
    """
    with ExitStack() as stack:

        def keep():
            if ledger_url.startswith("sqlite"):
                copy = f"sqlite:///{tmp_path}/copy-{secrets.token_hex(4)}.sqlite3"
                copy_sqlite(ledger_url, copy)
                return copy, lambda: copy_sqlite(copy, ledger_url)
            postgres = request.getfixturevalue("postgres")
            copy = postgres.copy_database(ledger_url)
            stack.callback(postgres.drop_database, copy)
            return copy, lambda: postgres.replace_database(ledger_url, copy)

        yield keep


def copy_sqlite(url, copy):
    paths = [make_url(each).database for each in (url, copy)]
    with (
        closing(sqlite3.connect(paths[0])) as source,
        closing(sqlite3.connect(paths[1])) as target,
    ):
        source.backup(target)


@pytest.fixture
def checkpoint(tmp_path):
    return CheckpointFile(tmp_path / "a checkpoint")


@pytest.fixture
def guarded(ledger_url, checkpoint):
    """Settings of a ledger whose checkpoint file is there."""
    cost = Argon2Cost(8, 1, 1)
    return Settings(ledger_url, cost, checkpoint_file=str(checkpoint.path))


@pytest.fixture
def serve(open_app, guarded, ledger_url):
    """A function that opens the service on a ledger and returns a client of it."""
    return lambda url=ledger_url: open_app(
        replace(guarded, database_url=url)
    ).test_client()


@pytest.fixture
def open_repository(ledger_url, checkpoint):
    """A function that opens the ledger without Flask."""

    def open_one():
        engine = make_engine(parse_database_url(ledger_url))
        return Repository(engine, checkpoint_file=checkpoint)

    return open_one


@pytest.fixture
def repository(database_url, open_engine):
    """A repository of its own on the database."""
    repository = Repository(open_engine(database_url))
    yield repository
    repository.close()


@pytest.fixture
def open_engine():
    """A function that opens an engine on the database at a URL."""
    with ExitStack() as stack:

        def open_one(url):
            engine = make_engine(parse_database_url(url))
            stack.callback(engine.dispose)
            return engine

        yield open_one


@pytest.fixture
def open_client(settings, open_app):
    """A function that opens the service with changed settings, for a client of it."""
    return lambda changes: open_app(replace(settings, **changes)).test_client()


@pytest.fixture
def clients(open_client):
    """Two processes, the second of which hashes those of new items at another cost."""
    return [open_client({"ordinary_cost": Argon2Cost(kib, 1, 1)}) for kib in (16, 24)]
