"""Divides the time of `make soak` among tests, and prints lines after all tests.

They show what the tests counted, and which tests did not run.
"""

import secrets
import time

import pytest

from tests.support.needs import may_skip, skipped_lines

# The property of a test's report that holds its counts. Reports are passed between
# processes.
COUNTED = "counted"


def pytest_addoption(parser):
    parser.addoption(
        "--soak-seconds", type=float, default=0.0, help="for all soak tests together"
    )
    parser.addoption(
        "--seed", type=int, help="what random tests begin with, to repeat one"
    )


@pytest.fixture
def seed(request):
    """A new seed for each test; pytest shows it if the test fails."""
    chosen = request.config.getoption("--seed")
    chosen = secrets.randbits(32) if chosen is None else chosen
    print(f"seed {chosen}")  # noqa: T201
    return chosen


@pytest.fixture
def report(request, seed):
    """A function that takes the line to print after all tests."""
    return lambda line: add_line(request.node, f"{line}, seed {seed}")


@pytest.fixture
def soak_seconds(request):
    """The seconds for which a test marked `soak` may repeat itself; 0 for one run."""
    return _seconds_of(request.node)


def add_line(item, line):
    item.user_properties.append((COUNTED, f"{item.name}: {line}"))


def pytest_terminal_summary(terminalreporter, config):
    reports = [
        *terminalreporter.getreports("passed"),
        *terminalreporter.getreports("failed"),
    ]
    counted = [
        line
        for report in reports
        for name, line in report.user_properties
        if name == COUNTED and report.when == "call"
    ]
    skipped = skipped_lines(terminalreporter.getreports("skipped"))
    judged = "not run" if may_skip(config) else "failed, for no test may be skipped"
    for title, lines in (("counted", counted), (judged, list(skipped))):
        if lines:
            terminalreporter.section(title)
        for line in lines:
            terminalreporter.write_line(line)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item):
    """Repeat a test marked `soak`, unless it repeats itself with `soak_seconds`."""
    deadline = time.monotonic() + _seconds_of(item)
    yield
    if "soak_seconds" in getattr(item, "fixturenames", ()):
        return
    repetitions_count = 0
    while time.monotonic() < deadline:
        item.runtest()
        repetitions_count += 1
    if repetitions_count:
        add_line(item, f"run {1 + repetitions_count} times")


def _seconds_of(item):
    """Return the seconds for which a test may repeat itself.

    Return 0 if it is not marked `soak`, or if this is not `make soak`.
    """
    seconds = float(item.config.getoption("--soak-seconds"))
    share = _share_of(item)
    return (
        seconds * share / sum(map(_share_of, item.session.items))
        if seconds and share
        else 0.0
    )


def _share_of(item):
    """Return the share in `@pytest.mark.soak(share=4)`, or 0 without the mark."""
    mark = item.get_closest_marker("soak")
    return 0.0 if mark is None else float(mark.kwargs["share"])
