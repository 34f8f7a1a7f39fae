"""Tells what a database error means for the request that met it."""

import sqlite3

from sqlalchemy.exc import DBAPIError, InterfaceError, InternalError, OperationalError

# PostgreSQL, appendix A: serialization_failure and deadlock_detected.
_RETRYABLE_SQLSTATES = frozenset({"40001", "40P01"})

# cannot_connect_now and friends are OperationalErrors already; this one comes from a server that
# became a standby: read_only_sql_transaction.
_READ_ONLY_SQLSTATE = "25006"


def is_retryable(error: DBAPIError) -> bool:
    """Tell whether the same transaction may pass when it is tried again."""
    return sqlstate(error) in _RETRYABLE_SQLSTATES


def is_disconnect(error: DBAPIError) -> bool:
    """Tell whether the connection was lost, so that nothing of the transaction remains."""
    return error.connection_invalidated


def is_unavailable(error: DBAPIError) -> bool:
    """Tell whether the database is away, full, locked, read-only or damaged: not our mistake."""
    if isinstance(error, OperationalError | InterfaceError | InternalError):
        return True
    # SQLite's "file is not a database" and "disk image is malformed" have no class of their own.
    return sqlstate(error) == _READ_ONLY_SQLSTATE or type(error.orig) is sqlite3.DatabaseError


def sqlstate(error: DBAPIError) -> str | None:
    """Return PostgreSQL's error code, or None on SQLite."""
    code = getattr(error.orig, "sqlstate", None)
    return code if isinstance(code, str) else None
