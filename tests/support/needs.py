"""What some tests need beside Python and make.

Where it is missing they are skipped, and the last lines of the run say which and how to install it.
With CI=true or --all a test that is skipped, for whatever reason, is one that failed.
"""

import os
import shutil
import subprocess
import sysconfig
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path

import pytest

_NEEDS = "needs "


def require(need: str) -> None:
    """Skip the test unless all is there of what it needs, which is a key of `_MISSING`."""
    if _MISSING[need]():
        pytest.skip(_NEEDS + need)


def _unless(is_there: object, *packages: str) -> list[str]:
    return [] if is_there else list(packages)


def chromium_path() -> str | None:
    """Return where Chromium is; None where it is not."""
    return shutil.which(os.environ.get("CHROMIUM") or "chromium")


def _chromium() -> list[str]:
    return _unless(chromium_path(), "chromium")


def _node() -> list[str]:
    major = ["node", "--print", "process.versions.node.split('.')[0]"]
    is_new = shutil.which("node") and int(subprocess.check_output(major)) >= 20
    return _unless(is_new, "nodejs")


def _compiler() -> list[str]:
    header = Path(sysconfig.get_path("include")) / "Python.h"
    compiler = _unless(shutil.which("cc"), "gcc", "libc6-dev")
    return compiler + _unless(header.exists(), "python3-dev")


def _shell() -> list[str]:
    return _unless(shutil.which("bash"), "bash") + _unless(shutil.which("curl"), "curl")


def _redis() -> list[str]:
    return _unless(shutil.which("redis-server"), "redis-server")


# What is missing of each, as packages of Debian.
_MISSING: dict[str, Callable[[], list[str]]] = {
    "Chromium": _chromium,
    "node 20 or newer": _node,
    "a C compiler with Python's headers": _compiler,
    "bash and curl": _shell,
    "redis-server: there is no wheel of it for this Python": _redis,
}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that was skipped where none may be."""
    report = yield
    _judge(report, item.config)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail a file that was skipped where none may be."""
    report = yield
    _judge(report, collector.config)
    return report


def _judge(report: pytest.TestReport | pytest.CollectReport, config: pytest.Config) -> None:
    is_all = config.getoption("--all") or os.environ.get("CI") == "true"
    if is_all and report.skipped and not hasattr(report, "wasxfail"):
        reason = _reason(report)
        report.outcome = "failed"
        report.longrepr = f"skipped, where no test may be: {reason}. {_command([reason])}".strip()


def skipped_lines(reports: Iterable[pytest.TestReport]) -> Iterator[str]:
    """Yield how many tests were skipped for which reason, and the command that ends that."""
    counts = Counter(map(_reason, reports))
    for reason, count in counts.items():
        yield f"{count} {'test' if count == 1 else 'tests'}: {reason}"
    if command := _command(counts):
        yield command


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    said = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return said.removeprefix("Skipped: ")


def _command(reasons: Iterable[str]) -> str:
    needs = [reason.removeprefix(_NEEDS) for reason in reasons]
    packages = {each for need in needs if need in _MISSING for each in _MISSING[need]()}
    sudo = "sudo " if os.geteuid() else ""
    install = f"{sudo}apt-get update && {sudo}apt-get install --yes {' '.join(sorted(packages))}"
    return f"On Debian this installs what is missing: {install}" if packages else ""
