"""What a process committed last, its mark outside the database, and a ledger that is behind it.

A database loses the end of its history when a standby takes over that lagged, or when an older copy
is put in its place: as long as the operations committed last are there, so are all before them.
"""

import atexit
import logging
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
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
from storage.engine import mark_path
from storage.failures import cause_of
from storage.mark_file import NO_OPERATION, Mark, MarkDamagedError, MarkFile

_log = logging.getLogger("deeds")

_WRITE_EVERY_S = 1.0

HOW_TO_ACCEPT = "flask --app app deeds accept-rollback"

_IS_IN_RECOVERY = text("SELECT pg_is_in_recovery()")


class MissingOperationError(Exception):
    """An operation that was committed is not in the ledger. Never leaves the storage."""

    def __init__(self, mark: Mark) -> None:
        super().__init__(mark.operation_id)
        self.mark = mark


class LastOperations:
    """What one process committed last. Any thread may call it."""

    def __init__(self, mark: Mark = NO_OPERATION, *, are_ids_in_order: bool) -> None:
        """Take the mark that the process started with, and whether ids are in order of commits."""
        self._are_ids_in_order = are_ids_in_order
        self._lock = threading.Lock()
        self._is_lost = False
        self.newest = mark
        # Several where commits overlapped: nobody knows which of them a database would lose first.
        self.marks: tuple[Mark, ...] = () if mark == NO_OPERATION else (mark,)

    def note(self, committed: Mark, predecessors: Collection[Mark]) -> None:
        """Take an operation whose commit was acknowledged, and those it was conditional on."""
        with self._lock:
            self.newest = max(self.newest, committed)
            if self._are_ids_in_order:
                self.marks = (self.newest,)
            else:
                kept = [each for each in self.marks if each not in predecessors]
                self.marks = (*kept, committed)

    def check_not_lost(self) -> None:
        """Raise `LedgerRolledBackError` if the ledger was found without one of them."""
        if self._is_lost:
            raise LedgerRolledBackError

    def report_lost(self, lost: Mark) -> None:
        """Let the process write no more, and log why, once."""
        with self._lock:
            if self._is_lost:
                return
            self._is_lost = True
        at = datetime.fromtimestamp(lost.created_at_ms / 1000, UTC)
        _log.error(
            "operation %d of %s was committed and is not in the ledger now: this is an older copy,"
            " or a standby that lagged has taken over, and secrets spent since are live again. This"
            " process writes no more. Put the right database there, or run: %s; then restart all"
            " processes",
            lost.operation_id,
            at.isoformat(timespec="milliseconds"),
            HOW_TO_ACCEPT,
            extra={"event": "ledger_rolled_back"},
        )


def check_there(connection: Connection, marks: Collection[Mark]) -> None:
    """Return if all of the operations are in the ledger, each with its time.

    Raises:
        MissingOperationError: one is not.
        LedgerUnavailableError: one is not, and the server is a standby, which may lag.
    """
    missing = _missing(connection, marks)
    if not missing:
        return
    if connection.dialect.name == "postgresql" and connection.scalar(_IS_IN_RECOVERY):
        raise LedgerUnavailableError("the database is a standby, which may lag")
    # Looked at again: it may have been a standby still, and no server becomes one again.
    if missing := _missing(connection, missing):
        raise MissingOperationError(max(missing))


def _missing(connection: Connection, marks: Collection[Mark]) -> set[Mark]:
    wanted = set(marks) - {NO_OPERATION}
    ids = [mark.operation_id for mark in wanted]
    rows = (
        connection.execute(statements.READ_OPERATION_TIMES, {"operation_ids": ids}) if ids else ()
    )
    return wanted - {Mark(row.id, row.created_at_ms) for row in rows}


class MarkWriter:
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


