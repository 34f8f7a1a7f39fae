"""What a process committed last, and what it means when the ledger or its mark lacks that.

A database loses the end of its history when a standby that lagged takes over, or when an older copy
is put in its place: as long as the operations committed last are there, so are all before them.
"""

import atexit
import logging
import threading
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from deeds.domain.errors import (
    LedgerRolledBackError,
    LedgerUnavailableError,
    RetryLaterError,
    StartError,
)
from storage import statements
from storage.failures import cause_of
from storage.mark_file import NO_OPERATION, Mark, MarkDamagedError, MarkFile

_log = logging.getLogger("deeds")

_WRITE_EVERY_S = 1.0

HOW_TO_ACCEPT = "flask --app app deeds accept-rollback"

_IS_IN_RECOVERY = text("SELECT pg_is_in_recovery()")

Read = Callable[[Callable[[Connection], Mark]], Mark]


class MissingOperationError(Exception):
    """An operation that was committed is not in the ledger. Never leaves the storage."""

    def __init__(self, mark: Mark) -> None:
        super().__init__(mark.operation_id)
        self.mark = mark


def check_present(connection: Connection, marks: Collection[Mark]) -> None:
    """Check that all of the operations are in the ledger, each with its time.

    Raises:
        MissingOperationError: one is not.
        LedgerUnavailableError: one is not, and the server is a standby, which may lag.
    """
    missing = _missing(connection, marks)
    if not missing:
        return
    if connection.dialect.name == "postgresql" and connection.scalar(_IS_IN_RECOVERY):
        raise LedgerUnavailableError("the database is a standby, which may lag")
    # Once more: it may have been a standby at the first look, and no server becomes one again.
    if missing := _missing(connection, missing):
        raise MissingOperationError(max(missing))


def _missing(connection: Connection, marks: Collection[Mark]) -> set[Mark]:
    wanted = set(marks) - {NO_OPERATION}
    ids = {"operation_ids": [mark.operation_id for mark in wanted]}
    rows = connection.execute(statements.READ_OPERATION_TIMES, ids) if wanted else ()
    return wanted - {Mark(row.id, row.created_at_ms) for row in rows}


