"""The resources of this process: CPUs, threads, open files, standard streams.

Must not import gunicorn, which reads WEB_CONCURRENCY when imported: `deeds serve`
validates the variable first.
"""

import atexit
import logging
import math
import os
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from select import PIPE_BUF, POLLOUT, poll
from threading import Lock, Thread, current_thread
from time import sleep

import click

OWN_CGROUPS = Path("/proc/self/cgroup")
CGROUP_MOUNT = Path("/sys/fs/cgroup")

STDERR = 2

# Log lines in the queue, about 300 bytes each: 3 MB.
LINES_MAX = 10_000
_LINES_AT_ONCE_MAX = 100

# Pause after each write, so that lines which follow soon are written together.
_PAUSE_S = 0.01

# How long a stopping process waits until its log is written.
_STOP_S_MAX = 1.0

_log = logging.getLogger("deeds")

# Threads for requests in each process. Argon2id releases the GIL, so threads that wait
# for it cost little; the hash pool limits how many hashes run at once.
THREADS_COUNT = 32

# Connections of each process, one file each. A low limit of open files allows fewer:
# OTHER_FILES_MAX are reserved, two SQLite files for each thread and some more.
CONNECTIONS_MAX, CONNECTIONS_MIN = 512, 32
OTHER_FILES_MAX = 128


def default_processes_count() -> int:
    """Return the number of workers if WEB_CONCURRENCY is not set.

    One for each CPU, because Python runs one thread of a process at a time: on 2 CPUs,
    two processes of 8 threads were 3.5 times as fast as one of 16. At least two, so
    that one serves while the other is replaced.
    """
    return max(2, usable_cpus_count())


def usable_cpus_count() -> int:
    """Return how many CPUs may run this process at once, at least 1.

    This is the minimum of the CPU affinity and the quotas of its cgroup and all parent
    cgroups ("cpu.max" in the kernel's cgroup-v2 guide), because a container sees all
    CPUs of its host. A quota of 1.5 CPUs counts as 2, as in the JVM and Go.
    """
    affinity = getattr(
        os, "sched_getaffinity", lambda _pid: range(os.cpu_count() or 1)
    )(0)
    return max(1, min([len(affinity), *_quotas_cpus()]))


class LogStream:
    """Writes the log to standard error without blocking on a slow reader.

    After `start`, a thread writes the lines. Without it, each call of `write_line`
    writes its line at once, or drops it: gunicorn's master must not start a thread,
    because it forks. The number of dropped lines is logged after the next successful
    write. Python's QueueListener is not used, because it never drops lines and stops
    only when all are written.
    """

    def __init__(self) -> None:
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._lock = Lock()
        self._dropped_count = 0
        # Called with the number of lines, whenever some are dropped.
        self.on_drop: Callable[[int], None] | None = None

    def start(self) -> None:
        """Start the thread. The process must not fork afterwards."""
        thread = Thread(target=self._run, name="log", daemon=True)
        thread.start()
        self._thread = thread
        atexit.register(self.stop)

    def stop(self) -> None:
        """End the thread once all is written, or after a second."""
        if self._thread is not None:
            self._lines.put(None)
            self._thread.join(_STOP_S_MAX)
            self._thread = None

    def write_line(self, line: bytes) -> None:
        """Write a line, which ends with a newline, or drop it. Thread-safe."""
        if self._thread is None:
            self._write(line, wait_ms=0)
        elif self._thread is current_thread():
            # The thread's own warning about dropped lines: the queue may be full again.
            self._write(line, wait_ms=None)
        elif self._lines.qsize() < LINES_MAX:
            self._lines.put(line)
        else:
            self._drop(1)

    def _run(self) -> None:
        is_open = True
        while is_open:
            lines = [self._lines.get()]
            with suppress(Empty):
                while len(lines) < _LINES_AT_ONCE_MAX:
                    lines.append(self._lines.get_nowait())
            is_open = None not in lines
            self._write(b"".join(filter(None, lines)), wait_ms=None)
            sleep(_PAUSE_S)

    def _write(self, lines: bytes, wait_ms: int | None) -> None:
        """Write lines; drop the rest after an error or `wait_ms` (None: no limit).

        Writes of up to PIPE_BUF bytes to a pipe are atomic, so lines of several
        processes do not mix.
        """
        with suppress(OSError):
            while lines and _is_writable(wait_ms):
                length = lines.rfind(b"\n", 0, PIPE_BUF) + 1 or PIPE_BUF
                lines = lines[os.write(STDERR, lines[:length]) :]
        if lines:
            self._drop(lines.count(b"\n"))
        elif self._dropped_count:
            with self._lock:
                count, self._dropped_count = self._dropped_count, 0
            _log.warning(
                "dropped log lines: %d",
                count,
                extra={"event": "log_dropped"},
            )

    def _drop(self, count: int) -> None:
        with self._lock:
            self._dropped_count += count
        if self.on_drop is not None:
            self.on_drop(count)


# The log stream of this process.
LOG_STREAM = LogStream()


def open_files_max() -> int:
    """Raise the limit of open files as far as permitted, and return it.

    Soft limits are low for the sake of programs that use select(2); this one does not.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # On macOS the hard limit may be infinite, which the kernel refuses as a soft limit.
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def keep_exit_code() -> None:
    """Prepare for standard streams that are full or closed.

    If a stream is full, Python fails to flush it at exit and exits with 120; this keeps
    the exit code. If a stream is closed, the next file opened would get its descriptor,
    and that may be the ledger; this opens /dev/null in its place.
    """
    atexit.register(_drop_unwritten)
    for stream in range(STDERR + 1):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def print_line(text: str) -> None:
    """Write a line to standard output; end the command if that fails."""
    try:
        click.echo(text)
    except BrokenPipeError:
        # The reader has closed the pipe, as `| head` does.
        raise click.exceptions.Exit(1) from None
    except OSError as error:
        raise click.ClickException(f"standard output: {error.strerror}") from None


def _is_writable(wait_ms: int | None) -> bool:
    """Wait until standard error is writable or broken; return False on a timeout."""
    # A new object for each call, because another thread may be waiting on its own.
    waiting = poll()
    waiting.register(STDERR, POLLOUT)
    return bool(waiting.poll(wait_ms))


def _quotas_cpus() -> Iterator[int]:
    group = Path(_text(OWN_CGROUPS).rpartition("0::/")[2])
    # In a container without a cgroup namespace this path is the host's; the container's
    # own cgroup is then at the mount point.
    for each in (group, *group.parents):
        quota, _, period = _text(CGROUP_MOUNT / each / "cpu.max").partition(" ")
        # Without a limit the quota is "max".
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
