"""Checks that the ledger still has the last operations of this process.

An older copy in the ledger's place lacks the newest operations, and so the last ones
that were acknowledged to this process. A thread checks for them once a second after
writes, with or without a checkpoint file. It knows the database only by its interface,
and leaves it to a `ReplicatedDatabase` which server to use.
"""

import atexit
import logging
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, runtime_checkable

from deeds.errors import LedgerRolledBackError, RetryLaterError
from deeds.model import Operation
from parts.rollback.checkpoint import (
    CheckpointFile,
    RollbackError,
    check_ledger_exists,
    check_present,
    open_checkpoint,
)
from storage.database import (
    NO_OPERATION,
    Database,
    Record,
    Rows,
    Transaction,
    Work,
)
from storage.files import refuse_root

_log = logging.getLogger("deeds")

CHECK_INTERVAL_S = 1.0

# A few more than the concurrent requests of a process, because overlapping commits are
# acknowledged in any order. The newest one of them must be among these.
_REMEMBERED_COUNT = 40

# Limit for the last check at a close, because the database may hang. The server
# reserves 3 s for closing the application, and the log may take 1 s of them.
CLOSE_SECONDS_MAX = 2.0

# BlockingIOError: another process holds the file's lock during its own query.
_PASSING_ERRORS = (RetryLaterError, BlockingIOError)


@runtime_checkable
class ReplicatedDatabase(Protocol):
    """A database of several servers, which distinguishes an outdated one from a loss.

    It raises LedgerRolledBackError while a loss is certain.
    """

    @property
    def loss(self) -> Operation | None:
        """Return an operation that is certainly lost, or None."""

    def remember(self, operation: Operation) -> None:
        """Use no server that lacks this operation."""


