"""What processes have used: CPU time of a tree of them, and memory of each child."""

from collections.abc import Iterable

import psutil
from psutil import Process


def tree_cpu_s(pids: Iterable[int]) -> float:
    """Return the CPU seconds, user and system, of the processes and all that came from them.

    Children that have ended are counted once their parent has collected them.
    """
    return sum(_tree_cpu_s(Process(pid)) for pid in pids)


def machine_cpu_s() -> float:
    """Return the CPU seconds of all that this machine has done, whoever asked for it.

    Includes what the machine's host took for others.
    """
    times = psutil.cpu_times()
    waiting_s = times.idle + getattr(times, "iowait", 0.0)
    # On Linux the time of guests is counted among user and nice already.
    guests_s = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    return float(sum(times) - waiting_s - guests_s)


def children_rss_mb(pid: int) -> list[float]:
    """Return the resident memory of each child of a process, in MB of 10**6 bytes."""
    return [child.memory_info().rss / 1e6 for child in Process(pid).children()]


def _tree_cpu_s(root: Process) -> float:
    while True:
        try:
            return sum(map(_own_cpu_s, (root, *root.children(recursive=True))))
        except psutil.NoSuchProcess:
            # One ended meanwhile, as PostgreSQL's come and go. Its parent counts it now: once more.
            if not root.is_running():
                raise


def _own_cpu_s(process: Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)
