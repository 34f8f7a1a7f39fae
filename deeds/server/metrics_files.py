"""The files in which the processes of one gunicorn count, each in its own.

They lie in a private directory in memory, made before the first worker and removed after the last.
The files have the number of a place among the workers and not of a process: a worker that follows
one that died takes up its files and goes on counting, so there are never more than there are
workers, and no counter ever falls.
"""

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

# Room for all series that can ever be, taken beforehand: in a file that has to grow while memory is
# full, the write that needs the room would kill the process.
_SIZES = {"counter": 65_536, "histogram": 524_288, "gauge_livesum": 65_536}

_PREFIX = "deeds-metrics-"
_LOCK = "lock"

# A younger directory may be one whose owner has not locked it yet.
_ABANDONED_AFTER_S = 60.0


class MetricsFiles:
    """The directory, and which places are taken. For the process that starts the workers."""

    def __init__(self, directory: Path) -> None:
        """Take an empty directory; it counts as in use until this process and its workers end."""
        self.directory = directory
        self._lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._taken: set[int] = set()

    @classmethod
    def create(cls, parent: str) -> Self:
        """Make a directory in `parent`; remove there what processes that were killed have left."""
        for path in Path(parent).glob(f"{_PREFIX}*"):
            # One of another user, or one that another start removes at this moment.
            with suppress(OSError):
                _remove_abandoned(path)
        return cls(Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent)))

    def take_place(self) -> int:
        """Return the lowest free place, for a worker that is about to start.

        Raises:
            OSError: there is no room for its files.
        """
        place = next(number for number in range(len(self._taken) + 1) if number not in self._taken)
        for kind, size in _SIZES.items():
            file = os.open(self.directory / f"{kind}_{place}.db", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                os.posix_fallocate(file, 0, size)
            finally:
                os.close(file)
        self._taken.add(place)
        return place

    def free_place(self, place: int) -> None:
        """Let the next worker have the place of one that has ended."""
        # The figures of what is under way ended with it. Never imported before it is needed: see
        # `count_in`.
        from prometheus_client.multiprocess import mark_process_dead  # noqa: PLC0415

        mark_process_dead(place, str(self.directory))  # type: ignore[no-untyped-call]
        self._taken.discard(place)

    def remove(self) -> None:
        """Remove the directory with all that is in it."""
        shutil.rmtree(self.directory, ignore_errors=True)
        os.close(self._lock)


def count_in(directory: Path, place: int) -> None:
    """Let this process count in files of that place; before any metric is made."""
    # prometheus_client looks at this when it is imported, and again with every file.
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(directory)
    from prometheus_client import values  # noqa: PLC0415

    values.ValueClass = values.MultiProcessValue(lambda: place)  # type: ignore[no-untyped-call]


def _remove_abandoned(path: Path) -> None:
    status = path.lstat()
    is_young = time.time() - status.st_mtime < _ABANDONED_AFTER_S
    if status.st_uid != os.geteuid() or is_young or path.is_symlink():
        return
    lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path)
    finally:
        os.close(lock)
