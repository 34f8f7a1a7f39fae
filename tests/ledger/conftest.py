"""Fixtures of tests of the storage itself."""

from collections.abc import Iterator

import pytest

from storage.engine import make_engine, parse_database_url
from storage.repository import Repository


@pytest.fixture
def repository(database_url: str) -> Iterator[Repository]:
    """A repository of its own on the database."""
    repository = Repository(make_engine(parse_database_url(database_url)))
    yield repository
    repository.close()
