"""What a database error means for the request that met it."""

import logging
from time import monotonic

from sqlalchemy import exc

_log = logging.getLogger("deeds")

# Reasons to try a transaction again.
CONFLICT, DISCONNECT = "conflict", "disconnect"

# PostgreSQL, appendix A: serialization_failure and deadlock_detected.
_CONFLICT_CODES = {"40001", "40P01"}

# A database that is away fails every request; its cause is logged this often.
_LOG_INTERVAL_S = 1.0
_MESSAGE_LENGTH_MAX = 300


class ConflictError(Exception):
    """The work met a concurrent transaction and may succeed when it is tried again."""


def code_of(error: exc.DBAPIError) -> str | None:
    """Return PostgreSQL's SQLSTATE or SQLite's name of the error."""
    return getattr(error.orig, "sqlstate", None) or getattr(
        error.orig, "sqlite_errorname", None
    )


def retry_reason(error: ConflictError | exc.DBAPIError) -> str | None:
    """Return why the same transaction may succeed when it is tried again, or None."""
    if isinstance(error, ConflictError):
        return CONFLICT
    if error.connection_invalidated:
        return DISCONNECT
    return CONFLICT if code_of(error) in _CONFLICT_CODES else None


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
        kind = (type(error.orig).__name__, code_of(error))
        now_s = monotonic()
        if now_s - self._logged_at_s.get(kind, -_LOG_INTERVAL_S) < _LOG_INTERVAL_S:
            return
        self._logged_at_s[kind] = now_s
        # Without a message of the server's it is libpq that speaks, of a connection it
        # cannot make.
        said = (
            getattr(getattr(error.orig, "diag", None), "message_primary", None)
            or error.orig
        )
        _log.warning(
            one_line(said)[:_MESSAGE_LENGTH_MAX],
            extra={
                "event": "database",
                "fields": {"error": kind[0], "database_code": kind[1]},
            },
        )


def one_line(said: object) -> str:
    """Return a message, or the database's own words for an error, in one line for an operator."""
    words = said.orig if isinstance(said, exc.DBAPIError) else said
    return " ".join(str(words).split())
