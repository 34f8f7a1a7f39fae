"""What psycopg's errors mean to the ledger, and the log of their causes."""

import logging
import re

import psycopg
from psycopg import errors

from deeds.errors import LedgerUnavailableError
from storage.database import DISK_FULL, CauseLog, ConflictError

CONFLICTS = (ConflictError, errors.SerializationFailure, errors.DeadlockDetected)

# Not our mistake: the database is away, full, locked, read-only, damaged or the wrong
# one, or an operator has yet to give us a right. A row that an item or output refers to
# is gone where another server is the primary now: rows are never deleted.
UNAVAILABLE = (
    ConflictError,
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.InternalError,
    errors.InsufficientPrivilege,
    errors.ForeignKeyViolation,
)

# psycopg warns of each connection that breaks in a round trip of several statements.
logging.getLogger("psycopg").setLevel(logging.ERROR)

# Of PostgreSQL (its code is 53300) and of pgbouncer. Of a connection that was refused
# libpq tells the words, and no code; a server that speaks another language is not
# understood.
_NO_FREE_CONNECTION = re.compile(
    "too many clients|too many connections|remaining connection slots are reserved"
    "|no more connections allowed"
)

READ_ONLY = "the database is read-only"

# With the causes of several hosts.
_MESSAGE_LENGTH_MAX = 2_000


def one_line(error: psycopg.Error) -> str:
    """Return the server's first line, or libpq's words where it cannot connect.

    What PostgreSQL says beyond that, above all DETAIL, quotes values.
    """
    return " ".join((error.diag.message_primary or str(error)).split())


def has_no_free_connection(error: psycopg.Error) -> bool:
    """Return whether a server refused a connection because it has no free one."""
    return bool(_NO_FREE_CONNECTION.search(str(error)))


class Failures(CauseLog):
    """What psycopg's errors mean to the ledger."""

    def translate(self, error: psycopg.Error | ConflictError) -> Exception:
        """Log the error, and return what to raise in its place: a defect as it is."""
        code, message = None, "the transaction met others each time it was tried"
        if isinstance(error, psycopg.Error):
            code, message = error.sqlstate, one_line(error)
        self.write(error, code, message[:_MESSAGE_LENGTH_MAX])
        if isinstance(error, errors.DiskFull):
            return LedgerUnavailableError(DISK_FULL)
        if isinstance(error, errors.ReadOnlySqlTransaction):
            return LedgerUnavailableError(READ_ONLY)
        return LedgerUnavailableError() if isinstance(error, UNAVAILABLE) else error
