"""Tells whether somebody uses an SQLite ledger, so that it is not replaced under a running service.

A process that serves holds a shared lock on a byte of the file that its writers take turns with;
the kernel frees it when the process dies. SQLite's own locks tell of everybody else.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from storage.sqlite_file import open_for_owner

_PRESENT = 2


class InUseError(Exception):
    """Somebody uses the ledger."""


def announce(lock_file: int) -> None:
    """Hold the shared lock for as long as the open file, or the process, lives.

    Raises:
        InUseError: the ledger is being replaced.
    """
    if not try_lock(lock_file, fcntl.LOCK_SH, _PRESENT):
        raise InUseError


@contextmanager
def alone(lock_path: Path) -> Iterator[None]:
    """Keep everybody from starting to serve, within the block.

    Raises:
        InUseError: somebody serves.
    """
    file = open_for_owner(lock_path, os.O_RDWR | os.O_CREAT)
    try:
        if not try_lock(file, fcntl.LOCK_EX, _PRESENT):
            raise InUseError
        yield
    finally:
        os.close(file)


def fold_log(path: Path) -> None:
    """Bring all of a ledger into its one file, if nobody else has it open.

    A damaged ledger is left as it is.

    Raises:
        InUseError: somebody has it open.
    """
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
        try:
            # Leaving WAL mode needs the file for itself, and deletes the log.
            connection.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
                raise InUseError from None
        except sqlite3.DatabaseError:
            return


def try_lock(file: int, kind: int, byte: int) -> bool:
    """Take a record lock on a byte of a file; tell whether nobody else holds it."""
    try:
        fcntl.lockf(file, kind | fcntl.LOCK_NB, 1, byte)
    except (BlockingIOError, PermissionError):  # POSIX allows either for "held".
        return False
    return True
