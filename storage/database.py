"""What a database is to the ledger: SQLite here, PostgreSQL in its part."""

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from time import monotonic
from typing import Any, Protocol, TypeVar

from deeds.errors import LedgerUnavailableError
from deeds.model import Operation

_LOG_INTERVAL_S = 1.0

# Of the writes that a monitor tries.
TRY_INTERVAL_S = 1.0

DISK_FULL = "the disk of the ledger is full"

_log = logging.getLogger("deeds")

Values = Sequence[Any]
Rows = list[Any]
Record = TypeVar("Record")

# What a write returns that records no operation.
NO_OPERATION = Operation(0, 0)


class ConflictError(LedgerUnavailableError):
    """The work met a concurrent transaction, and may succeed when it is run again."""


class CauseLog:
    """Logs why a database refused, each kind of error at most once a second.

    One that is away fails every request. Any thread may use it.
    """

    def __init__(self) -> None:
        # When each kind, a class and a code, was last logged. There are few kinds.
        self._logged_at_s: dict[tuple[str, str | None], float] = {}

    def write(self, error: Exception, code: str | None, message: str) -> None:
        """Log an error with the database's code of it; the message holds no value."""
        kind = (type(error).__name__, code)
        now_s = monotonic()
        if now_s - self._logged_at_s.get(kind, -_LOG_INTERVAL_S) < _LOG_INTERVAL_S:
            return
        self._logged_at_s[kind] = now_s
        fields = {"error": kind[0], "database_code": code}
        _log.warning(message, extra={"event": "database", "fields": fields})


class WriteRefusal:
    """Why a write failed because of the database, until a monitor's try succeeds."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self._tried_at_s = -TRY_INTERVAL_S

    def note(self, error: Exception) -> None:
        """Keep why a write failed."""
        is_undone = isinstance(error, LedgerUnavailableError)
        self.reason = str(error) if is_undone else "the last commit broke off"

    def begin_try(self) -> None:
        """Raise LedgerUnavailableError if the last try began less than a second ago."""
        now_s = monotonic()
        if self.reason is not None and now_s - self._tried_at_s < TRY_INTERVAL_S:
            raise LedgerUnavailableError(self.reason)
        self._tried_at_s = now_s


class Cursor(Protocol):
    """What a statement did."""

    @property
    def rowcount(self) -> int:
        """Return how many rows it has inserted or changed.

        After `executemany` that is the sum of all times: a statement that may change
        one row each time has always done so if and only if this is their number.
        """

    def fetchone(self) -> Any:
        """Return the next row that it returned, or None."""

    def fetchall(self) -> Rows:
        """Return the rows that it returned."""


class Transaction(Protocol):
    """An open write transaction. In SQL `?` stands for a value.

    `now_ms` is when it began, in milliseconds since 1970-01-01 UTC.
    """

    now_ms: int

    def execute(self, sql: str, values: Values = ()) -> Cursor:
        """Run a statement once."""

    def executemany(self, sql: str, rows: Iterable[Values]) -> Cursor:
        """Run a statement for each of the rows."""

    def read_each(self, sql: str, keys: Sequence[Values]) -> Rows:
        """Return one row, or None, for each key, in order."""

    def load(self, table: str, columns: Sequence[str], rows: Iterable[Values]) -> None:
        """Insert rows of another ledger; a column that counts goes on after them.

        There may be millions: no more than a few are in memory at once.
        """


class Reader(Protocol):
    """Reads one state of the ledger."""

    def __call__(self, sql: str, values: Values = ()) -> Rows:
        """Return the rows of a query."""


# Writes a record in a transaction, and returns the operation.
Work = Callable[[Transaction, Record], Operation]


class Database(Protocol):
    """Where the ledger is. Any thread may call it.

    Nothing is opened and no thread started before it is used. Each method is one
    transaction. All raise LedgerUnavailableError where the database does not answer,
    and LedgerRolledBackError where it lacks operations that were committed.

    `name` says where it is, without a password.

    `definitions_sql` is a query for every table, column, constraint, index and trigger:
    the name of the table, and the SQL of its definition.
    """

    name: str
    definitions_sql: str

    def create(self, work: Callable[[Transaction], None]) -> None:
        """Run the work that creates or changes tables, alone, in one transaction.

        Creates an SQLite file that is not there. Raises StartError.
        """

    def table_names(self) -> set[str]:
        """Return the tables that there are, none in a file that is not there.

        Changes nothing. Raises StartError.
        """

    def check_start(self, *, thorough: bool = False) -> None:
        """Raise StartError where the ledger must not be served.

        `thorough` looks at what takes longer, once for all processes of a service.
        """

    def read(self, sql: str, values: Values = ()) -> Rows:
        """Return the rows of a query."""

    def read_each(self, sql: str, keys: Sequence[Values]) -> Rows:
        """Return one row, or None, for each key, in order, all of one state."""

    def write(self, work: Work[Record], record: Record) -> Operation:
        """Run the work in one transaction and commit it, or nothing of it.

        The work may be run more than once, so it is nothing but database statements.
        Raises what the work does, and LedgerInDoubtError where COMMIT broke off.
        """

    def probe(self, sql: str) -> Rows:
        """Return the rows of a query, for a monitor: no request is waited for.

        Raises where writes would fail.
        """

    def snapshot(self) -> AbstractContextManager[Reader]:
        """Return a context with a reader of one state; it keeps no writer waiting."""

    def run_in_scratch(self, work: Callable[[Transaction], Rows]) -> Rows:
        """Run the work where there is no table and nothing of it is left behind.

        Returns what it returns. Raises StartError, or LedgerUnavailableError where
        there is no such place.
        """

    def find_damage(self) -> list[str]:
        """Return what the database finds wrong with itself, where it can tell."""

    def bytes_on_disk(self) -> int:
        """Return the size of the ledger, indexes and write-ahead log included."""

    def close(self) -> None:
        """Close what is open. The next use opens it again: a fork may lie between."""
