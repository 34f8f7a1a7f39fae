"""What a database error means for the request that met it."""

import logging
import sqlite3
from time import monotonic

from sqlalchemy.exc import DBAPIError, InterfaceError, InternalError, OperationalError

_log = logging.getLogger("deeds")

# Reasons to try a transaction again.
CONFLICT, DISCONNECT = "conflict", "disconnect"

# A database that is away fails every request; its cause is logged this often.
_LOG_INTERVAL_S = 1.0
_MESSAGE_LENGTH_MAX = 300

# When each kind of error, its class and code, was last logged. There are few kinds.
_logged_at_s: dict[tuple[str, str | None], float] = {}

# PostgreSQL, appendix A: serialization_failure and deadlock_detected.
_CONFLICT_SQLSTATES = {"40001", "40P01"}

# read_only_sql_transaction, of a server that became a standby, is no OperationalError.
_READ_ONLY_SQLSTATE = "25006"

# SQLite writes the pages of a commit to its log one after the other, and the last one makes it
# valid. Where a write was refused, the last one is not there: not even a crash brings it back.
_REFUSED_WRITES = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE}


class ConflictError(Exception):
    """The work met a concurrent transaction and may succeed when it is tried again."""


def retry_reason(error: DBAPIError) -> str | None:
    """Return why the same transaction may succeed when it is tried again, or None."""
    if error.connection_invalidated:
        return DISCONNECT
    return CONFLICT if sqlstate(error) in _CONFLICT_SQLSTATES else None


def is_unavailable(error: DBAPIError) -> bool:
    """Return whether the database is away, full, locked, read-only or damaged: not our mistake."""
    if getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR:
        # SQLite's code for a statement that is wrong, "no such column" above all.
        return False
    if isinstance(error, OperationalError | InterfaceError | InternalError):
        return True
    # SQLite's "file is not a database" and "disk image is malformed" have no class of their own.
    return sqlstate(error) == _READ_ONLY_SQLSTATE or type(error.orig) is sqlite3.DatabaseError


def is_surely_undone(error: DBAPIError, connection: sqlite3.Connection) -> bool:
    """Return whether a COMMIT on SQLite that has just failed so has surely kept nothing.

    After a failed fsync all of it may be in the log, and comes back when SQLite reads the log
    again, after a crash for one. So that one is in doubt, like any other failure after the last
    write.
    """
    # A transaction that is still open was refused before anything was written.
    code = getattr(error.orig, "sqlite_errorcode", None)
    return connection.in_transaction or code in _REFUSED_WRITES


def log_cause(error: DBAPIError) -> None:
    """Log one line about an error, each kind of it at most once a second.

    It holds the class, the code and the message's first line: what PostgreSQL says beyond that,
    above all DETAIL, quotes values.
    """
    code = sqlstate(error) or getattr(error.orig, "sqlite_errorname", None)
    kind = (type(error.orig).__name__, code)
    now_s = monotonic()
    if now_s - _logged_at_s.get(kind, -_LOG_INTERVAL_S) < _LOG_INTERVAL_S:
        return
    _logged_at_s[kind] = now_s
    # Without a message of the server's it is libpq that speaks, of a connection it cannot make.
    said = getattr(getattr(error.orig, "diag", None), "message_primary", None) or error.orig
    _log.warning(
        one_line(said)[:_MESSAGE_LENGTH_MAX],
        extra={"event": "database", "fields": {"error": kind[0], "database_code": kind[1]}},
    )


def cause_of(error: DBAPIError) -> str:
    """Return the database's own words for an error, in one line, for an operator to read."""
    return one_line(error.orig)


def one_line(said: object) -> str:
    """Return a message without its line breaks."""
    return " ".join(str(said).split())


def sqlstate(error: DBAPIError) -> str | None:
    """Return PostgreSQL's error code, or None on SQLite."""
    code = getattr(error.orig, "sqlstate", None)
    return code if isinstance(code, str) else None
