"""Raises the mark of a ledger after commits, at most once a second.

A writer only leaves the number of its operation here. A thread of its own, which each process
starts with its first operation, writes the file: so the mark is never ahead of the ledger, at most
a second behind it, and no swap waits for it.
"""

import atexit
import logging
import threading

from storage.mark_file import Mark, MarkDamagedError, MarkFile

_log = logging.getLogger("deeds")

_WRITE_EVERY_S = 1.0


class MarkKeeper:
    """Keeps one mark file on behalf of one process."""

    def __init__(self, file: MarkFile) -> None:
        """Take the file. No thread is started yet."""
        self._file = file
        self._lock = threading.Lock()
        self._noted: Mark | None = None
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_failing = False

    def note(self, committed: Mark) -> None:
        """Take an operation that is committed."""
        with self._lock:
            if self._noted is None or committed > self._noted:
                self._noted = committed
            if self._thread is None:
                self._thread = self._start()
        if not self._wake.is_set():
            self._wake.set()

    def close(self) -> None:
        """Write what was noted, and end the thread."""
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
        with self._lock:
            noted, self._noted = self._noted, None
        if noted is None:
            return
        try:
            self._file.raise_to(noted)
        except (OSError, MarkDamagedError) as error:
            self._keep(noted, error)
        else:
            self._is_failing = False

    def _keep(self, noted: Mark, error: Exception) -> None:
        """Leave the mark for the next second, and say once that it could not be written."""
        with self._lock:
            self._noted = max(noted, self._noted or noted)
        self._wake.set()
        if not self._is_failing:
            self._is_failing = True
            _log.warning(
                "the mark cannot be written to %s (%s): until it can, nobody would notice that the"
                " ledger was replaced by an older copy",
                self._file.path,
                type(error).__name__,
                extra={"event": "mark_unwritten"},
            )
