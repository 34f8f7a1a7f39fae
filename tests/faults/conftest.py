"""What the tests of faults share: a seed, the counts printed at the end, services that die."""

import secrets
from contextlib import ExitStack

import pytest

from tests.faults.mortal_service import MortalService
from tests.support.reporting import add_line


@pytest.fixture
def seed():
    """A new seed for each test; pytest shows it where the test fails."""
    chosen = secrets.randbits(32)
    print(f"seed {chosen}")  # noqa: T201
    return chosen


@pytest.fixture
def report(request, seed):
    """A function that takes the line to print after all tests."""
    return lambda line: add_line(request.node, f"{line}, seed {seed}")


@pytest.fixture
def stoppable_url(stoppable_postgres):
    """The URL of a database with the service's tables, on the PostgreSQL that a test may stop."""
    url = stoppable_postgres.cluster.create_migrated_database()
    yield url
    stoppable_postgres.cluster.drop_database(url)


@pytest.fixture
def make_service(tmp_path):
    """A function that makes a service on a database, which is not started yet."""
    with ExitStack() as stack:

        def make(database_url, *arguments, **settings):
            service = MortalService(tmp_path, database_url, *arguments, **settings)
            stack.callback(service.close)
            return service

        yield make
