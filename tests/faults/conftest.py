"""What the tests of faults share: a seed, and the counts that they print at the end."""

import secrets
from collections.abc import Callable

import pytest

from tests.reporting import add_line


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
