"""Raises the mark of a ledger after commits, at most once a second.

A writer only says that there is something new. A thread of its own, which each process starts with
its first operation, writes the file: so the mark is never ahead of the ledger, at most a second
behind it, and no swap waits for it. Before it raises the mark it looks whether the ledger still has
the operation that the mark names and those that this process committed last.
"""

import atexit
import logging
import threading
from collections.abc import Callable

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from deeds.domain.errors import RetryLaterError
from storage.last_operations import LastOperations, MissingOperationError, check_there
from storage.mark_file import Mark, MarkDamagedError, MarkFile

_log = logging.getLogger("deeds")

_WRITE_EVERY_S = 1.0


class MarkKeeper:
    """Keeps one mark file on behalf of one process."""

    def __init__(
        self,
        file: MarkFile,
        last: LastOperations,
        read: Callable[[Callable[[Connection], Mark]], Mark],
    ) -> None:
        """Take the file, what the process committed last, and what reads from the ledger.

        No thread is started yet.
        """
        self._file = file
        self._last = last
        self._read = read
        self._seen = last.newest
        self._lock = threading.Lock()
        self._is_behind = False
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_failing = False

    def wake(self) -> None:
        """Let the mark be written soon."""
        self._is_behind = True
        with self._lock:
            if self._thread is None:
                self._thread = self._start()
        if not self._wake.is_set():
            self._wake.set()

    def close(self) -> None:
        """Write the mark if it is behind, and end the thread."""
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
            atexit.unregister(self.close)
        self._flush()

    def _start(self) -> threading.Thread:
        thread = threading.Thread(target=self._run, name="mark", daemon=True)
        thread.start()
        # A process that stops politely does not lose its last second.
        atexit.register(self.close)
        return thread

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.wait()
            self._wake.clear()
            self._flush()
            self._stop.wait(_WRITE_EVERY_S)

    def _flush(self) -> None:
        if not self._is_behind:
            return
        self._is_behind = False
        try:
            self._seen = self._read(self._raise)
        except MissingOperationError as missing:
            self._last.report_lost(missing.mark)
        except (RetryLaterError, DBAPIError):
            # Nobody can look at the ledger now.
            self._try_later()
        except (OSError, MarkDamagedError) as error:
            self._try_later()
            self._warn(error)
        else:
            self._is_failing = False

    def _raise(self, connection: Connection) -> Mark:
        try:
            check_there(connection, self._last.marks)
        except MissingOperationError as missing:
            self._show(connection, missing.mark)
            raise
        return self._file.raise_to(self._last.newest, lambda mark: check_there(connection, [mark]))

    def _show(self, connection: Connection, lost: Mark) -> None:
        """Make sure that the mark shows what is lost: others may have raised it past that."""
        mark = self._file.read()
        # Where it was lowered, the loss is accepted, and this process is yet to be restarted.
        if mark is not None and mark >= self._seen:
            check_there(connection, [mark])
            self._file.lower_to(lost)

    def _try_later(self) -> None:
        self._is_behind = True
        self._wake.set()

    def _warn(self, error: Exception) -> None:
        """Say once that the mark could not be written."""
        if not self._is_failing:
            self._is_failing = True
            _log.warning(
                "the mark cannot be written to %s (%s): until it can, nobody would notice that the"
                " ledger was replaced by an older copy",
                self._file.path,
                type(error).__name__,
                extra={"event": "mark_unwritten"},
            )
