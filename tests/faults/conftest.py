"""What the tests of faults share: services that die."""

from contextlib import ExitStack

import pytest

from tests.faults.mortal_service import MortalService


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
