"""Where the figures were found: machine, versions, revision."""

import os
import platform
import sqlite3
import statistics
import subprocess
import time
from importlib.metadata import version
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from deeds.server.cpus import usable_cpus_count

_CPUINFO = Path("/proc/cpuinfo")
_FSYNCS_COUNT = 50
_PACKAGES = ("argon2-cffi", "argon2-cffi-bindings", "flask", "gunicorn", "psycopg", "sqlalchemy")


def describe_machine(directory: Path) -> dict[str, Any]:
    """Return what the figures depend on; `directory` is on the disk of the SQLite ledgers."""
    return {
        "cpu": _cpu_model(),
        "cores": usable_cpus_count(),
        "kernel": platform.platform(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "packages": {name: version(name) for name in _PACKAGES},
        "fsync_ms": _fsync_ms(directory),
        "revision": _revision(),
    }


def _cpu_model() -> str:
    if _CPUINFO.exists():
        for line in _CPUINFO.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _fsync_ms(directory: Path) -> float:
    """Return the median time of writing 4 KiB and waiting until they are on the disk."""
    times_ms = []
    with NamedTemporaryFile(dir=directory) as file:
        for _ in range(_FSYNCS_COUNT):
            started_at_s = time.monotonic()
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
            times_ms.append((time.monotonic() - started_at_s) * 1000)
    return statistics.median(times_ms)


def _revision() -> str | None:
    """Return the commit, marked when files differ from it; None outside of a git repository."""
    try:
        return _git("describe", "--always", "--abbrev=40", "--dirty", "--exclude=*")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    done = subprocess.run(
        command, cwd=Path(__file__).parent, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()
