"""Lets the processes that share an SQLite file write in turn.

SQLite's own lock keeps the ledger safe, but its waiters sleep and look again, up to 100 ms apart,
while the process that just wrote takes the lock anew. Here the one that has written goes to the
end: it cannot pass the turnstile while another one waits in it, looking every half millisecond.

POSIX record locks on two bytes of a file beside the ledger; the kernel frees them when a process
dies. Nothing is written to the file.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from deeds.domain.errors import LedgerUnavailableError
from storage.presence import InUseError, announce, try_lock
from storage.sqlite_file import open_for_owner

_TURNSTILE, _WRITER = 0, 1

# A commit takes a few times this long.
_LOOK_EVERY_S = 0.0005


class Turnstile:
    """The turn of one process. At most one of its threads may be inside."""

    def __init__(self, path: Path, *, timeout_s: float) -> None:
        """Open the lock file at `path`, creating it if needed, and take how long a turn may be.

        Raises:
            OSError: it cannot be opened.
            InUseError: the ledger is being replaced.
        """
        self._timeout_s = timeout_s
        self._file = open_for_owner(path, os.O_RDWR | os.O_CREAT)
        try:
            announce(self._file)
        except InUseError:
            os.close(self._file)
            raise

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for this process's turn to write.

        Raises:
            LedgerUnavailableError: another process kept its turn for longer than the timeout.
        """
        deadline_s = monotonic() + self._timeout_s
        self._lock(_TURNSTILE, deadline_s)
        try:
            self._lock(_WRITER, deadline_s)
        finally:
            self._unlock(_TURNSTILE)
        try:
            yield
        finally:
            self._unlock(_WRITER)

    def close(self) -> None:
        """Close the lock file."""
        os.close(self._file)

    def _lock(self, byte: int, deadline_s: float) -> None:
        while not try_lock(self._file, fcntl.LOCK_EX, byte):
            if monotonic() > deadline_s:
                raise LedgerUnavailableError
            sleep(_LOOK_EVERY_S)

    def _unlock(self, byte: int) -> None:
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, byte)
