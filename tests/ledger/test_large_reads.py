"""The largest requests that the settings allow fit into what the databases take."""

import sqlite3

import pytest

from deeds.domain.errors import StartError
from deeds.domain.model import OutputKey
from deeds.settings import read_settings
from storage.engine import make_engine, parse_database_url
from storage.repository import Repository
from tests.support.hooks import hooked

ARRAY_LENGTH_LIMIT = 16_000

# Of SQLite as it is built by default; some systems build it with more.
SQLITE_VARIABLES_MAX = 32_766


def limit_variables(connection):
    driver = connection.connection.driver_connection
    if isinstance(driver, sqlite3.Connection):
        driver.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, SQLITE_VARIABLES_MAX)


@pytest.fixture
def repository(database_url):
    repository = Repository(make_engine(parse_database_url(database_url)))
    with hooked("begin", limit_variables):
        yield repository
    repository.close()


def keys(count, item_id):
    return [OutputKey(item_id, index.to_bytes(32)) for index in range(count)]


def test_the_limit_is_what_can_be_set():
    environ = {"DEEDS_MAX_ARRAY": str(ARRAY_LENGTH_LIMIT)}
    beyond = {"DEEDS_MAX_ARRAY": str(ARRAY_LENGTH_LIMIT + 1)}

    assert read_settings(environ, "unused").array_length_max == ARRAY_LENGTH_LIMIT
    with pytest.raises(StartError):
        read_settings(beyond, "unused")


@pytest.mark.parametrize("items_count", [1, 2])
def test_inputs_and_outputs_of_the_largest_swap_can_be_looked_up(repository, items_count):
    """A replay looks for both at once."""
    count = 2 * ARRAY_LENGTH_LIMIT // items_count

    wanted = [key for number in range(items_count) for key in keys(count, f"deed_{number}")]

    assert repository.read_outputs(wanted) == {}


def test_guards_of_as_many_items_can_be_looked_up(repository):
    assert (
        repository.read_item_schemes({f"deed_{number}" for number in range(ARRAY_LENGTH_LIMIT)})
        == {}
    )
