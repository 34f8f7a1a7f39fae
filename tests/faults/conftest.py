"""What the tests of faults share: services that die."""

from contextlib import ExitStack

import pytest

from tests.faults.mortal_service import MortalService


@pytest.fixture
def stoppable_url(stoppable_postgres):
    """The URL of a migrated database on the PostgreSQL that a test may stop."""
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
