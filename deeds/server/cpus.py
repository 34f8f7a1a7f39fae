"""How many CPUs this process may really use, and how many processes and threads there are.

A container or a PaaS dyno sees all CPUs of its host but may use few of them. Sizing pools by
`os.cpu_count()` there starts dozens of workers on one CPU.
"""

import math
import os
from collections.abc import Iterator
from pathlib import Path

OWN_CGROUPS = Path("/proc/self/cgroup")
CGROUP_MOUNT = Path("/sys/fs/cgroup")


# Of a process. Argon2id runs without holding the GIL, so threads that wait for it cost little; how
# many hash at once is bounded in deeds/domain/hashing.py.
THREADS_COUNT = 32


def default_processes_count() -> int:
    """Return how many processes serve unless WEB_CONCURRENCY says so.

    Python runs one thread of each at a time: on 2 CPUs two processes of 8 threads served 3.5 times
    what one of 16 did. At least two, so that one can be replaced while one serves.
    """
    return max(2, usable_cpus_count())


def usable_cpus_count(own_cgroups: Path = OWN_CGROUPS, mount: Path = CGROUP_MOUNT) -> int:
    """Return how many CPUs may run this process at once, at least 1.

    The smallest of: the scheduling affinity (sched_getaffinity(2), set by `taskset` and cpusets)
    and every quota of the process's cgroup and the groups above it. A quota of 1.5 CPUs counts
    as 2, as the JVM and Go count it: rounding down would leave a third of it unused.

    Sources: cgroups(7); "cpu.max" in the kernel's cgroup-v2 guide; "cpu.cfs_quota_us" in its
    sched-bwc guide (version 1). Where no such file exists, on macOS for one, only the affinity or
    `os.cpu_count()` counts.
    """
    quotas = [math.ceil(quota) for quota in _quotas_cpus(own_cgroups, mount)]
    return max(1, min([_affinity_count(), *quotas]))


def _affinity_count() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _quotas_cpus(own_cgroups: Path, mount: Path) -> Iterator[float]:
    """Yield each quota, in CPUs, that bounds this process."""
    for hierarchy, group in _memberships(own_cgroups):
        for directory in _group_directories(mount / hierarchy, group):
            quota = _quota_v2(directory) if hierarchy == "" else _quota_v1(directory)
            if quota is not None:
                yield quota


def _memberships(own_cgroups: Path) -> Iterator[tuple[str, str]]:
    """Yield (directory of the hierarchy below the mount, path of our group) per cpu hierarchy.

    A line is `id:controllers:path`; version 2 has no controllers there and sits at the mount.
    """
    for line in _text(own_cgroups).splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers == "" or "cpu" in controllers.split(","):
            yield controllers, group.strip("/")


def _group_directories(top: Path, group: str) -> list[Path]:
    """Return the group's directory and those above it, up to the top of the hierarchy.

    In a container without its own cgroup namespace `group` is the host's path, absent here; the
    container's own group is then mounted at the top, which this covers too.
    """
    below_top = Path(group)
    return [top / below_top, *(top / parent for parent in below_top.parents)]


def _quota_v2(directory: Path) -> float | None:
    quota, _, period = _text(directory / "cpu.max").partition(" ")
    return _cpus(quota, period)


def _quota_v1(directory: Path) -> float | None:
    return _cpus(_text(directory / "cpu.cfs_quota_us"), _text(directory / "cpu.cfs_period_us"))


def _cpus(quota_us: str, period_us: str) -> float | None:
    """Return quota / period, or None for "no limit" ("max" in version 2, -1 in version 1)."""
    try:
        cpus = int(quota_us) / int(period_us)
    except (ValueError, ZeroDivisionError):
        return None
    return cpus if cpus > 0 else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
