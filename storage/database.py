"""The interface of databases, which storage.sqlite and parts.postgresql implement."""

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from time import monotonic
from typing import Any, Protocol, TypeVar

from deeds.errors import LedgerUnavailableError
from deeds.model import Operation

_LOG_INTERVAL_S = 1.0

# Interval between the writes that probes try.
TRY_INTERVAL_S = 1.0

DISK_FULL = "the disk of the ledger is full"

_log = logging.getLogger("deeds")

Values = Sequence[Any]
Rows = list[Any]
Record = TypeVar("Record")

# Returned by writes that record no operation.
NO_OPERATION = Operation(0, 0)


class ConflictError(LedgerUnavailableError):
    """The work conflicts with a concurrent transaction; another try may succeed."""


class CauseLog:
    """Logs why a database failed, each kind of error at most once a second.

    Otherwise every request would log while the database is unreachable. Thread-safe.
    """

    def __init__(self) -> None:
        # Time of the last line for each kind: class and code. There are few kinds.
        self._logged_at_s: dict[tuple[str, str | None], float] = {}

    def log(self, error: Exception, code: str | None, message: str) -> None:
        """Log an error with the database's error code.

        `message` must not quote values of rows, which could be secret.
        """
        kind = (type(error).__name__, code)
        now_s = monotonic()
        if now_s - self._logged_at_s.get(kind, -_LOG_INTERVAL_S) < _LOG_INTERVAL_S:
            return
        self._logged_at_s[kind] = now_s
        fields = {"error": kind[0], "database_code": code}
        _log.warning(message, extra={"event": "database", "fields": fields})


class WriteRefusal:
    """Remembers why the database failed a write, until writes are known to work.

    Meanwhile probes try to write, at most once in TRY_INTERVAL_S.
    """

    def __init__(self) -> None:
        self.reason: str | None = None
        self._tried_at_s = -TRY_INTERVAL_S

    def note(self, error: Exception) -> None:
        """Store the reason of a failed write."""
        is_undone = isinstance(error, LedgerUnavailableError)
        self.reason = (
            str(error) if is_undone else "the outcome of the last commit is unknown"
        )

    def begin_try(self) -> None:
        """Record that a probe tries a write now.

        Raises LedgerUnavailableError if the last one did so less than TRY_INTERVAL_S
        ago.
        """
        now_s = monotonic()
        if self.reason is not None and now_s - self._tried_at_s < TRY_INTERVAL_S:
            raise LedgerUnavailableError(self.reason)
        self._tried_at_s = now_s


class Cursor(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int:
        """Return the number of rows inserted or changed.

        After `executemany` it is the sum of all executions. If each execution can
        change at most one row, a sum equal to their number means that each changed one.
        """

    def fetchone(self) -> Any:
        """Return the next row, or None."""

    def fetchall(self) -> Rows:
        """Return all rows."""


class Transaction(Protocol):
    """An open write transaction. The placeholder in SQL is `?`.

    `now_ms` is the time at which it began, in milliseconds since 1970-01-01 UTC.
    """

    now_ms: int

    def execute(self, sql: str, values: Values = ()) -> Cursor:
        """Run a statement once."""

    def executemany(self, sql: str, rows: Iterable[Values]) -> Cursor:
        """Run a statement for each of the rows."""

    def read_each(self, sql: str, keys: Sequence[Values]) -> Rows:
        """Run a query with each key as its values; return a row or None for each."""

    def load(self, table: str, columns: Sequence[str], rows: Iterable[Values]) -> None:
        """Insert rows of another ledger; automatic ids continue after them.

        There may be millions of rows, so they must not be collected in memory.
        """


class Reader(Protocol):
    """Reads one snapshot of the ledger."""

    def __call__(self, sql: str, values: Values = ()) -> Rows:
        """Return the rows of a query."""


# Writes a record in a transaction, and returns the operation.
Work = Callable[[Transaction, Record], Operation]


class Database(Protocol):
    """The database of a ledger. Thread-safe.

    No connection is opened and no thread started before its first use. Each method is
    one transaction. All raise LedgerUnavailableError if the database does not respond,
    and LedgerRolledBackError if it lacks operations that were committed.

    `name` is its file or its host, port and database, without a password.

    `definitions_sql` is a query that returns the definitions of all tables, columns,
    constraints, indexes and triggers: a row has the name of the table and the SQL.
    """

    name: str
    definitions_sql: str

    def create(self, work: Callable[[Transaction], None]) -> None:
        """Run work that creates or changes tables, exclusively, in one transaction.

        Creates an SQLite file if it is missing. Raises StartError.
        """

    def table_names(self) -> set[str]:
        """Return the names of the tables, none if an SQLite file is missing.

        Changes nothing. Raises StartError.
        """

    def check_start(self, *, thorough: bool = False) -> None:
        """Raise StartError if the ledger must not be served.

        `thorough` adds slow checks, which one process runs for the whole service.
        """

    def read(self, sql: str, values: Values = ()) -> Rows:
        """Return the rows of a query."""

    def read_each(self, sql: str, keys: Sequence[Values]) -> Rows:
        """Run a query with each key as its values; return a row or None for each.

        All rows come from one snapshot.
        """

    def write(self, work: Work[Record], record: Record) -> Operation:
        """Run the work in one transaction, and commit all of it or nothing.

        The work may be run more than once, so it must only execute statements. Raises
        what the work raises, and LedgerInDoubtError if the outcome of COMMIT is
        unknown.
        """

    def probe(self, sql: str) -> Rows:
        """Return the rows of a query, for a monitor, ahead of waiting requests.

        Raises RetryLaterError if writes would fail.
        """

    def snapshot(self) -> AbstractContextManager[Reader]:
        """Return a context manager with a reader of one snapshot. Blocks no writers."""

    def run_in_scratch(self, work: Callable[[Transaction], Rows]) -> Rows:
        """Run the work in a temporary database without tables; return its result.

        Raises StartError, or LedgerUnavailableError if temporary tables are not
        permitted.
        """

    def find_damage(self) -> list[str]:
        """Return the faults that the database finds in its storage, if it can check."""

    def bytes_on_disk(self) -> int:
        """Return the bytes of the ledger with its indexes, for SQLite with its WAL."""

    def close(self) -> None:
        """Close all connections. The next use, even after a fork, opens new ones."""
