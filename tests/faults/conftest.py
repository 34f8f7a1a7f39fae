"""What the tests of faults share: a seed, and the counts that they print at the end."""

import secrets
from collections.abc import Callable

import pytest

from tests.faults.reporting import LINES


@pytest.fixture
def seed() -> int:
    """A new seed for each test; pytest shows it where the test fails."""
    chosen = secrets.randbits(32)
    print(f"seed {chosen}")  # noqa: T201
    return chosen


@pytest.fixture
def report(request: pytest.FixtureRequest, seed: int) -> Callable[[str], None]:
    """A function that takes the line to print after all tests."""

    def add(line: str) -> None:
        request.config.stash.setdefault(LINES, []).append(
            f"{request.node.name}: {line}, seed {seed}"
        )

    return add


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the lines."""
    if lines := config.stash.get(LINES, []):
        terminalreporter.section("faults")
        for line in lines:
            terminalreporter.write_line(line)
