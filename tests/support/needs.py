"""What some tests need beside Python and make.

Where it is missing they are skipped, and the last lines of the run say which and how to
install it. With CI=true or --all a run fails in which a test was skipped, for whatever
reason.
"""

import os
import shutil
import subprocess
import sysconfig
from collections import Counter
from pathlib import Path

import pytest

from deeds.page.static_files import READER

_NEEDS = "needs "


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="no test may be skipped")


def require(need):
    """Skip the test unless a requirement, a key of `_PACKAGES`, is there."""
    if _missing(need):
        pytest.skip(_NEEDS + need)


def chromium_path():
    return shutil.which(os.environ.get("CHROMIUM") or "chromium")


def _has_node():
    major = ["node", "--print", "process.versions.node.split('.')[0]"]
    return shutil.which("node") and int(subprocess.check_output(major)) >= 20


# What is needed: packages of Debian, each with what tells whether it is there.
_PACKAGES = {
    "Chromium": {"chromium": chromium_path},
    "node 20 or newer": {"nodejs": _has_node},
    # The package itself, wherever it was fetched by: npm alone is of no use to a test.
    "npm: make test fetches what reads codes": {"npm": READER.is_dir},
    "a C compiler with Python's headers": {
        "gcc": lambda: shutil.which("cc"),
        "libc6-dev": lambda: shutil.which("cc"),
        "python3-dev": (Path(sysconfig.get_path("include")) / "Python.h").exists,
    },
    "bash and curl": {
        "bash": lambda: shutil.which("bash"),
        "curl": lambda: shutil.which("curl"),
    },
    "redis-server: there is no wheel of it for this Python": {
        "redis-server": lambda: shutil.which("redis-server")
    },
}


def _missing(need):
    return [package for package, is_there in _PACKAGES[need].items() if not is_there()]


def may_skip(config):
    return not config.getoption("--all") and os.environ.get("CI") != "true"


def pytest_sessionfinish(session):
    """Fail the run where a test was skipped and none may be."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter.stats.get("skipped") and not may_skip(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def skipped_lines(reports):
    """Yield each reason with its number of skipped tests, and the remedy."""
    counts = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reports)
    for reason, count in counts.items():
        yield f"{count} {'test' if count == 1 else 'tests'}: {reason}"
    needs = [need for need in _PACKAGES if _NEEDS + need in counts]
    if packages := {package for need in needs for package in _missing(need)}:
        sudo = "sudo " if os.geteuid() else ""
        install = f"{sudo}apt-get install --yes {' '.join(sorted(packages))}"
        commands = f"{sudo}apt-get update && {install}"
        yield f"On Debian this installs what is missing: {commands}"
