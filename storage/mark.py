"""The mark.

A file outside the database that names an operation which the ledger has reached.

An older copy of a ledger is sound in itself, but secrets spent since are live in it
again. As long as the operations committed last are in a ledger, so are all before them;
but which these are only something outside the database can tell.
"""

import atexit
import hashlib
import logging
import os
import re
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from errno import EINVAL
from functools import partial
from pathlib import Path
from time import monotonic

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from deeds.domain.errors import (
    LedgerRolledBackError,
    LedgerUnavailableError,
    RetryLaterError,
    StartError,
)
from storage import statements
from storage.failures import one_line
from storage.sqlite_file import flush, locked, open_for_owner

_log = logging.getLogger("deeds")

_WRITE_EVERY_S = 1.0

# Others hold the lock while they ask the ledger and write a few bytes.
_LOCK_TIMEOUT_S = 1.0

_RECORD = re.compile(rb"deeds-mark-1 ([0-9]{1,18}) ([0-9]{1,14}) [0-9a-f]{16}\n")

_ADVICE = "restore the right database, or run: flask --app app deeds accept-rollback"

_IS_IN_RECOVERY = text("SELECT pg_is_in_recovery()")


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """A committed operation; its time tells it from another one with the same id."""

    operation_id: int
    created_at_ms: int


NO_OPERATION = Mark(0, 0)

Read = Callable[[Callable[[Connection], Mark]], Mark]


class MissingOperationError(Exception):
    """An operation that was committed is not in the ledger.

    Never leaves the storage.
    """

    def __init__(self, mark: Mark) -> None:
        at = f"{datetime.fromtimestamp(mark.created_at_ms / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"
        super().__init__(
            f"operation {mark.operation_id} of {at} was committed but is not in the ledger"
        )
        self.mark = mark


class RollbackError(StartError):
    """The ledger lacks the operation that the mark names."""