class LastOperations:
    """What one process committed last. Any thread may call it.

    A thread of its own, started by the first operation, raises the mark file once a second. So the
    mark is never ahead of the ledger, and no write waits for it.
    """

    def __init__(
        self, mark: Mark, file: MarkFile | None, read: Read, *, are_ids_in_order: bool
    ) -> None:
        """Create it from the mark at the start, its file, and what runs a read of the ledger.

        `are_ids_in_order` says whether the database gives out ids in the order of commits.
        """
        self._newest = mark
        # Several where commits overlapped: any of them may be the first that a database loses.
        self.marks: tuple[Mark, ...] = () if mark == NO_OPERATION else (mark,)
        self._are_ids_in_order = are_ids_in_order
        self._file = file
        self._read = read
        self._written = mark
        self._lock = threading.Lock()
        self._is_lost = False
        self._is_behind = False
        self._is_failing = False
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def note(self, committed: Mark, predecessors: Collection[Mark]) -> None:
        """Record an operation whose commit was acknowledged, and those it was conditional on."""
        with self._lock:
            self._newest = max(self._newest, committed)
            if self._are_ids_in_order:
                self.marks = (self._newest,)
            else:
                kept = [each for each in self.marks if each not in predecessors]
                self.marks = (*kept, committed)
            self._let_write()

    def check_not_lost(self) -> None:
        """Raise `LedgerRolledBackError` if the ledger was found without one of them."""
        if self._is_lost:
            raise LedgerRolledBackError

    def report_lost(self, lost: Mark) -> None:
        """Let the process write no more, log why, and let the mark file show it; once."""
        with self._lock:
            if self._is_lost:
                return
            self._is_lost = True
            self._let_write()
        at = datetime.fromtimestamp(lost.created_at_ms / 1000, UTC)
        _log.error(
            "operation %d of %s was committed but is not in the ledger: this is an older copy, or a"
            " standby that lagged has taken over, and secrets spent since are live again. This"
            " process writes no more. Restore the right database, or run: %s; then restart all"
            " processes",
            lost.operation_id,
            at.isoformat(timespec="milliseconds"),
            HOW_TO_ACCEPT,
            extra={"event": "ledger_rolled_back"},
        )

    def close(self) -> None:
        """Write the mark if it is behind, and end the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            atexit.unregister(self.close)
        self._write()

    def _let_write(self) -> None:
        self._is_behind = True
        if self._thread is None and self._file is not None:
            thread = threading.Thread(target=self._run, name="mark", daemon=True)
            thread.start()
            self._thread = thread
            # A process that stops on request does not lose its last second.
            atexit.register(self.close)

    def _run(self) -> None:
        while not self._stop.wait(_WRITE_EVERY_S):
            self._write()

    def _write(self) -> None:
        file = self._file
        if file is None or not self._is_behind:
            return
        self._is_behind = False
        try:
            self._written = self._read(lambda connection: self._raise(connection, file))
        except MissingOperationError as missing:
            self.report_lost(missing.mark)
        except Exception as error:  # noqa: BLE001 - the thread must not end, whatever happens
            self._is_behind = True
            # If the ledger cannot be read just now, that has been logged.
            if not isinstance(error, RetryLaterError | DBAPIError):
                self._warn(error, file)
        else:
            self._is_failing = False

    def _raise(self, connection: Connection, file: MarkFile) -> Mark:
        try:
            check_present(connection, self.marks)
        except MissingOperationError as missing:
            # Others may have raised the mark past what is lost: let it show that. Where it was
            # lowered, the loss is accepted, and this process is yet to be restarted.
            mark = file.read()
            if mark is not None and mark >= self._written:
                check_present(connection, [mark])
                file.lower_to(missing.mark)
            raise
        return file.raise_to(self._newest, lambda mark: check_present(connection, [mark]))

    def _warn(self, error: Exception, file: MarkFile) -> None:
        """Log once that the mark could not be written, with a traceback if that was unforeseen."""
        if not self._is_failing:
            self._is_failing = True
            _log.warning(
                "cannot write the mark file %s (%s): until this succeeds, a restart may not detect"
                " that the ledger was replaced by an older copy",
                file.path,
                type(error).__name__,
                exc_info=None if isinstance(error, OSError | MarkDamagedError) else error,
                extra={"event": "mark_unwritten"},
            )


class RollbackError(StartError):
    """The ledger is not the one that the mark was made for, or only an earlier state of it."""

    def __init__(self, newest: Mark, mark: Mark | None) -> None:
        """Create it from the newest operation of the ledger and the mark, None if damaged."""
        self.finding = _explain(newest, mark)
        super().__init__(f"{self.finding}; restore the right database, or run: {HOW_TO_ACCEPT}")


def _explain(newest: Mark, mark: Mark | None) -> str:
    if mark is None:
        return "the mark file is damaged, so the ledger cannot be told from an older copy"
    operation = f"operation {mark.operation_id}"
    if newest == NO_OPERATION:
        return (
            f"the ledger is empty, but {operation} was committed: this is a new ledger, and the "
            "one in use before is elsewhere"
        )
    if newest.operation_id < mark.operation_id:
        # At most: PostgreSQL skips ids.
        return (
            f"the ledger ends at operation {newest.operation_id}, but {operation} was committed: "
            f"this is an older copy, up to {mark.operation_id - newest.operation_id} operations "
            "are lost and secrets spent in them are live again"
        )
    return (
        f"{operation} of the ledger is not the one that was committed: this is another ledger, or "
        "an older copy that diverged, in which secrets spent before may be live again"
    )


def mark_file_of(engine: Engine, path: str | None) -> MarkFile | None:
    """Return the mark file at the path of the settings, or an SQLite ledger's own, or None."""
    if path is not None:
        return MarkFile(Path(path))
    return (
        MarkFile(Path(f"{engine.url.database}-mark")) if engine.dialect.name == "sqlite" else None
    )


def read_newest(engine: Engine) -> Mark:
    """Return the operation with the highest id, or `NO_OPERATION`."""
    with engine.connect() as connection:
        row = connection.execute(statements.READ_NEWEST_OPERATION).one_or_none()
    return NO_OPERATION if row is None else Mark(row.id, row.created_at_ms)


def raise_mark(engine: Engine, file: MarkFile) -> Mark:
    """Raise the mark to where the ledger is, unless the ledger is behind it, and return it.

    Raises:
        RollbackError: the ledger is behind the mark, or the mark is damaged; it is left alone.
        StartError: the ledger is on a standby that lags, or the file cannot be used.
        DBAPIError: the ledger cannot be read.
    """
    newest = read_newest(engine)
    try:
        with engine.connect() as connection:
            return file.raise_to(newest, lambda mark: check_present(connection, {mark} - {newest}))
    except MarkDamagedError:
        raise RollbackError(newest, None) from None
    except MissingOperationError as missing:
        raise RollbackError(newest, missing.mark) from None
    except LedgerUnavailableError as error:
        raise StartError(f"DATABASE_URL: {error.detail}") from None
    except OSError as error:
        raise StartError(f"cannot use the mark file {file.path}: {error.strerror}") from None


def open_mark(engine: Engine, file: MarkFile) -> Mark:
    """Raise the mark as `raise_mark` does, and log if there was none for a ledger in use.

    Raises:
        StartError: the ledger is behind the mark, or either cannot be used.
    """
    is_new = not file.path.exists()
    try:
        mark = raise_mark(engine, file)
    except DBAPIError as error:
        raise StartError(f"DATABASE_URL: the ledger cannot be read: {cause_of(error)}") from None
    if is_new and mark != NO_OPERATION:
        _log.warning(
            "there was no mark file at %s: it was created, and an older copy of the ledger is"
            " detected from now on",
            file.path,
            extra={"event": "mark_new"},
        )
    return mark
