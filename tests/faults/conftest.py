"""What the tests of faults share: a seed, and the counts that they print at the end."""

import secrets
from collections.abc import Callable, Iterator

import pytest

from tests.support.reporting import add_line
from tests.support.stoppable_postgres import StoppablePostgres


@pytest.fixture
def seed() -> int:
    """A new seed for each test; pytest shows it where the test fails."""
    chosen = secrets.randbits(32)
    print(f"seed {chosen}")  # noqa: T201
    return chosen


@pytest.fixture
def report(request: pytest.FixtureRequest, seed: int) -> Callable[[str], None]:
    """A function that takes the line to print after all tests."""
    return lambda line: add_line(request.node, f"{line}, seed {seed}")


@pytest.fixture
def stoppable_url(stoppable_postgres: StoppablePostgres) -> Iterator[str]:
    """The URL of a database with the service's tables, on the PostgreSQL that a test may stop."""
    url = stoppable_postgres.cluster.create_migrated_database()
    yield url
    stoppable_postgres.cluster.drop_database(url)
