"""A service with limits, and a look at what must not change."""

import pytest

from deeds.domain.model import Argon2Cost
from deeds.settings import Settings, parse_rate_limits
from tests.support.api import Api
from tests.support.ledger_view import ledger_view


def pytest_itemcollected(item):
    """Leave PostgreSQL to `make check`: what a client sees is decided above it."""
    if "[postgresql" in item.name:
        item.add_marker(pytest.mark.slow)


@pytest.fixture
def limited(sqlite_url, open_app):
    """A function that opens a service with these limits, for a client of it."""

    def open_it(limits, **settings):
        cost, limits = Argon2Cost(8, 1, 1), parse_rate_limits(limits)
        app = open_app(Settings(sqlite_url, cost, rate_limits=limits, **settings))
        return Api.of_app(app)

    return open_it


@pytest.fixture
def nothing_moves(shared_url):
    """Compares the shared database after the test with what it was before."""
    with ledger_view(shared_url) as ledger, ledger.unchanged():
        yield