class WatchedDatabase:
    """A database that refuses writes after it has lost committed operations.

    A `ReplicatedDatabase` detects a loss itself, and may recover from it. Any other
    database is a file, which may have been replaced while it is open: once an operation
    is missing, this process writes no more.

    In both cases the checkpoint file then names the missing operation, so that no
    process starts on that ledger.
    """

    def __init__(
        self,
        database: Database,
        file: CheckpointFile | None = None,
        on_retry: Callable[[str], None] | None = None,
        check_interval_s: float = CHECK_INTERVAL_S,
    ) -> None:
        """Wrap a database, without starting the thread.

        `on_retry` is called with "checkpoint" each time the file cannot be written.
        """
        self._database = database
        self._replicated = (
            database if isinstance(database, ReplicatedDatabase) else None
        )
        self._file = file
        self._on_retry = on_retry
        self._check_interval_s = check_interval_s
        self._last: deque[Operation] = deque(maxlen=_REMEMBERED_COUNT)
        # The checkpoint when the file was last read or written.
        self._checkpoint = NO_OPERATION
        # Whether there were writes since the last check.
        self._is_behind = False
        # The lost operation; always None for a replicated database.
        self._loss: Operation | None = None
        self._is_failing = False
        self._lock = threading.Lock()
        # Started by the first write, so none exists before a fork.
        self._thread: threading.Thread | None = None
        # Each thread has its own, so that one which a close no longer awaits ends too.
        self._stop = threading.Event()
        self.name, self.table_names = database.name, database.table_names
        self.read, self.read_each = database.read, database.read_each
        self.snapshot, self.find_damage = database.snapshot, database.find_damage
        self.definitions_sql = database.definitions_sql
        self.run_in_scratch = database.run_in_scratch
        self.bytes_on_disk = database.bytes_on_disk

    def create(self, work: Callable[[Transaction], None]) -> None:
        """Create or change tables as the database does.

        Raises RollbackError if there is no ledger, but a checkpoint: perhaps the
        ledger's disk is not mounted.
        """
        if self._file is not None:
            check_ledger_exists(self._database, self._file)
        self._database.create(work)

    def check_start(self, *, thorough: bool = False) -> None:
        """Raise StartError if the ledger must not be served.

        Raises RollbackError if it lacks the checkpoint's operation.
        """
        self._database.check_start(thorough=thorough)
        if self._file is None:
            if thorough:
                _log.warning(
                    "DEEDS_CHECKPOINT_FILE is not set: a start does not detect that the"
                    " ledger was replaced by an older copy",
                    extra={"event": "checkpoint_off"},
                )
            return
        refuse_root(self._file.path.parent)
        self._checkpoint = open_checkpoint(self._database, self._file)
        self._last.append(self._checkpoint)
        if self._replicated is not None:
            self._replicated.remember(self._checkpoint)

    def write(self, work: Work[Record], record: Record) -> Operation:
        """Write to the database; raise LedgerRolledBackError after a loss."""
        self._check_not_lost()
        operation = self._database.write(work, record)
        if operation != NO_OPERATION and not operation.replayed:
            self._remember(operation)
        return operation

    def probe(self, sql: str) -> Rows:
        """Return the rows of a query; raise RetryLaterError if writes would fail."""
        self._check_not_lost()
        return self._database.probe(sql)

    def close(self) -> None:
        """End the thread, raise the checkpoint, and close the database.

        If the database hangs, the checkpoint may lack the last operations. The next use
        reopens the database, and the next write starts a new thread.
        """
        self._finish()
        self._database.close()

    def _check_not_lost(self) -> None:
        if self._loss is not None:
            raise LedgerRolledBackError

    def _remember(self, operation: Operation) -> None:
        with self._lock:
            self._last.append(operation)
            self._is_behind = True
            if self._thread is not None:
                return
            stop = threading.Event()
            thread = threading.Thread(
                target=self._run, args=[stop], name="rollback", daemon=True
            )
            # If the thread cannot be started, the next operation tries again.
            with suppress(RuntimeError):
                thread.start()
                self._thread, self._stop = thread, stop
                # The checkpoint covers the last second of a process that exits.
                atexit.register(self._finish)

    def _finish(self) -> None:
        """End the thread, and raise the checkpoint if it is behind.

        If the database hangs, the process may exit in the middle of the check. This
        does not harm the file: its lock ends with the process, and a rename replaces
        it.
        """
        atexit.unregister(self._finish)
        with self._lock:
            # From here on a write starts a new thread.
            thread, self._thread = self._thread, None
            self._stop.set()
        if thread is None:
            self._try_check()
        else:
            thread.join(CLOSE_SECONDS_MAX)

    def _run(self, stop: threading.Event) -> None:
        while not stop.wait(self._check_interval_s):
            self._try_check()
        self._try_check()

    def _try_check(self) -> None:
        """Check for the last operations, and raise the checkpoint. Never fails."""
        try:
            self._name_loss()
            if self._is_behind and self._loss is None:
                self._is_behind = False
                self._check()
                self._is_failing = False
        except Exception as error:  # noqa: BLE001 - the thread goes on
            self._is_behind = True
            self._report_failure(error)

    def _check(self) -> None:
        """Check for the last operations, and raise the checkpoint."""
        with self._lock:
            operations = tuple(self._last)
        try:
            if self._file is None:
                check_present(self._database, operations)
            else:
                self._checkpoint = self._file.raise_to(self._database, operations)
        except RollbackError as error:
            self._handle_loss(error)

    def _handle_loss(self, error: RollbackError) -> None:
        if self._replicated is not None:
            # Another process of this machine has written the checkpoint.
            self._replicated.remember(error.operation)
            self._is_behind = True
            return
        self._loss = error.operation
        _log.error(
            "%s; then restart all processes: this one writes nothing any more",
            error.reason,
            extra={"event": "ledger_rolled_back"},
        )
        self._name_loss()

    def _name_loss(self) -> None:
        """Write the lost operation to the file, once.

        Afterwards an operator may lower the checkpoint, to accept the loss.
        """
        replicated = self._replicated
        loss = self._loss if replicated is None else replicated.loss
        if loss is not None and self._file is not None:
            self._file.name_loss(loss, self._checkpoint)
            self._checkpoint = loss

    def _report_failure(self, error: Exception) -> None:
        if isinstance(error, _PASSING_ERRORS):
            return
        if self._on_retry is not None:
            self._on_retry("checkpoint")
        if self._is_failing:
            return
        self._is_failing = True
        reason = getattr(error, "strerror", None) or type(error).__name__
        _log.warning(
            "cannot write the checkpoint file %s (%s): until this succeeds, a restart"
            " may not detect that the ledger was replaced by an older copy",
            self._file.path if self._file else None,
            reason,
            exc_info=error,
            extra={"event": "checkpoint_unwritten"},
        )
