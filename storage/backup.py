"""Copies of a ledger on SQLite: taken while it is served, and put back while it is not."""

import fcntl
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import URL, Engine
from sqlalchemy.exc import DBAPIError

from deeds.domain.errors import StartError
from storage.engine import make_engine
from storage.mark import RollbackError, raise_mark, read_newest
from storage.mark_file import Mark, MarkFile
from storage.schema import migrate, one_process
from storage.sqlite_file import has_content, leave_to_owner, make_directory

# 4 MiB, then the next step.
_PAGES_AT_ONCE = 1024

# Where each connection in WAL mode holds a read lock: www.sqlite.org/lockingv3.html.
_SHARED_LOCK_AT = 0x40000002
_SHARED_LOCK_BYTES = 510

# Called with the pages that are copied and with how many there are in all.
Progress = Callable[[int, int], None]

# Looks at a copy before it is used; raises to refuse it.
Inspect = Callable[[Engine], None]


class InUseError(Exception):
    """Another connection to the ledger is open."""


def back_up(engine: Engine, path: Path, inspect: Inspect, progress: Progress) -> Mark:
    """Copy the ledger to a file that is not there yet, and return its newest operation.

    The copy is one state of the ledger. It appears under its name once it is whole, inspected and
    on disk.

    Raises:
        FileExistsError: there is something at the path.
        OSError, sqlite3.Error: it cannot be read or written.
    """
    if os.path.lexists(path):
        raise FileExistsError
    with _copied(Path(str(engine.url.database)), path, progress) as copy:
        newest = _inspected(engine.url, copy, inspect)
        _flush(copy)
        if os.path.lexists(path):
            raise FileExistsError
        copy.rename(path)
        _flush(path.parent)
    return newest


def restore(
    engine: Engine, file: MarkFile, path: Path, inspect: Inspect, progress: Progress
) -> tuple[Mark, Path | None]:
    """Put a copy in the place of the ledger, which is kept under another name.

    The mark is raised to what the ledger had reached, and never lowered. Returns the copy's newest
    operation, and where the replaced ledger is now, if there was one.

    Raises:
        InUseError: another connection to the ledger is open.
        StartError: the copy holds no ledger, or a newer one than the code knows.
        OSError, sqlite3.Error: a file cannot be read or written.
    """
    ledger = Path(str(engine.url.database))
    make_directory(ledger.parent)
    with _copied(path, ledger, progress) as copy:
        newest = _inspected(engine.url, copy, inspect)
        _flush(copy)
        # A service that is being started waits, and then opens the copy.
        with one_process(engine):
            if has_content(ledger):
                _raise_mark(engine, file)
                _fold_log(ledger)
            replaced = _set_aside(ledger)
            _give(copy, ledger.parent)
            copy.rename(ledger)
            _flush(ledger.parent)
    return newest, replaced


@contextmanager
def _copied(source: Path, target: Path, progress: Progress) -> Iterator[Path]:
    """Yield a copy beside the target, under a name of its own, and delete what is left of it."""
    directory = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=target.parent))
    try:
        copy = directory / target.name
        os.close(os.open(copy, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        _copy(source, copy, progress)
        yield copy
    finally:
        shutil.rmtree(directory)


def _copy(source: Path, copy: Path, progress: Progress) -> None:
    address = f"{source.absolute().as_uri()}?mode=rw"
    with (
        closing(sqlite3.connect(address, uri=True, isolation_level=None)) as read,
        closing(sqlite3.connect(copy, isolation_level=None)) as written,
    ):
        # Hold one state of the ledger for as long as it takes: otherwise each commit of the
        # service makes the copy start over.
        read.execute("BEGIN")
        read.execute("SELECT count(*) FROM sqlite_master").fetchone()
        read.backup(
            written,
            pages=_PAGES_AT_ONCE,
            progress=lambda _status, left, count: progress(count - left, count),
        )


def _inspected(url: URL, copy: Path, inspect: Inspect) -> Mark:
    """Bring the copy to the code's revision, look at it, and leave it in one file."""
    engine = make_engine(url.set(database=str(copy)))
    try:
        before, _ = migrate(engine)
        if before is None:
            raise StartError("there is no ledger in it")
        inspect(engine)
        newest = read_newest(engine)
    finally:
        engine.dispose()
    _fold_log(copy)
    return newest


def _raise_mark(engine: Engine, file: MarkFile) -> None:
    """Keep in the mark what the ledger had reached when it was last served.

    Where the ledger or the mark is damaged, or the ledger is behind the mark, there is nothing to
    keep.
    """
    try:
        with suppress(RollbackError, DBAPIError):
            raise_mark(engine, file)
    finally:
        engine.dispose()


def _fold_log(path: Path) -> None:
    """Write the whole of a ledger into its one file. A damaged ledger is left as it is.

    Raises:
        InUseError: another connection to it is open.
    """
    try:
        with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
            # Leaving WAL mode deletes the log, and fails while anyone else has the file open.
            connection.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.DatabaseError:
        if _is_open(path):
            raise InUseError from None


def _is_open(path: Path) -> bool:
    """Return whether a connection holds a lock on the file, damaged as it may be."""
    with path.open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, _SHARED_LOCK_BYTES, _SHARED_LOCK_AT)
        except OSError:
            return True
    return False


def _give(copy: Path, directory: Path) -> None:
    """Give the copy to whom the directory belongs: root restores, another user serves."""
    file = os.open(copy, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        leave_to_owner(file, directory)
    finally:
        os.close(file)


def _set_aside(ledger: Path) -> Path | None:
    """Give what there is of a ledger another name, which is returned.

    Its log first, even where nothing else is left of it: SQLite would write it into the copy.
    """
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    replaced = Path(f"{ledger}-replaced-{now}")
    moved_count = 0
    for suffix in ("-wal", "-shm", ""):
        with suppress(FileNotFoundError):
            Path(f"{ledger}{suffix}").rename(f"{replaced}{suffix}")
            moved_count += 1
    return replaced if moved_count else None


def _flush(path: Path) -> None:
    """Make sure that a file, or what a directory says, is on disk."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
