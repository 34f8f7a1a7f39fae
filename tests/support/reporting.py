"""Lines that are printed after all tests: what they counted, and which could not run."""

import pytest

from tests.support.needs import skipped_lines

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
    if skipped := terminalreporter.stats.get("skipped", []):
        terminalreporter.section("not run")
        for line in skipped_lines(skipped):
            terminalreporter.write_line(line)
