"""The checkpoint file (docs/rollback.md): the id and time of an operation.

An older copy of a ledger is consistent, but secrets spent since are live in it again.
It can be detected only from outside the database: it lacks the checkpoint's operation,
or has another one with the same id, made at another time.

`NO_OPERATION`, id 0 and time 0, counts as present in every ledger.
"""

import hashlib
import logging
import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from errno import EINVAL
from operator import attrgetter
from pathlib import Path
from time import monotonic

from deeds.errors import RetryLaterError, StartError
from deeds.model import Operation
from deeds.settings import COMMAND, Settings
from storage.database import NO_OPERATION, Database
from storage.files import (
    as_owner,
    flush,
    locked,
    open_file,
    reason_unwritable,
)
from storage.repository import find_missing, read_last_operation
from storage.sqlite import sqlite_path

# The content of the file: its version, an id, a time in milliseconds, a checksum.
_RECORD = re.compile(rb"deeds-checkpoint-1 ([0-9]{1,18}) ([0-9]{1,14}) [0-9a-f]{16}\n")

_ID = attrgetter("id")

_log = logging.getLogger("deeds")


class RollbackError(StartError):
    """The ledger lacks an operation that was committed; `cause` is part of the text."""

    def __init__(
        self,
        operation: Operation,
        cause: str = "is not in the ledger: this is an older copy or another ledger,"
        " and secrets spent since are live again",
    ) -> None:
        super().__init__(
            f"operation {operation.id} of {operation.created_at} was committed but"
            f" {cause}; restore the right database, or run:"
            f" {COMMAND} accept-rollback"
        )
        self.operation = operation


@dataclass(frozen=True, slots=True)
class CheckpointFile:
    """The checkpoint file at a path. Safe for any number of threads and processes.

    To change it, a new file is flushed to disk and renamed over it, under a lock on a
    file beside it.
    """

    path: Path
    # The lock is held for a query of the ledger and a write of a few bytes.
    lock_timeout_s: float = 1.0

    def read(self) -> Operation:
        """Return its operation, `NO_OPERATION` if it is missing; raise OSError."""
        try:
            with as_owner(self.path.parent):
                content = self.path.read_bytes()
        except FileNotFoundError:
            return NO_OPERATION
        match = _RECORD.fullmatch(content)
        if match is not None:
            operation = Operation(int(match[1]), int(match[2]))
            if content == _record(operation):
                return operation
        raise OSError(EINVAL, "it is damaged; if the ledger is the newest, remove it")

    def set(self, operation: Operation) -> None:
        """Write an operation, even an older one; raise OSError."""
        with self._locked():
            self._replace(operation)

    def raise_to(
        self, database: Database, operations: Collection[Operation]
    ) -> Operation:
        """Raise the checkpoint to the newest of the operations; return the checkpoint.

        It is never lowered. Raises the errors of `check_present` if the ledger lacks
        one of the operations or the present checkpoint, or OSError. After an error the
        file is unchanged.
        """
        with self._locked():
            before = self.read()
            check_present(database, [before, *operations])
            after = max([before, *operations], key=_ID)
            if after != before:
                self._replace(after)
        return after

    def name_loss(self, operation: Operation, last_seen: Operation) -> None:
        """Raise the checkpoint to an operation that the ledger lacks.

        Afterwards no process starts on that ledger. `last_seen` is the checkpoint that
        the caller last read or wrote: if the file is below it, an operator has accepted
        the loss, and the file is not changed. Raises OSError.
        """
        with self._locked():
            if last_seen.id <= self.read().id < operation.id:
                self._replace(operation)

    def unusable(self, error: OSError) -> StartError:
        """Return the StartError for a file that cannot be read or written."""
        reason = reason_unwritable(self.path.parent) or error.strerror
        return StartError(f"DEEDS_CHECKPOINT_FILE: cannot use {self.path}: {reason}")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        path = Path(f"{self.path}-lock")
        with as_owner(self.path.parent):
            lock = open_file(path, os.O_RDONLY | os.O_CREAT)
        with os.fdopen(lock), locked(lock, monotonic() + self.lock_timeout_s):
            yield

    def _replace(self, operation: Operation) -> None:
        new = Path(f"{self.path}-new")
        with as_owner(self.path.parent):
            # A killed process may have left one. Do not write to it, because it may be
            # a link.
            new.unlink(missing_ok=True)
            descriptor = open_file(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            with os.fdopen(descriptor, "wb") as file:
                file.write(_record(operation))
            flush(new)
            new.replace(self.path)
            flush(self.path.parent)


def _record(operation: Operation) -> bytes:
    fields = f"deeds-checkpoint-1 {operation.id} {operation.created_at_ms}"
    checksum = hashlib.sha256(fields.encode()).hexdigest()[:16]
    return f"{fields} {checksum}\n".encode()


def check_ledger_exists(database: Database, file: CheckpointFile) -> None:
    """Raise RollbackError if there is no ledger, but a checkpoint.

    Raises StartError if one of the two cannot be read.
    """
    if database.table_names():
        return
    try:
        operation = file.read()
    except OSError as error:
        raise file.unusable(error) from None
    if operation != NO_OPERATION:
        cause = f"there is no ledger at {database.name} (is its disk mounted?)"
        raise RollbackError(operation, cause)


def check_present(database: Database, operations: Collection[Operation]) -> None:
    """Raise RollbackError unless all operations are recorded with the same id and time.

    Raises LedgerUnavailableError if the database cannot tell, such as a standby that
    may lag.
    """
    missing = find_missing(database, list({*operations} - {NO_OPERATION}))
    if missing:
        raise RollbackError(max(missing, key=_ID))


def checkpoint_file(settings: Settings) -> CheckpointFile | None:
    """Return the file of the settings, or one beside an SQLite ledger, or None."""
    path = settings.checkpoint_file
    if path is None and settings.database_url.startswith("sqlite"):
        path = f"{sqlite_path(settings.database_url)}-checkpoint"
    return None if path is None else CheckpointFile(Path(path))


def open_checkpoint(database: Database, file: CheckpointFile) -> Operation:
    """Raise the checkpoint to the ledger's last operation; return the checkpoint.

    Warns if a ledger in use had no file. Raises RollbackError if the ledger is behind
    the file, and StartError if one of them cannot be read; the file is then unchanged.
    """
    is_new = not os.path.lexists(file.path)
    try:
        operation = file.raise_to(database, [read_last_operation(database)])
    except RetryLaterError as error:
        raise StartError(f"DATABASE_URL: {error}") from None
    except OSError as error:
        raise file.unusable(error) from None
    if is_new and operation != NO_OPERATION:
        _log.warning(
            "there was no checkpoint file at %s: it was created, and an older copy of"
            " the ledger is detected from now on",
            file.path,
            extra={"event": "checkpoint_new"},
        )
    return operation
