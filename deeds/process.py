"""What this process has: CPUs and threads to serve with, and its standard streams.

Must not import gunicorn, whose import reads WEB_CONCURRENCY: `gunicorn.conf.py` checks
that before.
"""

import atexit
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click

OWN_CGROUPS = Path("/proc/self/cgroup")
CGROUP_MOUNT = Path("/sys/fs/cgroup")

# Of a process. Argon2id runs without holding the GIL, so threads that wait for it cost
# little; how many hash at once is bounded by the hash pool.
THREADS_COUNT = 32


def default_processes_count() -> int:
    """Return how many processes serve unless WEB_CONCURRENCY says so.

    Python runs one thread of each at a time: on 2 CPUs two processes of 8 threads
    served 3.5 times what one of 16 did. At least two, so that one can be replaced while
    one serves.
    """
    return max(2, usable_cpus_count())


def usable_cpus_count() -> int:
    """Return how many CPUs may run this process at once, at least 1.

    A container sees all CPUs of its host but may use few of them: this is the smallest
    of the affinity and of the quotas of its cgroup and those above it
    ("cpu.max" in the kernel's cgroup-v2 guide). A quota of 1.5 CPUs counts as 2, as the
    JVM and Go count it.
    """
    affinity = getattr(
        os, "sched_getaffinity", lambda _pid: range(os.cpu_count() or 1)
    )(0)
    return max(1, min([len(affinity), *_quotas_cpus()]))


def keep_exit_code() -> None:
    """Let this process end with its exit code where a stream is full or closed.

    Python keeps what a standard stream did not take, tries to write it once more when
    it ends, and exits with 120.
    """
    atexit.register(_drop_unwritten)


def print_line(text: str) -> None:
    """Write a line to standard output, and end the command where that fails."""
    try:
        click.echo(text)
    except BrokenPipeError:
        # Of `| head`, which reads no more.
        raise click.exceptions.Exit(1) from None
    except OSError as error:
        raise click.ClickException(f"standard output: {error.strerror}") from None


def _quotas_cpus() -> Iterator[int]:
    group = Path(_text(OWN_CGROUPS).rpartition("0::/")[2])
    # In a container without its own namespace this is a path of the host, and the
    # container's group is at the mount.
    for each in (group, *group.parents):
        quota, _, period = _text(CGROUP_MOUNT / each / "cpu.max").partition(" ")
        # No limit is "max".
        if quota.isdigit() and period.isdigit() and int(period):
            yield math.ceil(int(quota) / int(period))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _drop_unwritten() -> None:
    for stream in filter(None, (sys.__stdout__, sys.__stderr__)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
