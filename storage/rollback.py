"""Compares a ledger with its mark, and says what it means when the ledger is behind it."""

import logging
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from deeds.domain.errors import LedgerUnavailableError, StartError
from storage import statements
from storage.engine import mark_path
from storage.failures import cause_of
from storage.last_operations import HOW_TO_ACCEPT, MissingOperationError, check_there
from storage.mark_file import NO_OPERATION, Mark, MarkDamagedError, MarkFile

_log = logging.getLogger("deeds")


@dataclass(frozen=True, slots=True)
class Rollback:
    """A ledger that is not the one that the mark was made for, or only an earlier state of it."""

    newest: Mark
    # None where the file is damaged.
    mark: Mark | None

    def __str__(self) -> str:
        """Return what is found and what it means, in one sentence."""
        if self.mark is None:
            return "the mark file is damaged, so nobody can tell whether this ledger is an old copy"
        if self.newest == NO_OPERATION:
            return (
                f"the ledger is empty, but operation {self.mark.operation_id} was made: this is a "
                "new ledger, in which nobody owns anything, and the one that was used is elsewhere"
            )
        if self.lost_count:
            return (
                f"the ledger ends at operation {self.newest.operation_id}, but operation "
                f"{self.mark.operation_id} was made: this is an older copy, up to "
                f"{self.lost_count} operations are lost and secrets spent in them are live again"
            )
        return (
            f"operation {self.mark.operation_id} of the ledger is not the one that was made: this "
            "is another ledger, or an older copy that went its own way, in which secrets spent "
            "before may be live again"
        )

    @property
    def lost_count(self) -> int:
        """Return how many operations are lost at most; ids are skipped on PostgreSQL."""
        return max(0, self.mark.operation_id - self.newest.operation_id) if self.mark else 0


def mark_file_of(engine: Engine, path: str | None) -> MarkFile | None:
    """Return the mark file at the path of the settings, or an SQLite ledger's own, or None."""
    if path is not None:
        return MarkFile(Path(path))
    return MarkFile(mark_path(engine.url)) if engine.dialect.name == "sqlite" else None


def find_rollback(engine: Engine, file: MarkFile) -> Rollback | None:
    """Return what is wrong with the ledger by its mark, or None. Changes nothing.

    Raises:
        OSError: the mark cannot be read.
        DBAPIError: the database does not answer.
        StartError: the ledger is behind, but the server is a standby, which may lag.
    """
    return _compare(engine, file)[1]


def open_mark(engine: Engine, file: MarkFile) -> Mark:
    """Make sure that the ledger is not behind its mark, and that the mark is not behind the ledger.

    Returns the mark.

    Raises:
        StartError: it is behind, or the file cannot be used.
    """
    try:
        # The mark may be raised by another process while it is compared.
        newest, rollback = _compare(engine, file)
        if rollback is not None:
            raise _refusal(rollback)
        if newest != NO_OPERATION and not file.path.exists():
            _log.warning(
                "there was no mark at %s: from now on it is noticed when the ledger is replaced by"
                " an older copy",
                file.path,
                extra={"event": "mark_new"},
            )
        return raise_mark(engine, file, newest)
    except MissingOperationError as missing:
        raise _refusal(Rollback(newest, missing.mark)) from None
    except LedgerUnavailableError as error:
        raise StartError(f"DATABASE_URL: {error.detail}") from None
    except OSError as error:
        raise StartError(f"cannot use the mark file {file.path}: {error.strerror}") from None
    except DBAPIError as error:
        raise StartError(f"DATABASE_URL: the ledger cannot be read: {cause_of(error)}") from None


def raise_mark(engine: Engine, file: MarkFile, newest: Mark) -> Mark:
    """Raise the mark to the newest operation, which was just read, and return what it is then.

    Raises:
        MissingOperationError: the operation that it names is not in the ledger; it is left alone.
        LedgerUnavailableError: the same, but the server is a standby, which may lag.
        MarkDamagedError, OSError: it cannot be read or written.
    """
    with engine.connect() as connection:
        return file.raise_to(newest, lambda mark: check_there(connection, {mark} - {newest}))


def read_newest(engine: Engine) -> Mark:
    """Return the operation with the highest id, or `NO_OPERATION`."""
    with engine.connect() as connection:
        row = connection.execute(statements.READ_NEWEST_OPERATION).one_or_none()
    return NO_OPERATION if row is None else Mark(row.id, row.created_at_ms)


def _compare(engine: Engine, file: MarkFile) -> tuple[Mark, Rollback | None]:
    """Return the newest operation, and what is wrong by the mark."""
    # First the mark: the ledger may grow meanwhile, and never is behind what the mark was then.
    try:
        mark = file.read() or NO_OPERATION
    except MarkDamagedError:
        newest = read_newest(engine)
        return newest, Rollback(newest, None)
    newest = read_newest(engine)
    if mark in {NO_OPERATION, newest}:
        return newest, None
    try:
        with engine.connect() as connection:
            check_there(connection, [mark])
    except MissingOperationError:
        return newest, Rollback(newest, mark)
    except LedgerUnavailableError as error:
        raise StartError(f"DATABASE_URL: {error.detail}") from None
    return newest, None


def _refusal(rollback: Rollback) -> StartError:
    return StartError(f"{rollback}; put the right one there, or run: {HOW_TO_ACCEPT}")
