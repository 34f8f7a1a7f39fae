"""Lines that tests have to say of what they counted; printed after all tests."""

import pytest

_LINES = pytest.StashKey[list[str]]()


def add_line(item: pytest.Item, line: str) -> None:
    """Add a line of one test."""
    item.config.stash.setdefault(_LINES, []).append(f"{item.name}: {line}")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the lines."""
    if lines := config.stash.get(_LINES, []):
        terminalreporter.section("counted")
        for line in lines:
            terminalreporter.write_line(line)
