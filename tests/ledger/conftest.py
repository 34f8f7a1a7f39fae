"""Fixtures of tests of the ledger itself."""

from contextlib import closing
from itertools import cycle

import pytest

from app import now_ms, open_database
from storage.repository import Repository
from tests.support.api import Api, environ_of
from tests.support.ledger_view import LedgerView

PEPPER = "a-pepper-of-32-or-more-characters"

# Tests of SQL and of the number of statements run on both databases in `make test`. All
# others run on SQLite only.
OF_BOTH_DATABASES = {"test_repository.py", "test_swap_counts.py"}


def pytest_itemcollected(item):
    if "[postgresql" in item.name and item.path.name not in OF_BOTH_DATABASES:
        item.add_marker(pytest.mark.slow)


@pytest.fixture
def repository(database_url):
    """The ledger without a service."""
    with closing(open_database(database_url, now_ms)) as database:
        yield Repository(database)


@pytest.fixture
def apis(open_api):
    """Clients of two processes; the second hashes new items at another cost."""
    return [open_api(DEEDS_ARGON2=f"m={kib},t=1,p=1") for kib in (16, 24)]


@pytest.fixture
def shared_ledger(shared_url):
    """A view of the shared database, whose invariants are checked after each test."""
    view = LedgerView(shared_url)
    yield view
    view.assert_sound()


@pytest.fixture(scope="module")
def masters(shared_url, shared_service):
    """Clients of two gunicorn masters with two workers each."""
    settings = {
        "DATABASE_URL": shared_url,
        "DEEDS_PEPPERS_OLD": PEPPER,
        "WEB_CONCURRENCY": "2",
    }
    first, second = (shared_service(**settings) for _ in range(2))
    with first.open_api() as first_api, second.open_api() as second_api:
        yield first_api, second_api


@pytest.fixture(
    params=[
        "different settings",
        pytest.param("one process", marks=pytest.mark.slow),
        pytest.param("two masters", marks=pytest.mark.slow),
    ]
)
def racers(request, shared_url, open_app):
    """An endless iterator over clients of one ledger, in one process or several."""
    if request.param == "two masters":
        return cycle(request.getfixturevalue("masters"))
    older = environ_of(shared_url, DEEDS_PEPPERS_OLD=PEPPER)
    newer = environ_of(shared_url, DEEDS_PEPPER=PEPPER, DEEDS_ARGON2="m=16,t=1,p=1")
    # As during a rolling change of cost and pepper.
    environs = [older, newer] if request.param == "different settings" else [older]
    return cycle([Api.of_app(open_app(environ)) for environ in environs])
