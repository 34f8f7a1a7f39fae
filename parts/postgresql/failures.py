"""What psycopg's errors mean to the ledger, and the log of their causes."""

import logging
from time import monotonic

import psycopg
from psycopg import errors

from deeds.errors import LedgerUnavailableError, StartError
from storage.database import ConflictError

_log = logging.getLogger("deeds")

# What a try of a transaction may end with.
Failure = psycopg.Error | ConflictError | StartError

CONFLICTS = (ConflictError, errors.SerializationFailure, errors.DeadlockDetected)

# Not our mistake: the database is away, full, locked, read-only, damaged or the wrong
# one, or an operator has yet to give us a right. A row that an item or output refers to
# is gone where another server is the primary now: rows are never deleted.
UNAVAILABLE = (
    ConflictError,
    StartError,
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.InternalError,
    errors.InsufficientPrivilege,
    errors.ForeignKeyViolation,
)

# psycopg warns of each connection that breaks in a round trip of several statements.
logging.getLogger("psycopg").setLevel(logging.ERROR)

# A database that is away fails every request; its cause is logged this often.
_LOG_INTERVAL_S = 1.0
# With the causes of several hosts.
_MESSAGE_LENGTH_MAX = 2_000


def one_line(error: psycopg.Error) -> str:
    """Return the server's first line, or libpq's words where it cannot connect.

    What PostgreSQL says beyond that, above all DETAIL, quotes values.
    """
    return " ".join((error.diag.message_primary or str(error)).split())


class CauseLog:
    """Logs why the database refused, each kind of error at most once a second."""

    def __init__(self) -> None:
        """Create it; any thread may use it."""
        # When each kind, a class and a code, was last logged. There are few kinds.
        self._logged_at_s: dict[tuple[str, str | None], float] = {}

    def translate(self, error: Failure) -> Exception:
        """Log the error, and return what to raise in its place: a defect as it is."""
        if isinstance(error, StartError):
            self._log(error, None, error.reason)
        if isinstance(error, psycopg.Error):
            self._log(error, error.sqlstate, one_line(error))
        return LedgerUnavailableError() if isinstance(error, UNAVAILABLE) else error

    def _log(self, error: Exception, code: str | None, message: str) -> None:
        name = type(error).__name__
        now_s = monotonic()
        logged_at_s = self._logged_at_s.get((name, code))
        if logged_at_s is not None and now_s - logged_at_s < _LOG_INTERVAL_S:
            return
        self._logged_at_s[name, code] = now_s
        _log.warning(
            message[:_MESSAGE_LENGTH_MAX],
            extra={
                "event": "database",
                "fields": {"error": name, "database_code": code},
            },
        )
