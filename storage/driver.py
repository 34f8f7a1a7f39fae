"""The databases' drivers: how SQL reaches them, and what their errors mean."""

import logging
import re
from collections.abc import Mapping, Sequence
from functools import cache
from time import monotonic
from typing import Any

import psycopg
from sqlalchemy import Connection, CursorResult, exc

from deeds.domain.errors import StartError

_log = logging.getLogger("deeds")

Values = Mapping[str, Any]

# Names that stand for values, and for lists of values; `::` is a cast.
_NAME = re.compile(r"(?<!:):(\w+)")
_LIST = re.compile(r"IN :(\w+)")


def execute(
    connection: Connection, sql: str, values: Values | Sequence[Values] | None = None
) -> CursorResult[Any]:
    """Run a statement, or one for each of several sets of values.

    In it `:name` stands for a value, and `IN :name` takes a list, which must not be
    empty. All SQL goes to the driver this way, past SQLAlchemy's compiler: to look a
    statement up in its cache would cost a sixth of the transaction of a swap.
    """
    if connection.dialect.name == "postgresql":
        return connection.exec_driver_sql(_for_psycopg(sql), values)
    if isinstance(values, Mapping):
        for name in _list_names(sql):
            numbered = {f"{name}_{n}": value for n, value in enumerate(values[name])}
            names = ", ".join(f":{each}" for each in numbered)
            sql = sql.replace(f"IN :{name}", f"IN ({names})")
            values = {**values, **numbered, name: None}
    return connection.exec_driver_sql(sql, values)


@cache
def _for_psycopg(sql: str) -> str:
    return _NAME.sub(r"%(\1)s", _LIST.sub(r"= ANY(:\1)", sql))


@cache
def _list_names(sql: str) -> list[str]:
    return _LIST.findall(sql)


# For what a new connection is asked before it is used.
_SET_UP_SECONDS_MAX = 3.0


class BoundedConnection(psycopg.Connection[Any]):
    """A connection to PostgreSQL that waits for no answer longer than its deadline.

    A server that hangs acknowledges what is sent and answers nothing, so that neither
    libpq nor its own timeouts notice.
    """

    def __init__(self, *args: Any) -> None:
        """Create what psycopg has connected; the first answers have a deadline too."""
        super().__init__(*args)
        # By `monotonic()`.
        self.deadline_s = monotonic() + _SET_UP_SECONDS_MAX

    def wait(
        self, gen: Any, interval: float = 0.1, timeout: float | None = None
    ) -> Any:
        """Return the answer; raise OperationalError, and end, at the deadline."""
        try:
            return super().wait(gen, interval, self.deadline_s - monotonic())
        finally:
            # A late answer is not used either: another server may be the primary now.
            if monotonic() >= self.deadline_s:
                self.pgconn.finish()
                raise psycopg.OperationalError("the server did not answer in time")


def set_deadline(connection: Connection, deadline_s: float) -> None:
    """Set until when PostgreSQL may answer, by `monotonic()`; `inf` is for ever."""
    driver_connection = connection.connection.driver_connection
    if isinstance(driver_connection, BoundedConnection):
        driver_connection.deadline_s = deadline_s


# Reasons to try a transaction again.
CONFLICT, DISCONNECT = "conflict", "disconnect"

# PostgreSQL, appendix A: serialization_failure and deadlock_detected.
_CONFLICT_CODES = {"40001", "40P01"}

# What a write met that names an item or output which is not there.
_FOREIGN_KEY_CODES = {"23503", "SQLITE_CONSTRAINT_FOREIGNKEY"}

# A database that is away fails every request; its cause is logged this often.
_LOG_INTERVAL_S = 1.0
# With the causes of several hosts.
_MESSAGE_LENGTH_MAX = 2_000


class ConflictError(Exception):
    """The work met a concurrent transaction and may succeed when it is tried again."""


def code_of(error: exc.DBAPIError) -> str | None:
    """Return PostgreSQL's SQLSTATE or SQLite's name of the error."""
    return getattr(error.orig, "sqlstate", None) or getattr(
        error.orig, "sqlite_errorname", None
    )


def retry_reason(error: Exception) -> str | None:
    """Return why the same transaction may succeed when it is tried again, or None."""
    if isinstance(error, ConflictError):
        return CONFLICT
    if not isinstance(error, exc.DBAPIError):
        return None
    if error.connection_invalidated:
        return DISCONNECT
    return CONFLICT if code_of(error) in _CONFLICT_CODES else None


def is_row_gone(error: exc.DBAPIError) -> bool:
    """Return whether a row is gone that was there before: rows are never deleted.

    Another server may be the primary now.
    """
    return code_of(error) in _FOREIGN_KEY_CODES


def is_unavailable(error: exc.DBAPIError) -> bool:
    """Return whether the database is away, full, locked, read-only or damaged.

    Not our mistake.
    """
    # Of SQLite's OperationalErrors this one is of a statement that is wrong: "no such
    # column".
    if code_of(error) == "SQLITE_ERROR":
        return False
    # SQLite's "file is not a database" and "disk image is malformed" have no class of
    # their own.
    if error.connection_invalidated or type(error) is exc.DatabaseError:
        return True
    return isinstance(
        error, exc.OperationalError | exc.InterfaceError | exc.InternalError
    )


class CauseLog:
    """Logs why the database refused, each kind of error at most once a second."""

    def __init__(self) -> None:
        """Create it; any thread may use it."""
        # When each kind, a class and a code, was last logged. There are few kinds.
        self._logged_at_s: dict[tuple[str, str | None], float] = {}

    def log(self, error: exc.DBAPIError) -> None:
        """Log the class, the code and the first line of the message.

        What PostgreSQL says beyond that, above all DETAIL, quotes values.
        """
        # Without a message of the server's it is libpq that speaks, of a connection it
        # cannot make.
        said = (
            getattr(getattr(error.orig, "diag", None), "message_primary", None)
            or error.orig
        )
        self._log(type(error.orig).__name__, code_of(error), said)

    def log_unusable(self, error: StartError) -> None:
        """Log why the database that answers cannot hold the ledger."""
        self._log(type(error).__name__, None, error.reason)

    def _log(self, name: str, code: str | None, said: object) -> None:
        kind = (name, code)
        now_s = monotonic()
        if now_s - self._logged_at_s.get(kind, -_LOG_INTERVAL_S) < _LOG_INTERVAL_S:
            return
        self._logged_at_s[kind] = now_s
        _log.warning(
            one_line(said)[:_MESSAGE_LENGTH_MAX],
            extra={
                "event": "database",
                "fields": {"error": name, "database_code": code},
            },
        )


def one_line(said: object) -> str:
    """Return a message, or a database's own words for an error, in one line."""
    words = said.orig if isinstance(said, exc.DBAPIError) else said
    return " ".join(str(words).split())
