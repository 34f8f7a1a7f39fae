"""Translates psycopg's errors to ours, and logs their causes."""

import logging
import re

import psycopg
from psycopg import errors

from deeds.errors import LedgerUnavailableError
from storage.database import DISK_FULL, CauseLog, ConflictError

CONFLICTS = (ConflictError, errors.SerializationFailure, errors.DeadlockDetected)

# Not defects: the database is unreachable, full, locked, read-only, damaged or the
# wrong one, or the role lacks a privilege. Rows are never deleted, so if a referenced
# row is missing, another server is the primary now.
UNAVAILABLE = (
    ConflictError,
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.InternalError,
    errors.InsufficientPrivilege,
    errors.ForeignKeyViolation,
)

# psycopg warns of each connection that breaks in a pipeline.
logging.getLogger("psycopg").setLevel(logging.ERROR)

# Messages of PostgreSQL (SQLSTATE 53300) and of pgbouncer. If a connection is refused,
# libpq reports only the message, so messages in other languages are not recognized.
_NO_FREE_CONNECTION = re.compile(
    "too many clients|too many connections|remaining connection slots are reserved"
    "|no more connections allowed"
)

READ_ONLY = "the database is read-only"

# A message may list the causes for several hosts.
_MESSAGE_LENGTH_MAX = 2_000


def one_line(error: psycopg.Error) -> str:
    """Return the server's primary message, or libpq's if it cannot connect.

    Other fields of PostgreSQL's errors, above all DETAIL, quote values.
    """
    return " ".join((error.diag.message_primary or str(error)).split())


def has_no_free_connection(error: psycopg.Error) -> bool:
    """Return whether a server refused a connection because it has no free one."""
    return bool(_NO_FREE_CONNECTION.search(str(error)))


class Failures(CauseLog):
    """Translates psycopg's errors, and logs them."""

    def translate(self, error: psycopg.Error | ConflictError) -> Exception:
        """Log the error; return the error to raise, the same one for a defect."""
        code, message = None, "the transaction conflicted with others on every try"
        if isinstance(error, psycopg.Error):
            code, message = error.sqlstate, one_line(error)
        self.log(error, code, message[:_MESSAGE_LENGTH_MAX])
        if isinstance(error, errors.DiskFull):
            return LedgerUnavailableError(DISK_FULL)
        if isinstance(error, errors.ReadOnlySqlTransaction):
            return LedgerUnavailableError(READ_ONLY)
        return LedgerUnavailableError() if isinstance(error, UNAVAILABLE) else error
