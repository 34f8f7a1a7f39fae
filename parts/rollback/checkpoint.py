"""The checkpoint file: it names an operation which the ledger has reached.

An older copy of a ledger is sound in itself, but secrets spent since are live in it
again. Only something outside the database can tell.
"""

import hashlib
import logging
import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from errno import EINVAL
from pathlib import Path
from time import monotonic

from deeds.errors import RetryLaterError, StartError
from deeds.model import Operation
from deeds.settings import Settings
from storage.database import NO_OPERATION, Database
from storage.files import flush, locked, open_for_owner
from storage.sqlite import sqlite_path

ACCEPT_COMMAND = "flask --app app deeds accept-rollback"
ADVICE = f"restore the right database, or run: {ACCEPT_COMMAND}"

_RECORD = re.compile(rb"deeds-checkpoint-1 ([0-9]{1,18}) ([0-9]{1,14}) [0-9a-f]{16}\n")

_READ_NEWEST = "SELECT id, created_at_ms FROM operations ORDER BY id DESC LIMIT 1"
_READ_OPERATION = "SELECT id FROM operations WHERE id = ? AND created_at_ms = ?"

_log = logging.getLogger("deeds")


@dataclass(frozen=True, slots=True, order=True)
class Checkpoint:
    """What the file holds: a committed operation, and 0 and 0 where there is none.

    The time tells the operation from another one with the same id.
    """

    operation_id: int
    created_at_ms: int

    @classmethod
    def at(cls, operation: Operation) -> "Checkpoint":
        """Return the checkpoint that names an operation."""
        return cls(operation.id, operation.created_at_ms)

    @property
    def operation(self) -> Operation:
        """Return the operation that it names, or `NO_OPERATION`."""
        return Operation(self.operation_id, self.created_at_ms)


NO_CHECKPOINT = Checkpoint.at(NO_OPERATION)


class MissingOperationError(Exception):
    """The ledger lacks an operation that was committed. Never leaves this part."""

    def __init__(self, operation: Operation) -> None:
        time = datetime.fromtimestamp(operation.created_at_ms / 1000, UTC)
        super().__init__(
            f"operation {operation.id} of {time:%Y-%m-%dT%H:%M:%SZ} was"
            " committed but is not in the ledger"
        )
        self.operation = operation


class RollbackError(StartError):
    """The ledger lacks the operation that the checkpoint file names."""


@dataclass(frozen=True, slots=True)
class CheckpointFile:
    """The checkpoint at one path. Any thread and process may use it.

    It is never written in place: a new file is flushed to disk and renamed over it,
    under a lock on a file beside it.
    """

    path: Path
    # Others hold the lock while they ask the ledger and write a few bytes.
    lock_timeout_s: float = 1.0

    def read(self) -> Checkpoint:
        """Return the checkpoint, or `NO_CHECKPOINT` without a file; raise OSError."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return NO_CHECKPOINT
        checkpoint = NO_CHECKPOINT
        match = _RECORD.fullmatch(content)
        if match is not None:
            checkpoint = Checkpoint(int(match[1]), int(match[2]))
        if content != _record(checkpoint):
            raise OSError(
                EINVAL, "it is damaged; if the ledger is the newest, remove it"
            )
        return checkpoint

    def set(self, checkpoint: Checkpoint) -> None:
        """Set the checkpoint, even to a lower one; raise OSError."""
        with self._locked():
            self._replace(checkpoint)

    def raise_to(
        self, database: Database, operations: Collection[Operation]
    ) -> Checkpoint:
        """Raise the checkpoint to the newest of the operations, and return it.

        Raises as `check_present` unless the ledger has all of them and the one that the
        file names, or OSError; then the file is left alone.
        """
        with self._locked():
            before = self.read()
            check_present(database, {before.operation, *operations})
            after = max([before, *map(Checkpoint.at, operations)])
            if after != before:
                self._replace(after)
        return after

    def name_missing(self, operation: Operation, reached: Checkpoint) -> None:
        """Raise the checkpoint to an operation that the ledger lacks.

        So no process starts on that ledger. Where the file was lowered below what was
        reached, the loss was accepted: then it is left alone. Raises OSError.
        """
        missing = Checkpoint.at(operation)
        with self._locked():
            if reached <= self.read() < missing:
                self._replace(missing)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        path = Path(f"{self.path}-lock")
        lock = open_for_owner(path, os.O_RDONLY | os.O_CREAT)
        with os.fdopen(lock), locked(lock, monotonic() + self.lock_timeout_s):
            yield

    def _replace(self, checkpoint: Checkpoint) -> None:
        new = Path(f"{self.path}-new")
        # A process that was killed may have left one. It is not written to: it may be a
        # link.
        new.unlink(missing_ok=True)
        descriptor = open_for_owner(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(descriptor, "wb") as file:
            file.write(_record(checkpoint))
        flush(new)
        new.replace(self.path)
        flush(self.path.parent)


def _record(checkpoint: Checkpoint) -> bytes:
    numbers = f"{checkpoint.operation_id} {checkpoint.created_at_ms}"
    fields = f"deeds-checkpoint-1 {numbers}"
    checksum = hashlib.sha256(fields.encode()).hexdigest()[:16]
    return f"{fields} {checksum}\n".encode()


def check_present(database: Database, operations: Collection[Operation]) -> None:
    """Raise MissingOperationError unless all of these are there, each with its time.

    Raises LedgerUnavailableError where the database cannot tell, as a standby that may
    lag.
    """
    wanted = [each for each in operations if each != NO_OPERATION]
    keys = [(each.id, each.created_at_ms) for each in wanted]
    rows = database.read_each(_READ_OPERATION, keys)
    missing = [each for each, row in zip(wanted, rows, strict=True) if row is None]
    if missing:
        raise MissingOperationError(max(missing, key=Checkpoint.at))


def read_newest(database: Database) -> Operation:
    """Return the operation with the highest id, or `NO_OPERATION`."""
    for row in database.read(_READ_NEWEST):
        return Operation(*row)
    return NO_OPERATION


def checkpoint_path(settings: Settings) -> Path | None:
    """Return the path of the settings, or one beside an SQLite ledger, or None."""
    if settings.checkpoint_file is not None:
        return Path(settings.checkpoint_file)
    if settings.database_url.startswith("sqlite"):
        return Path(f"{sqlite_path(settings.database_url)}-checkpoint")
    return None


def open_checkpoint(database: Database, file: CheckpointFile) -> Checkpoint:
    """Raise the file to where the ledger is, and return the checkpoint.

    Logs if a ledger in use had no file. Raises RollbackError where the ledger is behind
    the file, and StartError where one cannot be read; both leave the file alone.
    """
    is_new = not file.path.exists()
    newest = NO_OPERATION
    try:
        newest = read_newest(database)
        checkpoint = file.raise_to(database, [newest])
    except MissingOperationError as missing:
        raise RollbackError(
            f"{missing}, which ends at operation {newest.id}: this is an older copy or"
            f" another ledger, and secrets spent since are live again; {ADVICE}"
        ) from None
    except RetryLaterError as error:
        raise StartError(f"DATABASE_URL: {error}") from None
    except OSError as error:
        raise StartError(
            f"cannot use the checkpoint file {file.path}: {error.strerror}"
        ) from None
    if is_new and checkpoint != NO_CHECKPOINT:
        _log.warning(
            "there was no checkpoint file at %s: it was created, and an older copy of"
            " the ledger is detected from now on",
            file.path,
            extra={"event": "checkpoint_new"},
        )
    return checkpoint
