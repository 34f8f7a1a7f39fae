"""What this process has: CPUs and threads to serve with, and its standard streams.

Must not import gunicorn, whose import reads WEB_CONCURRENCY: `deeds serve` checks that
before.
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

# Lines of the log that wait to be written, about 300 bytes each: 3 MB.
LINES_MAX = 10_000
_LINES_AT_ONCE_MAX = 100

# After a write: lines that come close together are written together.
_PAUSE_S = 0.01

# How long a process that stops waits for those who read its log.
_STOP_S_MAX = 1.0

_log = logging.getLogger("deeds")

# Of a process. Argon2id runs without holding the GIL, so threads that wait for it cost
# little; how many hash at once is bounded by the hash pool.
THREADS_COUNT = 32

# Open connections of a process, one file each. Where the limit of open files is low
# there are fewer: two files of SQLite for each thread, and some more, are left over.
CONNECTIONS_MAX, CONNECTIONS_MIN = 512, 32
OTHER_FILES_MAX = 128


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


class LogStream:
    """Writes the log to standard error without waiting for its reader.

    A process that serves has a thread that writes. One that forks must have none: it
    writes a line if that is possible at once. Lines that cannot be written are dropped,
    and their number is logged when one can be written again. Python's QueueListener is
    not used: it drops nothing, and stops only when all is written.
    """

    def __init__(self) -> None:
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._lock = Lock()
        self._dropped_count = 0
        # Called with a number of lines that were dropped.
        self.on_drop: Callable[[int], None] | None = None

    def start(self) -> None:
        """Start the thread, which no fork may follow."""
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

    def write(self, line: bytes) -> None:
        """Write a line, with its end, or drop it. Any thread may call it."""
        if self._thread is None:
            self._write(line, wait_ms=0)
        elif self._thread is current_thread():
            # What it says of lines that were dropped, whose place others have taken.
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
        """Write lines; drop those that are left after an error, or after the wait.

        A pipe takes PIPE_BUF bytes whole: lines of several processes are not mixed up.
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
                "lines of the log that could not be written: %d",
                count,
                extra={"event": "log_dropped"},
            )

    def _drop(self, count: int) -> None:
        with self._lock:
            self._dropped_count += count
        if self.on_drop is not None:
            self.on_drop(count)


# That of this process.
LOG_STREAM = LogStream()


def open_files_max() -> int:
    """Return how many files this process may have open, after raising the limit.

    The soft limit is for programs that use select(2); this one does not.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Where the hard one is only a word, as on macOS, the kernel takes less.
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def keep_exit_code() -> None:
    """Let this process end with its exit code where a stream is full or closed.

    Python keeps what a standard stream did not take, tries to write it once more when
    it ends, and exits with 120. A closed stream leaves its number to the next file that
    is opened, which may be the ledger: it becomes one of /dev/null.
    """
    atexit.register(_drop_unwritten)
    for stream in range(STDERR + 1):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def print_line(text: str) -> None:
    """Write a line to standard output, and end the command where that fails."""
    try:
        click.echo(text)
    except BrokenPipeError:
        # Of `| head`, which reads no more.
        raise click.exceptions.Exit(1) from None
    except OSError as error:
        raise click.ClickException(f"standard output: {error.strerror}") from None


def _is_writable(wait_ms: int | None) -> bool:
    """Return whether standard error can be written now, or fails at once."""
    # One for each call: a thread may still be waiting on another.
    waiting = poll()
    waiting.register(STDERR, POLLOUT)
    return bool(waiting.poll(wait_ms))


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
