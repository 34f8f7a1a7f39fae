"""The requirements of some tests besides Python and make.

Tests without their requirement are skipped, and the last lines of the run say how to
install it. With CI=true or --all any skipped test fails the run.
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

_NEEDS = "needs "

ROOT = "root, to mount a small disk"
POSTGRES = "useradd for PostgreSQL, which never runs as root (package passwd or shadow)"
# The tools that generate a client in TypeScript.
NODE_MODULES = Path(__file__).parents[1] / "page/js/node_modules"
# The decoder of QR codes, where the service looks for it.
READER = Path(__file__).parents[2] / "parts/pages/node_modules/qr"
TYPESCRIPT = "npm: make types fetches what makes a client in TypeScript"
# The user of PostgreSQL's processes if the tests run as root. The wheel creates it.
POSTGRES_USER = "pgserver"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="no test may be skipped")


def require(need: str) -> None:
    """Skip the test unless a requirement, a key of `_PACKAGES`, is met."""
    is_there, _ = _PACKAGES[need]
    if not is_there():
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


def _has_compiler() -> bool:
    header = Path(sysconfig.get_path("include")) / "Python.h"
    return bool(shutil.which("cc")) and header.exists()


def _has_bash_and_curl() -> bool:
    return bool(shutil.which("bash") and shutil.which("curl"))


# For each requirement: the check whether it is met, and its Debian packages.
_PACKAGES: dict[str, tuple[Callable[[], object], str]] = {
    "Chromium": (chromium_path, "chromium"),
    "node 20 or newer": (_has_node, "nodejs"),
    # Check for the package itself, because npm alone does not help a test.
    "npm: make test fetches what reads codes": (READER.is_dir, "npm"),
    TYPESCRIPT: ((NODE_MODULES / "openapi-typescript").is_dir, "nodejs npm"),
    "a C compiler with Python's headers": (
        _has_compiler,
        "gcc libc6-dev python3-dev",
    ),
    POSTGRES: (_has_postgres_user, "passwd"),
    ROOT: (lambda: os.geteuid() == 0, "mount"),
    "bash and curl": (_has_bash_and_curl, "bash curl"),
}


def may_skip(config: pytest.Config) -> bool:
    return not config.getoption("--all") and os.environ.get("CI") != "true"


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run if a test was skipped and none may be."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    # If tests run in several processes, only the one with the reporter has all results.
    if reporter is None or may_skip(session.config):
        return
    if reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def skipped_lines(reports: Iterable[Any]) -> Iterator[str]:
    """Yield each reason with its number of skipped tests, then how to install them."""
    counts = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reports)
    for reason, count in counts.items():
        yield f"{count} {'test' if count == 1 else 'tests'}: {reason}"
    needs = [need for need in _PACKAGES if _NEEDS + need in counts]
    if packages := " ".join(_PACKAGES[need][1] for need in needs):
        sudo = "sudo " if os.geteuid() else ""
        install = f"{sudo}apt-get install --yes {packages}"
        commands = f"{sudo}apt-get update && {install}"
        yield f"On Debian this installs what is missing: {commands}"
