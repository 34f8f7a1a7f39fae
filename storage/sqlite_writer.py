"""Writes to an SQLite file: threads share commits, processes take turns.

SQLite has one writer at a time, and each commit waits for the disk. Threads that wait
to write therefore share one transaction (decision 0007, docs/decisions).
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from errno import ENOSPC, errorcode
from os.path import samestat
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from deeds.errors import DeedError, LedgerInDoubtError, LedgerUnavailableError
from deeds.model import Operation
from storage.database import (
    DISK_FULL,
    CauseLog,
    Cursor,
    Rows,
    Values,
    Work,
    WriteRefusal,
)
from storage.files import locked, open_file

# How long to wait for another process that writes before responding with 503.
BUSY_TIMEOUT_S = 5.0

# Interval between attempts to get SQLite's write lock. A commit takes several times as
# long; SQLite's own busy handler would sleep for up to 100 ms.
_POLL_S = 0.0005

# Errors after which a commit has certainly failed. SQLite appends its pages to the WAL
# one after the other, and only the last one makes it valid. If a write fails, that page
# is missing, so the commit cannot reappear after a crash. After other errors, such as a
# failed fsync, the page may be there, and the commit is in doubt.
_REFUSED_WRITES = {"SQLITE_FULL", "SQLITE_IOERR_WRITE"}

_MOVED = "the file of the ledger was moved or deleted"

# Error details by the prefix of SQLite's name for the error.
_DETAILS = {
    "SQLITE_FULL": DISK_FULL,
    "SQLITE_IOERR": "the disk of the ledger fails",
    "SQLITE_READONLY": "the ledger is read-only",
    "SQLITE_CORRUPT": "the ledger is damaged",
    "SQLITE_CANTOPEN": "the file of the ledger cannot be opened",
    "SQLITE_BUSY": "another process keeps the ledger locked",
}


class SqliteTransaction:
    """An open write transaction (storage.database.Transaction)."""

    def __init__(self, connection: sqlite3.Connection, now_ms: int) -> None:
        self.execute: Callable[..., Cursor] = connection.execute
        self.executemany: Callable[..., Cursor] = connection.executemany
        self.now_ms = now_ms

    def read_each(self, sql: str, keys: Sequence[Values]) -> Rows:
        """Run a query with each key as its values; return a row or None for each."""
        return [self.execute(sql, key).fetchone() for key in keys]

    def load(self, table: str, columns: Sequence[str], rows: Iterable[Values]) -> None:
        """Insert rows of another ledger; automatic ids continue after them."""
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        sql = f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608
        self.executemany(sql, rows)


@dataclass(slots=True, eq=False)
class _Ticket:
    """A write in the queue, and its outcome."""

    work: Work[Any]
    record: Any
    # Set when the write is done, or when its thread has to write the next group.
    turn: threading.Event = field(default_factory=threading.Event)
    is_done: bool = False
    operation: Operation | None = None
    error: BaseException | None = None


class SqliteFailures(CauseLog):
    """Translates SQLite's errors, and logs them."""

    def translate(self, error: sqlite3.Error) -> Exception:
        """Log an SQLite error, which never quotes values; return the error to raise."""
        code = code_of(error)
        self.log(error, code, one_line(error))
        # Rows are never deleted, so if a referenced row is missing, the file has been
        # replaced. Other constraint violations and invalid statements are defects.
        is_violation = isinstance(error, sqlite3.IntegrityError)
        is_row_gone = code == "SQLITE_CONSTRAINT_FOREIGNKEY"
        is_misused = isinstance(error, sqlite3.ProgrammingError)
        if code == "SQLITE_ERROR" or is_misused or (is_violation and not is_row_gone):
            return error
        for start, detail in _DETAILS.items():
            if code.startswith(start):
                return LedgerUnavailableError(detail)
        return LedgerUnavailableError()


