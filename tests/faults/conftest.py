"""What the tests of faults share: services that die, and databases for them."""

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
    """A function that starts a service on a database."""
    with ExitStack() as stack:

        def make(database_url, **settings):
            service = MortalService(tmp_path, database_url, **settings)
            stack.callback(service.close)
            service.start()
            return service

        yield make
