"""The high-water mark of a ledger: a small file that says which operation it has reached at least.

An older copy of a ledger is sound in itself, and yet secrets spent since are live in it again. Only
something outside the database can tell. Imports no database.

The file has two records, in blocks of their own, and the older one is overwritten: whatever moment
the power fails at, one of them is whole. Any number of processes write it, each under a lock, and
`raise_to` never lowers it.
"""

import fcntl
import hashlib
import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

from sqlalchemy import URL

from deeds.domain.errors import StartError
from storage.sqlite_file import has_content, leave_to_owner, open_for_owner

_log = logging.getLogger("deeds")

# Disks write blocks of at most this size whole.
_BLOCK_BYTES = 4096
_BLOCKS_COUNT = 2
_LABEL = "deeds-mark-1"
_CHECKSUM_HEX_DIGITS = 16

# Others hold the lock for some microseconds, unless they were stopped meanwhile.
_LOCK_TIMEOUT_S = 1.0
_LOOK_EVERY_S = 0.002


class MarkDamagedError(Exception):
    """The file is there, but no record in it is whole."""


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """An operation that was committed; its time tells it from another one with the same id."""

    operation_id: int
    created_at_ms: int


NO_OPERATION = Mark(0, 0)


def ignore_mark(_mark: Mark) -> None:
    """Do nothing."""


class MarkFile:
    """The mark at one path. Any thread and process may use it."""

    def __init__(self, path: Path) -> None:
        """Take the path; opens nothing yet."""
        self.path = path

    def read(self) -> Mark | None:
        """Return the mark, or None where there is no file.

        Raises:
            MarkDamagedError: no record is whole.
            OSError: it cannot be read.
        """
        try:
            with self._opened(fcntl.LOCK_SH) as file:
                records = _read_records(file)
        except FileNotFoundError:
            return None
        if None in records:
            # The power failed while it was written; the other record is a second older.
            _log.warning(
                "a record of %s is torn; the other one was used",
                self.path,
                extra={"event": "mark_torn"},
            )
        return max(record for record in records if record is not None)

    def raise_to(self, mark: Mark, check: Callable[[Mark], None] = ignore_mark) -> Mark:
        """Make sure that the mark is at least this one, and return what it is then.

        `check` is called with the mark as it was, under the lock; what it raises leaves the mark.

        Raises:
            MarkDamagedError: no record is whole; the file is left as it is.
            OSError: it cannot be written.
        """
        try:
            with self._opened(fcntl.LOCK_EX) as file:
                records = _read_records(file)
                before = max(record for record in records if record is not None)
                check(before)
                if mark > before:
                    oldest = min(range(_BLOCKS_COUNT), key=lambda at: records[at] or NO_OPERATION)
                    os.pwrite(file, _record_text(mark), oldest * _BLOCK_BYTES)
                return max(mark, before)
        except FileNotFoundError:
            return self._create(mark, check)

    def lower_to(self, mark: Mark) -> None:
        """Make this the mark, whatever it was before.

        Raises:
            OSError: it cannot be written.
        """
        try:
            with self._opened(fcntl.LOCK_EX) as file:
                os.pwrite(file, _file_text(mark), 0)
                os.ftruncate(file, _BLOCKS_COUNT * _BLOCK_BYTES)
                os.fsync(file)
        except FileNotFoundError:
            self._create(mark)

    @contextmanager
    def _opened(self, lock: int) -> Iterator[int]:
        # Opened each time: an operator may have put another file there.
        mode = os.O_RDONLY if lock == fcntl.LOCK_SH else os.O_RDWR
        file = open_for_owner(self.path, mode)
        try:
            _lock(file, lock)
            yield file
        finally:
            os.close(file)

    def _create(self, mark: Mark, check: Callable[[Mark], None] = ignore_mark) -> Mark:
        """Put a whole file there at once, so that an empty one is never ours."""
        file, name = tempfile.mkstemp(prefix=f"{self.path.name}.", dir=self.path.parent)
        try:
            with os.fdopen(file, "wb") as opened:
                leave_to_owner(file, self.path.parent)
                opened.write(_file_text(mark))
                opened.flush()
                os.fsync(file)
            os.link(name, self.path)
        except FileExistsError:
            # Another process was faster.
            return self.raise_to(mark, check)
        finally:
            Path(name).unlink()
        return mark


def _lock(file: int, lock: int) -> None:
    deadline_s = monotonic() + _LOCK_TIMEOUT_S
    while True:
        try:
            fcntl.flock(file, lock | fcntl.LOCK_NB)
        except BlockingIOError:
            if monotonic() > deadline_s:
                raise
            sleep(_LOOK_EVERY_S)
        else:
            return


def _read_records(file: int) -> list[Mark | None]:
    """Return both records, None for one that is torn, unless both are."""
    records = [
        _parse_record(os.pread(file, _BLOCK_BYTES, at * _BLOCK_BYTES))
        for at in range(_BLOCKS_COUNT)
    ]
    if records == [None] * _BLOCKS_COUNT:
        raise MarkDamagedError
    return records


def _parse_record(block: bytes) -> Mark | None:
    try:
        label, operation_id, created_at_ms, _ = block.decode("ascii").split()
        mark = Mark(int(operation_id), int(created_at_ms))
    except ValueError:
        return None
    return mark if label == _LABEL and block == _record_text(mark) else None


def _record_text(mark: Mark) -> bytes:
    fields = f"{_LABEL} {mark.operation_id} {mark.created_at_ms}"
    checksum = hashlib.sha256(fields.encode()).hexdigest()[:_CHECKSUM_HEX_DIGITS]
    return f"{fields} {checksum}".ljust(_BLOCK_BYTES - 1).encode() + b"\n"


def _file_text(mark: Mark) -> bytes:
    return _record_text(mark) * _BLOCKS_COUNT


def check_not_lost(url: URL, mark: MarkFile | None) -> None:
    """Make sure that where there is no ledger there was none before.

    Raises:
        StartError: a mark or a log shows that there was one, or the mark cannot be read.
    """
    path = Path(url.database or "")
    # First what only a ledger leaves: one that is being made meanwhile has its file before these.
    traces = _traces(path, mark)
    if traces and not has_content(path):
        found = "empty" if path.exists() else "gone"
        named = " and ".join(map(str, traces))
        raise StartError(
            f"DATABASE_URL: {path} is {found}, but it held a ledger, as {named} shows; put it back "
            "with the files beside it, or run: flask --app app deeds restore FILE (to begin a new "
            f"ledger, in which nobody owns anything, remove {named})"
        )


def _traces(path: Path, mark: MarkFile | None) -> list[Path]:
    """Return the files that show that there was a ledger."""
    log = Path(f"{path}-wal")
    traces = [mark.path] if mark is not None and _tells_of_operations(mark) else []
    return [*traces, log] if log.exists() and has_content(log) else traces


def _tells_of_operations(mark: MarkFile) -> bool:
    try:
        return (mark.read() or NO_OPERATION) != NO_OPERATION
    except MarkDamagedError:
        return True
    except OSError as error:
        raise StartError(f"cannot use the mark file {mark.path}: {error.strerror}") from None
