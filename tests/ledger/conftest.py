"""Fixtures of tests of the storage itself."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import Engine

from storage.engine import make_engine, parse_database_url
from storage.repository import Repository
from tests.support.copying import copy_ledger, keep_copy, ledger_url  # noqa: F401  (fixtures)


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
