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

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from deeds.domain.errors import LedgerUnavailableError, StartError
from storage.driver import execute, one_line
from storage.sqlite_file import flush, locked, open_for_owner

_log = logging.getLogger("deeds")

# Others hold the lock while they ask the ledger and write a few bytes.
_LOCK_TIMEOUT_S = 1.0

_RECORD = re.compile(rb"deeds-checkpoint-1 ([0-9]{1,18}) ([0-9]{1,14}) [0-9a-f]{16}\n")

ADVICE = "restore the right database, or run: flask --app app deeds accept-rollback"

_READ_NEWEST = "SELECT id, created_at_ms FROM operations ORDER BY id DESC LIMIT 1"

_READ_TIMES = "SELECT id, created_at_ms FROM operations WHERE id IN :operation_ids"


@dataclass(frozen=True, slots=True, order=True)
class Checkpoint:
    """A committed operation; its time tells it from another one with the same id."""

    operation_id: int
    created_at_ms: int


NO_OPERATION = Checkpoint(0, 0)


class MissingOperationError(Exception):
    """The ledger lacks an operation that was committed. Never leaves the storage."""

    def __init__(self, missing: Checkpoint) -> None:
        time = datetime.fromtimestamp(missing.created_at_ms / 1000, UTC)
        super().__init__(
            f"operation {missing.operation_id} of {time:%Y-%m-%dT%H:%M:%SZ} was"
            " committed but is not in the ledger"
        )
        self.checkpoint = missing


class RollbackError(StartError):
    """The ledger lacks the operation that the checkpoint file names."""


@dataclass(frozen=True, slots=True)
class CheckpointFile:
    """The checkpoint at one path. Any thread and process may use it.

    It is never written in place: a new file is flushed to disk and renamed over it,
    under a lock on a file beside it.
    """

    path: Path

    def read(self) -> Checkpoint:
        """Return the checkpoint, or `NO_OPERATION` without a file; raise OSError."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return NO_OPERATION
        found = _RECORD.fullmatch(content)
        checkpoint = NO_OPERATION
        if found is not None:
            checkpoint = Checkpoint(int(found[1]), int(found[2]))
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
        self, connection: Connection, reached: Collection[Checkpoint]
    ) -> Checkpoint:
        """Raise the checkpoint to the highest operation that was reached; return it.

        Raises as `check_present` unless the ledger has all of them and the one that the
        file names, or OSError; then the file is left alone.
        """
        with self._locked():
            before = self.read()
            check_present(connection, {before, *reached})
            after = max(before, *reached)
            if after != before:
                self._replace(after)
        return after

    def name_missing(self, missing: Checkpoint, reached: Checkpoint) -> None:
        """Raise the checkpoint to an operation that the ledger lacks.

        So no process starts on that ledger. Not where the file was lowered below what
        was reached: then the loss was accepted. Raises OSError.
        """
        with self._locked():
            if reached <= self.read() < missing:
                self._replace(missing)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        path = Path(f"{self.path}-lock")
        lock = open_for_owner(path, os.O_RDONLY | os.O_CREAT)
        with os.fdopen(lock), locked(lock, monotonic() + _LOCK_TIMEOUT_S):
            yield

    def _replace(self, checkpoint: Checkpoint) -> None:
        new = Path(f"{self.path}-new")
        # A process that was killed may have left one. It is not written to: it may be a
        # link.
        new.unlink(missing_ok=True)
        file = open_for_owner(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(file, "wb") as opened:
            opened.write(_record(checkpoint))
        flush(new)
        new.replace(self.path)
        flush(self.path.parent)


def _record(checkpoint: Checkpoint) -> bytes:
    numbers = f"{checkpoint.operation_id} {checkpoint.created_at_ms}"
    fields = f"deeds-checkpoint-1 {numbers}"
    checksum = hashlib.sha256(fields.encode()).hexdigest()[:16]
    return f"{fields} {checksum}\n".encode()


def check_present(connection: Connection, checkpoints: Collection[Checkpoint]) -> None:
    """Raise MissingOperationError unless all of these are there, each with its time.

    Where the server is a standby, which may lag, that is a LedgerUnavailableError.
    """
    wanted = set(checkpoints) - {NO_OPERATION}
    if not wanted:
        return
    # Asked first: a standby may be promoted in between, but no primary becomes one.
    is_standby = is_in_recovery(connection)
    ids = {"operation_ids": [each.operation_id for each in wanted]}
    rows = execute(connection, _READ_TIMES, ids)
    found = {Checkpoint(row.id, row.created_at_ms) for row in rows}
    missing = wanted - found
    if missing and is_standby:
        raise LedgerUnavailableError("the database is a standby, which may lag")
    if missing:
        raise MissingOperationError(max(missing))


def is_in_recovery(connection: Connection) -> bool:
    """Return whether the server is a PostgreSQL standby."""
    if connection.dialect.name == "sqlite":
        return False
    return bool(execute(connection, "SELECT pg_is_in_recovery()").scalar_one())


def checkpoint_file_of(engine: Engine, path: str | None) -> CheckpointFile | None:
    """Return the file of the settings, or an SQLite ledger's own, or None."""
    if path is None and engine.dialect.name == "sqlite":
        path = f"{engine.url.database}-checkpoint"
    return None if path is None else CheckpointFile(Path(path))


def read_newest(engine: Engine) -> Checkpoint:
    """Return the operation with the highest id, or `NO_OPERATION`."""
    with engine.connect() as connection:
        row = execute(connection, _READ_NEWEST).first()
    return NO_OPERATION if row is None else Checkpoint(row.id, row.created_at_ms)


def raise_checkpoint(engine: Engine, file: CheckpointFile) -> Checkpoint:
    """Raise the file to where the ledger is, and return the checkpoint.

    Logs if a ledger in use had no file. Raises RollbackError where the ledger is behind
    the file, and StartError where one cannot be read; both leave the file alone.
    """
    is_new = not file.path.exists()
    try:
        newest = read_newest(engine)
        with engine.connect() as connection:
            reached = file.raise_to(connection, [newest])
    except MissingOperationError as missing:
        raise RollbackError(
            f"{missing}, which ends at operation {newest.operation_id}: this is an"
            " older copy or another ledger, and secrets spent since are live again;"
            f" {ADVICE}"
        ) from None
    except LedgerUnavailableError as error:
        raise StartError(f"DATABASE_URL: {error.detail}") from None
    except DBAPIError as error:
        said = one_line(error)
        raise StartError(f"DATABASE_URL: the ledger cannot be read: {said}") from None
    except OSError as error:
        raise StartError(
            f"cannot use the checkpoint file {file.path}: {error.strerror}"
        ) from None
    if is_new and reached != NO_OPERATION:
        _log.warning(
            "there was no checkpoint file at %s: it was created, and an older copy of"
            " the ledger is detected from now on",
            file.path,
            extra={"event": "checkpoint_new"},
        )
    return reached