@dataclass(frozen=True, slots=True)
class Rollback:
    """A ledger that is not the one that the mark was made for, or only an earlier state of it."""

    newest: Mark
    # None where the file is damaged.
    mark: Mark | None

    def __str__(self) -> str:
        """Return what is found and what it means, in one sentence."""
        if self.mark is None:
            return "the mark file is damaged, so nobody can tell whether this ledger is an old copy"
        if self.newest == NO_OPERATION:
            return (
                f"the ledger is empty, but operation {self.mark.operation_id} was made: this is a "
                "new ledger, in which nobody owns anything, and the one that was used is elsewhere"
            )
        if self.lost_count:
            return (
                f"the ledger ends at operation {self.newest.operation_id}, but operation "
                f"{self.mark.operation_id} was made: this is an older copy, up to "
                f"{self.lost_count} operations are lost and secrets spent in them are live again"
            )
        return (
            f"operation {self.mark.operation_id} of the ledger is not the one that was made: this "
            "is another ledger, or an older copy that went its own way, in which secrets spent "
            "before may be live again"
        )

    @property
    def lost_count(self) -> int:
        """Return how many operations are lost at most; ids are skipped on PostgreSQL."""
        return max(0, self.mark.operation_id - self.newest.operation_id) if self.mark else 0


def mark_file_of(engine: Engine, path: str | None) -> MarkFile | None:
    """Return the mark file at the path of the settings, or an SQLite ledger's own, or None."""
    if path is not None:
        return MarkFile(Path(path))
    return MarkFile(mark_path(engine.url)) if engine.dialect.name == "sqlite" else None


def find_rollback(engine: Engine, file: MarkFile) -> Rollback | None:
    """Return what is wrong with the ledger by its mark, or None. Changes nothing.

    Raises:
        OSError: the mark cannot be read.
        DBAPIError: the database does not answer.
        StartError: the ledger is behind, but the server is a standby, which may lag.
    """
    return _compare(engine, file)[1]


def open_mark(engine: Engine, file: MarkFile) -> Mark:
    """Make sure that the ledger is not behind its mark, and that the mark is not behind the ledger.

    Returns the mark.

    Raises:
        StartError: it is behind, or the file cannot be used.
    """
    try:
        # The mark may be raised by another process while it is compared.
        newest, rollback = _compare(engine, file)
        if rollback is not None:
            raise _refusal(rollback)
        if newest != NO_OPERATION and not file.path.exists():
            _log.warning(
                "there was no mark at %s: from now on it is noticed when the ledger is replaced by"
                " an older copy",
                file.path,
                extra={"event": "mark_new"},
            )
        return raise_mark(engine, file, newest)
    except MissingOperationError as missing:
        raise _refusal(Rollback(newest, missing.mark)) from None
    except LedgerUnavailableError as error:
        raise StartError(f"DATABASE_URL: {error.detail}") from None
    except OSError as error:
        raise StartError(f"cannot use the mark file {file.path}: {error.strerror}") from None
    except DBAPIError as error:
        raise StartError(f"DATABASE_URL: the ledger cannot be read: {cause_of(error)}") from None


def raise_mark(engine: Engine, file: MarkFile, newest: Mark) -> Mark:
    """Raise the mark to the newest operation, which was just read, and return what it is then.

    Raises:
        MissingOperationError: the operation that it names is not in the ledger; it is left alone.
        LedgerUnavailableError: the same, but the server is a standby, which may lag.
        MarkDamagedError, OSError: it cannot be read or written.
    """
    with engine.connect() as connection:
        return file.raise_to(newest, lambda mark: check_there(connection, {mark} - {newest}))


def read_newest(engine: Engine) -> Mark:
    """Return the operation with the highest id, or `NO_OPERATION`."""
    with engine.connect() as connection:
        row = connection.execute(statements.READ_NEWEST_OPERATION).one_or_none()
    return NO_OPERATION if row is None else Mark(row.id, row.created_at_ms)


def _compare(engine: Engine, file: MarkFile) -> tuple[Mark, Rollback | None]:
    """Return the newest operation, and what is wrong by the mark."""
    # First the mark: the ledger may grow meanwhile, and never is behind what the mark was then.
    try:
        mark = file.read() or NO_OPERATION
    except MarkDamagedError:
        newest = read_newest(engine)
        return newest, Rollback(newest, None)
    newest = read_newest(engine)
    if mark in {NO_OPERATION, newest}:
        return newest, None
    try:
        with engine.connect() as connection:
            check_there(connection, [mark])
    except MissingOperationError:
        return newest, Rollback(newest, mark)
    except LedgerUnavailableError as error:
        raise StartError(f"DATABASE_URL: {error.detail}") from None
    return newest, None


def _refusal(rollback: Rollback) -> StartError:
    return StartError(f"{rollback}; put the right one there, or run: {HOW_TO_ACCEPT}")
