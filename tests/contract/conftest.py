"""What runs where, and a look at what must not change."""

import pytest

from tests.support.ledger_view import LedgerView


def pytest_itemcollected(item):
    """Leave PostgreSQL to `make check`: what a client sees is decided above it."""
    if "[postgresql" in item.name:
        item.add_marker(pytest.mark.slow)


@pytest.fixture
def nothing_moves(shared_url):
    """Compares the shared database after the test with what it was before."""
    with LedgerView(shared_url).unchanged():
        yield