@dataclass(frozen=True, slots=True)
class MarkFile:
    """The mark at one path. Any thread and process may use it.

    It is never written in place: a new file is flushed to disk and renamed over it,
    under a lock on a file beside it.
    """

    path: Path

    def read(self) -> Mark:
        """Return the mark, or `NO_OPERATION` if there is no file; raise OSError."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return NO_OPERATION
        found = _RECORD.fullmatch(content)
        mark = NO_OPERATION if found is None else Mark(int(found[1]), int(found[2]))
        if content != _record(mark):
            raise OSError(
                EINVAL, "it is damaged; if the ledger is the newest, remove it"
            )
        return mark

    def change(self, choose: Callable[[Mark], Mark]) -> Mark:
        """Set the mark to what `choose` returns for the present one, under the lock.

        Return it.

        An exception of `choose`, or an OSError, leaves the mark as it is.
        """
        lock = open_for_owner(Path(f"{self.path}-lock"), os.O_RDONLY | os.O_CREAT)
        with os.fdopen(lock), locked(lock, monotonic() + _LOCK_TIMEOUT_S):
            before = self.read()
            after = choose(before)
            if after != before:
                self._replace(after)
        return after

    def _replace(self, mark: Mark) -> None:
        new = Path(f"{self.path}-new")
        # A process that was killed may have left one. It is not written to: it may be a
        # link.
        new.unlink(missing_ok=True)
        file = open_for_owner(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(file, "wb") as opened:
            opened.write(_record(mark))
        flush(new)
        new.replace(self.path)
        flush(self.path.parent)


def _record(mark: Mark) -> bytes:
    fields = f"deeds-mark-1 {mark.operation_id} {mark.created_at_ms}"
    return f"{fields} {hashlib.sha256(fields.encode()).hexdigest()[:16]}\n".encode()


def check_present(connection: Connection, marks: Collection[Mark]) -> None:
    """Raise MissingOperationError unless all of the operations are there, each with its time.

    Where the server is a standby, which may lag, that is a LedgerUnavailableError.
    """
    # Asked first: a standby may be promoted in between, but no primary becomes a
    # standby.
    is_standby = connection.dialect.name == "postgresql" and connection.scalar(
        _IS_IN_RECOVERY
    )
    wanted = set(marks) - {NO_OPERATION}
    ids = {"operation_ids": [mark.operation_id for mark in wanted]}
    rows = connection.execute(statements.READ_OPERATION_TIMES, ids)
    missing = wanted - {Mark(*row) for row in rows}
    if missing and is_standby:
        raise LedgerUnavailableError("the database is a standby, which may lag")
    if missing:
        raise MissingOperationError(max(missing))


def _raised(connection: Connection, marks: Collection[Mark], before: Mark) -> Mark:
    check_present(connection, {before, *marks})
    return max(before, *marks)


class LastOperations:
    """What one process committed last. Any thread may call it.

    Its own thread raises the mark once a second: no write waits for that.
    """

    def __init__(self, engine: Engine, file: MarkFile | None, read: Read) -> None:
        """Begin with the mark, raised as `raise_mark` does.

        `read` runs a read of the ledger.
        """
        self._written = NO_OPERATION if file is None else raise_mark(engine, file)
        # Several where commits overlapped: any of them may be the first that a database
        # loses.
        self.marks: tuple[Mark, ...] = (
            (self._written,) if self._written > NO_OPERATION else ()
        )
        # On SQLite one transaction after the other gets the next ids.
        self._are_ids_in_order = engine.dialect.name == "sqlite"
        self._file = file
        self._read = read
        self._is_lost = False
        self._is_behind = False
        self._is_failing = False
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mark", daemon=True)
        if file is not None:
            self._thread.start()
            # A process that stops on request does not lose its last second.
            atexit.register(self.close)

    def note(self, committed: Mark, predecessors: Collection[Mark]) -> None:
        """Record an operation whose commit was acknowledged, and those it was conditional on."""
        with self._lock:
            if self._are_ids_in_order:
                self.marks = (max((committed, *self.marks)),)
            else:
                kept = [each for each in self.marks if each not in predecessors]
                self.marks = (*kept, committed)
            self._is_behind = True

    def check_not_lost(self) -> None:
        """Raise `LedgerRolledBackError` if the ledger was found without one of them."""
        if self._is_lost:
            raise LedgerRolledBackError

    def report_lost(self, missing: MissingOperationError) -> None:
        """Let the process write no more, log why, and let the mark file show it.

        Once.
        """
        with self._lock:
            if self._is_lost:
                return
            self._is_lost = self._is_behind = True
        _log.error(
            "%s: this is an older copy, or a standby that lagged has taken over, and secrets spent"
            " since are live again. This process writes no more: %s; then restart all processes",
            missing,
            _ADVICE,
            extra={"event": "ledger_rolled_back"},
        )

    def close(self) -> None:
        """Write the mark if it is behind, and end the thread."""
        atexit.unregister(self.close)
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self._write()

    def _run(self) -> None:
        while not self._stop.wait(_WRITE_EVERY_S):
            self._write()

    def _write(self) -> None:
        file = self._file
        if file is None or not self._is_behind:
            return
        self._is_behind = False
        try:
            mark = self._read(
                lambda connection: file.change(partial(self._choose, connection))
            )
            if not self._is_lost:
                self._written = mark
            self._is_failing = False
        except Exception as error:  # noqa: BLE001 - the thread must not end, whatever happens
            self._is_behind = True
            # If the ledger cannot be read just now, that has been logged.
            if not self._is_failing and not isinstance(
                error, RetryLaterError | DBAPIError
            ):
                self._is_failing = True
                _log.warning(
                    "cannot write the mark file %s: until this succeeds, a restart may not detect"
                    " that the ledger was replaced by an older copy",
                    file.path,
                    exc_info=error,
                    extra={"event": "mark_unwritten"},
                )

    def _choose(self, connection: Connection, before: Mark) -> Mark:
        try:
            return _raised(connection, self.marks, before)
        except MissingOperationError as missing:
            self.report_lost(missing)
            # Others may have raised the mark past what is lost. Where it was lowered,
            # the loss is accepted, and this process is yet to be restarted.
            return missing.mark if before >= self._written else before


def mark_file_of(engine: Engine, path: str | None) -> MarkFile | None:
    """Return the mark file at the path of the settings, or an SQLite ledger's own, or None."""
    if path is None and engine.dialect.name == "sqlite":
        path = f"{engine.url.database}-mark"
    return None if path is None else MarkFile(Path(path))


def read_newest(engine: Engine) -> Mark:
    """Return the operation with the highest id, or `NO_OPERATION`."""
    with engine.connect() as connection:
        row = connection.execute(statements.READ_NEWEST_OPERATION).one_or_none()
    return NO_OPERATION if row is None else Mark(*row)


def raise_mark(engine: Engine, file: MarkFile) -> Mark:
    """Raise the mark to where the ledger is, and return it.

    Logs if a ledger in use had none.

    Raises RollbackError where the ledger is behind the mark, and StartError where one
    cannot be read; both leave the mark alone.
    """
    is_new = not file.path.exists()
    try:
        newest = read_newest(engine)
        with engine.connect() as connection:
            mark = file.change(partial(_raised, connection, [newest]))
    except MissingOperationError as missing:
        raise RollbackError(
            f"{missing}, which ends at operation {newest.operation_id}: this is an older copy or "
            f"another ledger, and secrets spent since are live again; {_ADVICE}"
        ) from None
    except LedgerUnavailableError as error:
        raise StartError(f"DATABASE_URL: {error.detail}") from None
    except DBAPIError as error:
        raise StartError(
            f"DATABASE_URL: the ledger cannot be read: {one_line(error)}"
        ) from None
    except OSError as error:
        raise StartError(
            f"cannot use the mark file {file.path}: {error.strerror}"
        ) from None
    if is_new and mark != NO_OPERATION:
        _log.warning(
            "there was no mark file at %s: it was created, and an older copy of the ledger is"
            " detected from now on",
            file.path,
            extra={"event": "mark_new"},
        )
    return mark
