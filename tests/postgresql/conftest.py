"""Fixtures: a PostgreSQL database, with a ledger and with other sessions."""

from contextlib import ExitStack

import pytest

from app import now_ms
from parts.postgresql.database import PostgresqlDatabase
from storage.repository import Repository
from tests.postgresql.records import POLICY
from tests.support.databases import connected
from tests.support.ledger_view import CUT_OFF


@pytest.fixture
def database_url(emptied_postgres_url):
    """The URL of an empty ledger."""
    return emptied_postgres_url


@pytest.fixture
def own_url(fresh_postgres_url):
    """The URL of a ledger for one test only, which may change its tables."""
    return fresh_postgres_url()


@pytest.fixture
def retries():
    """The reasons for which the databases of this test repeated a transaction."""
    return []


@pytest.fixture
def open_database(retries):
    """A function that opens the database at a URL."""
    with ExitStack() as stack:

        def open_one(url, clock=now_ms, **pool):
            database = PostgresqlDatabase(url, clock, retries.append, **pool)
            stack.callback(database.close)
            return database

        yield open_one


@pytest.fixture
def database(database_url, open_database):
    return open_database(database_url)


@pytest.fixture
def repository(database):
    repository = Repository(database)
    repository.open_policies(POLICY)
    return repository


@pytest.fixture
def other(database_url):
    """A second connection to a PostgreSQL database."""
    with connected(database_url) as connection:
        yield connection


@pytest.fixture
def set_default(other):
    """A function that sets the default of a parameter for sessions of the database."""
    alter = f'ALTER DATABASE "{other.info.dbname}"'
    yield lambda name, value: other.execute(f"{alter} SET {name} = '{value}'")
    other.execute(f"{alter} RESET ALL")


@pytest.fixture
def cut_off(other):
    """A function that ends the server's side of all other sessions."""
    return lambda: other.execute(CUT_OFF)