class SqliteWriter:
    """The only connection of this process that writes, and its queue of writes.

    `clock` returns milliseconds since 1970-01-01 UTC.
    """

    def __init__(
        self, path: Path, clock: Callable[[], int], failures: SqliteFailures
    ) -> None:
        """Store the arguments, without opening the file."""
        self._path = path
        self._clock = clock
        self._failures = failures
        self._lock = threading.Lock()
        self._waiting: list[_Ticket] = []
        self._is_led = False
        # Used only by the thread that leads. One connection keeps one warm page cache.
        self._connection: sqlite3.Connection | None = None
        self._file: os.stat_result | None = None
        self._turn_file: int | None = None
        self.refusal = WriteRefusal()
        self.connect = connect

    def write(self, work: Work[Any], record: Any) -> Operation:
        """Run the work in a transaction, which it may share with other threads.

        The first thread that waits becomes the leader of a group: it writes the tickets
        of all waiting threads and commits once, while the next group queues.
        """
        ticket = _Ticket(work, record)
        with self._lock:
            self._waiting.append(ticket)
            if not self._is_led:
                self._is_led = True
                ticket.turn.set()
        try:
            ticket.turn.wait()
        finally:
            # A signal handler may raise in the first wait, but this thread must still
            # lead when its turn comes, because others wait for it.
            ticket.turn.wait()
            if not ticket.is_done:
                self._lead()
        if ticket.operation is None:
            raise ticket.error or LedgerUnavailableError
        return ticket.operation

    def close(self) -> None:
        """Close the connection and the lock file. No thread may be writing."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._turn_file is not None:
            os.close(self._turn_file)
            self._turn_file = None

    def open_turn_file(self) -> int:
        """Return the open lock file of this process."""
        if self._turn_file is None:
            path = Path(f"{self._path}-lock")
            self._turn_file = open_file(path, os.O_RDWR | os.O_CREAT)
        return self._turn_file

    def _lead(self) -> None:
        """Write the waiting group, and let another thread lead the next one."""
        try:
            try:
                connection = self._begin()
            finally:
                group = self._take_waiting()
            self._commit(connection, group)
        except BaseException as error:
            self._fail(group, error)
            if not isinstance(error, Exception):
                raise
        finally:
            self._pass_on()
            for ticket in group:
                ticket.is_done = True
                ticket.turn.set()

    def _take_waiting(self) -> list[_Ticket]:
        with self._lock:
            group, self._waiting = self._waiting, []
        return group

    def _pass_on(self) -> None:
        """Let the thread that waits longest lead the next group."""
        with self._lock:
            if self._waiting:
                self._waiting[0].turn.set()
            else:
                self._is_led = False

    def _begin(self) -> sqlite3.Connection:
        """Begin a transaction when it is this process's turn; return the connection.

        A waiting process holds the lock file until it has SQLite's lock, so the process
        that has just written cannot overtake it. Both locks end with their process.
        """
        self._check_file()
        deadline_s = monotonic() + BUSY_TIMEOUT_S
        try:
            with locked(self.open_turn_file(), deadline_s):
                if self._connection is None:
                    self._connection = self.connect(self._path)
                    # The loop below waits instead of SQLite, in shorter steps.
                    self._connection.execute("PRAGMA busy_timeout = 0")
                while not _has_begun(self._connection):
                    if monotonic() > deadline_s:
                        raise LedgerUnavailableError(_DETAILS["SQLITE_BUSY"])
                    sleep(_POLL_S)
        except BlockingIOError:
            raise LedgerUnavailableError(_DETAILS["SQLITE_BUSY"]) from None
        except OSError as error:
            code = errorcode.get(error.errno or 0)
            self._failures.log(error, code, f"the lock file: {error.strerror}")
            if error.errno == ENOSPC:
                raise LedgerUnavailableError(DISK_FULL) from None
            raise LedgerUnavailableError from None
        return self._connection

    def _check_file(self) -> None:
        """Raise LedgerUnavailableError if the file was moved, deleted or replaced.

        Later writes to the old file would be lost.
        """
        try:
            file = self._path.stat()
        except OSError:
            raise LedgerUnavailableError(_MOVED) from None
        self._file = self._file or file
        if not samestat(self._file, file):
            raise LedgerUnavailableError(_MOVED)

    def _commit(self, connection: sqlite3.Connection, group: list[_Ticket]) -> None:
        """Write the tickets, and commit once, without those that fail."""
        now_ms = self._clock()
        operations = [self._write(connection, ticket, now_ms) for ticket in group]
        if not any(operations):
            connection.execute("ROLLBACK")
            return
        try:
            connection.execute("COMMIT")
        except (sqlite3.Error, MemoryError) as error:
            # If the transaction is still open, nothing of it was written.
            if connection.in_transaction or code_of(error) in _REFUSED_WRITES:
                raise
            self._failures.log(error, code_of(error), one_line(error))
            raise LedgerInDoubtError from None
        for ticket, operation in zip(group, operations, strict=True):
            ticket.operation = operation

    def _write(
        self, connection: sqlite3.Connection, ticket: _Ticket, now_ms: int
    ) -> Operation | None:
        """Write one ticket; return its operation, or None if it alone was undone."""
        connection.execute("SAVEPOINT ticket")
        operation = None
        try:
            transaction = SqliteTransaction(connection, now_ms)
            operation = ticket.work(transaction, ticket.record)
        except Exception as error:
            if not connection.in_transaction:
                # SQLite has rolled back the whole group, as on a full disk.
                raise
            connection.execute("ROLLBACK TO ticket")
            if isinstance(error, sqlite3.Error):
                error = self._failures.translate(error)
                if isinstance(error, LedgerUnavailableError):
                    self.refusal.note(error)
            ticket.error = error
        connection.execute("RELEASE ticket")
        return operation

    def _fail(self, group: list[_Ticket], error: BaseException) -> None:
        """Fail all tickets: they were not done, or they are in doubt.

        This replaces the errors of refused tickets too, because a ticket that is undone
        now may have been their cause.
        """
        if isinstance(error, sqlite3.Error):
            error = self._failures.translate(error)
        # An error such as SystemExit, which is not an Exception, comes from a signal
        # handler, perhaps during COMMIT.
        is_defect = isinstance(error, Exception) and not isinstance(error, DeedError)
        reason: DeedError = LedgerInDoubtError()
        if isinstance(error, LedgerUnavailableError):
            reason = error
        elif is_defect:
            reason = LedgerUnavailableError()
        for ticket in group:
            # A new exception for each thread, because raising one changes it.
            ticket.error = type(reason)(str(reason))
        if is_defect:
            # A defect is raised once, in the thread that leads.
            group[0].error = error
        self.refusal.note(reason)
        if self._connection is not None:
            # This rolls back an open transaction. The next group gets a new connection,
            # because the state of this one is unknown.
            self._connection.close()
            self._connection = None


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection to an existing file, in autocommit mode."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        timeout=BUSY_TIMEOUT_S,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        # COMMIT must not return before the commit is on disk.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _has_begun(connection: sqlite3.Connection) -> bool:
    """Begin a write transaction; return False if another connection has one."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if not code_of(error).startswith("SQLITE_BUSY"):
            raise
        return False
    return True


def code_of(error: Exception) -> str:
    """Return SQLite's name of an error, "" if the error is not SQLite's."""
    return getattr(error, "sqlite_errorname", "")


def one_line(words: object) -> str:
    """Return a message in one line."""
    return " ".join(str(words).split())
