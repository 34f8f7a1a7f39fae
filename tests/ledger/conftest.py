"""Fixtures of tests of the storage itself."""

import secrets
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from sqlalchemy import Engine, make_url

from storage.engine import make_engine, parse_database_url
from storage.repository import Repository


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_url(request):
    """The URL of a database of this test alone, on each kind."""
    if request.param == "sqlite":
        return request.getfixturevalue("sqlite_url")
    return request.getfixturevalue("fresh_postgres_url")()


@pytest.fixture
def keep_copy(request, ledger_url, tmp_path):
    """A function that copies the ledger, and returns the copy's URL and a function that puts the
    copy in its place.

    On PostgreSQL every connection to it is cut.
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
    with closing(sqlite3.connect(paths[0])) as source, closing(sqlite3.connect(paths[1])) as target:
        source.backup(target)


@pytest.fixture
def repository(database_url: str) -> Iterator[Repository]:
    """A repository of its own on the database."""
    repository = Repository(make_engine(parse_database_url(database_url)))
    yield repository
    repository.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str:
    """Each kind of database."""
    return str(request.param)


@pytest.fixture
def new_url(
    database: str, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[[], str]]:
    """A function that returns the URL of a new database, which holds nothing."""
    with ExitStack() as stack:

        def make() -> str:
            if database == "sqlite":
                return f"sqlite:///{tempfile.mkdtemp(dir=tmp_path)}/deeds.sqlite3"
            postgres = request.getfixturevalue("postgres")
            url = str(postgres.create_database())
            stack.callback(postgres.drop_database, url)
            return url

        yield make


@pytest.fixture
def open_engine() -> Iterator[Callable[[str], Engine]]:
    """A function that opens an engine on the database at a URL."""
    with ExitStack() as stack:

        def open_one(url: str) -> Engine:
            engine = make_engine(parse_database_url(url))
            stack.callback(engine.dispose)
            return engine

        yield open_one
