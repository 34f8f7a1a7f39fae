"""The high-water mark of a ledger: a small file that names an operation the ledger has reached.

An older copy of a ledger is sound in itself, but secrets spent since are live in it again. Only
something outside the database can tell. The file is never written in place: a new one is flushed to
disk and renamed over it, under a lock on a file beside it.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from sqlalchemy import URL

from deeds.domain.errors import StartError
from storage.sqlite_file import has_content, lock_file, open_for_owner

_LABEL = "deeds-mark-1"
_CHECKSUM_HEX_DIGITS = 16

# A record is one line. Earlier versions wrote two, of a disk block each.
_BYTES_MAX = 8192

# Other processes hold the lock for some milliseconds, unless they were stopped meanwhile.
_LOCK_TIMEOUT_S = 1.0


class MarkDamagedError(Exception):
    """The file exists but holds no intact record."""


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """A committed operation; its time tells it from another one with the same id."""

    operation_id: int
    created_at_ms: int


NO_OPERATION = Mark(0, 0)

Check = Callable[[Mark], None]


class MarkFile:
    """The mark at one path. Any thread and process may use it."""

    def __init__(self, path: Path) -> None:
        """Create it for a path; opens nothing yet."""
        self.path = path

    def read(self) -> Mark | None:
        """Return the mark, or None if there is no file.

        Raises:
            MarkDamagedError: no record is intact.
            OSError: it cannot be read, or is a link.
        """
        try:
            file = open_for_owner(self.path, os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            lines = os.read(file, _BYTES_MAX).splitlines()
        finally:
            os.close(file)
        marks = [mark for line in lines if (mark := _parse_record(line)) is not None]
        if not marks:
            raise MarkDamagedError
        return max(marks)

    def raise_to(self, mark: Mark, check: Check | None = None) -> Mark:
        """Raise the mark to this one unless it is higher already, and return what it is then.

        `check` is called with the present mark, under the lock; if it raises, the mark stays.

        Raises:
            MarkDamagedError: no record is intact; the file is left as it is.
            OSError: it cannot be written.
        """
        with self._locked():
            before = self.read()
            if before is not None and check is not None:
                check(before)
            if before is None or mark > before:
                self._replace(mark)
                return mark
            return before

    def lower_to(self, mark: Mark) -> None:
        """Set the mark, whatever it was before.

        Raises:
            OSError: it cannot be written.
        """
        with self._locked():
            self._replace(mark)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        # Not the mark itself, which is replaced.
        file = open_for_owner(Path(f"{self.path}-lock"), os.O_RDWR | os.O_CREAT)
        try:
            lock_file(file, monotonic() + _LOCK_TIMEOUT_S)
            yield
        finally:
            os.close(file)

    def _replace(self, mark: Mark) -> None:
        new = Path(f"{self.path}-new")
        # A process that was killed may have left one. It is not written to: it may be a link.
        new.unlink(missing_ok=True)
        file = open_for_owner(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(file, "wb") as opened:
            opened.write(_record(mark))
            opened.flush()
            os.fsync(file)
        new.replace(self.path)


def check_not_lost(url: URL, mark: MarkFile | None) -> None:
    """Check that no SQLite ledger was lost where a new one is about to be created.

    Must be called before SQLite opens the file: it deletes the log of an empty one, and with it
    what was committed last.

    Raises:
        StartError: a mark or a log shows that there was one, or the mark cannot be read.
    """
    path = Path(url.database or "")
    log = Path(f"{path}-wal")
    # First what only a ledger leaves: one that is being made meanwhile has its file before these.
    traces = [mark.path] if mark is not None and _names_operation(mark) else []
    if has_content(log):
        traces.append(log)
    if traces and not has_content(path):
        found = "empty" if path.exists() else "gone"
        named = " and ".join(map(str, traces))
        raise StartError(
            f"DATABASE_URL: {path} is {found}, but it held a ledger, as {named} shows; put it back "
            "with the files beside it, or run: flask --app app deeds restore FILE (to begin a new "
            f"ledger, in which nobody owns anything, remove {named})"
        )


def _names_operation(mark: MarkFile) -> bool:
    try:
        return (mark.read() or NO_OPERATION) != NO_OPERATION
    except MarkDamagedError:
        return True
    except OSError as error:
        raise StartError(f"cannot use the mark file {mark.path}: {error.strerror}") from None


def _parse_record(line: bytes) -> Mark | None:
    fields = line.split()
    try:
        mark = Mark(int(fields[1]), int(fields[2]))
    except (IndexError, ValueError):
        return None
    return mark if fields == _record(mark).split() else None


def _record(mark: Mark) -> bytes:
    fields = f"{_LABEL} {mark.operation_id} {mark.created_at_ms}"
    checksum = hashlib.sha256(fields.encode()).hexdigest()[:_CHECKSUM_HEX_DIGITS]
    return f"{fields} {checksum}\n".encode()
