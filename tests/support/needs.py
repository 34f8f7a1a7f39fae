"""What some tests need beside Python and make.

Where it is missing they are skipped, and the last lines of the run say which and how to install it.
With CI=true or --all a test that is skipped, for whatever reason, is one that failed.
"""

import os
import shutil
import subprocess
import sysconfig
from collections import Counter
from pathlib import Path

import pytest

_NEEDS = "needs "


def require(need):
    """Skip the test unless all is there of what it needs, which is a key of `_PACKAGES`."""
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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Fail a test that was skipped where none may be."""
    return _judged((yield), item.config)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Fail a file that was skipped where none may be."""
    return _judged((yield), collector.config)


def _judged(report, config):
    is_all = config.getoption("--all") or os.environ.get("CI") == "true"
    if is_all and report.skipped and not hasattr(report, "wasxfail"):
        reason = _reason(report)
        report.outcome = "failed"
        report.longrepr = f"skipped, where no test may be: {reason}. {_command([reason])}".strip()
    return report


def skipped_lines(reports):
    """Yield how many tests were skipped for which reason, and the command that ends that."""
    counts = Counter(map(_reason, reports))
    for reason, count in counts.items():
        yield f"{count} {'test' if count == 1 else 'tests'}: {reason}"
    if command := _command(counts):
        yield command


def _reason(report):
    said = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return said.removeprefix("Skipped: ")


def _command(reasons):
    needs = [reason.removeprefix(_NEEDS) for reason in reasons]
    packages = {package for need in needs if need in _PACKAGES for package in _missing(need)}
    sudo = "sudo " if os.geteuid() else ""
    install = f"{sudo}apt-get update && {sudo}apt-get install --yes {' '.join(sorted(packages))}"
    return f"On Debian this installs what is missing: {install}" if packages else ""
