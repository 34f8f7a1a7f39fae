"""What some tests need beside Python and make.

Where it is missing they are skipped, and the last lines of the run say which and how to
install it. With CI=true or --all a run fails in which a test was skipped, for whatever
reason.
"""

import os
import pwd
import shutil
import subprocess
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deeds.page.static_files import READER

_NEEDS = "needs "

POSTGRES = "useradd for PostgreSQL, which never runs as root (package passwd or shadow)"
# Whom PostgreSQL's processes run as where the tests run as root. The wheel adds it.
POSTGRES_USER = "pgserver"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="no test may be skipped")


def require(need: str) -> None:
    """Skip the test unless a requirement, a key of `_PACKAGES`, is there."""
    if _missing(need):
        pytest.skip(_NEEDS + need)


def chromium_path() -> str | None:
    return shutil.which(os.environ.get("CHROMIUM") or "chromium")


def _has_node() -> bool:
    major = ["node", "--print", "process.versions.node.split('.')[0]"]
    return bool(shutil.which("node")) and int(subprocess.check_output(major)) >= 20


def _has_postgres_user() -> bool:
    if os.geteuid() != 0 or shutil.which("useradd"):
        return True
    return POSTGRES_USER in {user.pw_name for user in pwd.getpwall()}


# What is needed: packages of Debian, each with what tells whether it is there.
_PACKAGES: dict[str, dict[str, Callable[[], object]]] = {
    "Chromium": {"chromium": chromium_path},
    "node 20 or newer": {"nodejs": _has_node},
    # The package itself, wherever it was fetched by: npm alone is of no use to a test.
    "npm: make test fetches what reads codes": {"npm": READER.is_dir},
    "a C compiler with Python's headers": {
        "gcc": lambda: shutil.which("cc"),
        "libc6-dev": lambda: shutil.which("cc"),
        "python3-dev": (Path(sysconfig.get_path("include")) / "Python.h").exists,
    },
    POSTGRES: {"passwd": _has_postgres_user},
    "bash and curl": {
        "bash": lambda: shutil.which("bash"),
        "curl": lambda: shutil.which("curl"),
    },
    "redis-server: there is no wheel of it for this Python": {
        "redis-server": lambda: shutil.which("redis-server")
    },
}


def _missing(need: str) -> list[str]:
    return [package for package, is_there in _PACKAGES[need].items() if not is_there()]


def may_skip(config: pytest.Config) -> bool:
    return not config.getoption("--all") and os.environ.get("CI") != "true"


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run where a test was skipped and none may be."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    # Where tests run in several processes, the one with the reporter hears of all.
    if reporter is None or may_skip(session.config):
        return
    if reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def skipped_lines(reports: Iterable[Any]) -> Iterator[str]:
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
