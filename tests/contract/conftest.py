"""Which tests `make test` leaves out, and a check that a test changes no row."""

import pytest

from tests.support.ledger_view import LedgerView


def pytest_itemcollected(item):
    """Leave PostgreSQL to `make check`, because answers do not depend on it."""
    if "[postgresql" in item.name:
        item.add_marker(pytest.mark.slow)


@pytest.fixture
def nothing_moves(shared_url):
    """Compares the shared database before and after the test."""
    with LedgerView(shared_url).unchanged():
        yield
