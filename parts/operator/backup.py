"""Backup and restore of an SQLite ledger.

The service may run during a backup, but not during a restore.
"""

import fcntl
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from errno import EBUSY, EEXIST, ENOENT
from pathlib import Path

from deeds.errors import RetryLaterError, StartError
from deeds.part import Ledger
from deeds.settings import COMMAND
from storage.files import as_owner, flush, has_content
from storage.repository import read_last_operation
from storage.schema import MovedError, migrate, read_mark
from storage.sqlite import SqliteDatabase, make_default_directory, sqlite_path

# Where each connection in WAL mode holds a read lock: www.sqlite.org/lockingv3.html.
_SHARED_LOCK_AT = 0x40000002
_SHARED_LOCK_BYTES = 510

IN_USE = "it is in use: stop the service first"

# Called with a copy before it is used; raises to refuse it.
Inspect = Callable[[Ledger], None]


def back_up(ledger: Ledger, path: Path, inspect: Inspect) -> int:
    """Copy the ledger to a new file; return the id of the newest operation in it.

    The copy is a snapshot of the ledger. It gets its name when it is complete,
    inspected and on disk. Raises FileExistsError, another OSError, sqlite3.Error, or
    StartError if root may not act as the owner of one of the directories.
    """
    source = sqlite_path(ledger.settings.database_url)
    with as_owner(path.parent):
        _refuse_existing(path)
    with _temporary_copy(ledger, source, path, inspect) as (copy, last_id):
        _refuse_existing(path)
        copy.rename(path)
        flush(path.parent)
    return last_id


def restore(
    ledger: Ledger, source: Path, inspect: Inspect, *, is_new: bool
) -> tuple[int, Path | None]:
    """Replace the ledger by a backup; rename the files of the old ledger.

    Returns the id of the newest operation in the backup, and the new path of the
    replaced ledger, if there was one. `is_new` must be True if and only if there is no
    ledger yet. Raises StartError if the backup holds no ledger, sqlite3.Error, or
    OSError, for example if `is_new` is wrong or the ledger is in use.
    """
    target = open_sqlite(sqlite_path(ledger.settings.database_url))
    make_default_directory(target.path)
    _check_place(target.path, is_new=is_new)
    with (
        _temporary_copy(ledger, source, target.path, inspect) as (copy, last_id),
        closing(target),
        # A service that starts now waits, and then opens the copy.
        target.alone(),
    ):
        if has_content(target.path):
            _refuse_moved(ledger)
            # check_start lets a part record the ledger's last operation, for example in
            # the checkpoint file. It fails if the ledger is damaged or empty.
            with suppress(StartError, sqlite3.Error):
                ledger.database.check_start()
            ledger.database.close()
            refuse_open(target.path)
        old_ledger = _set_aside(target.path)
        copy.rename(target.path)
        flush(target.path.parent)
    return last_id, old_ledger


@contextmanager
def _temporary_copy(
    ledger: Ledger, source: Path, target: Path, inspect: Inspect
) -> Iterator[tuple[Path, int]]:
    """Yield a copy that is inspected and on disk, and the id of its newest operation.

    The copy is in a temporary directory beside the target, which is deleted at the end.
    Within the block root has the rights of the owner of the target's directory.
    """
    with ExitStack() as stack:
        stack.enter_context(as_owner(target.parent))
        directory = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=target.parent))
        stack.callback(shutil.rmtree, directory)
        copy = directory / target.name
        # SQLite keeps the permissions of an existing file.
        copy.touch(mode=0o600)
        _copy(source, copy, target.parent)
        with closing(open_sqlite(copy)) as database:
            if "operations" not in database.table_names():
                raise StartError("there is no ledger in it")
            migrate(database, ledger.schemas)
            inspect(replace(ledger, database=database))
            last_id = read_last_operation(database).id
        with closing(sqlite3.connect(copy)) as connection:
            # Leaving WAL mode writes the log into the file and deletes it.
            connection.execute("PRAGMA journal_mode = DELETE")
        flush(copy)
        yield copy, last_id


def _copy(source: Path, copy: Path, directory: Path) -> None:
    """Copy a snapshot of a ledger into an empty file below `directory`.

    Root reads with the rights of the source's owner, and writes with the rights of the
    owner of `directory`, even if the path of the copy leads elsewhere by now.
    """
    address = f"{source.absolute().as_uri()}?mode=rw"
    with as_owner(source.parent), closing(sqlite3.connect(address, uri=True)) as old:
        # Open all files of the ledger while the rights of its owner apply.
        old.execute("BEGIN")
        old.execute("SELECT count(*) FROM sqlite_master")
        with as_owner(directory), closing(sqlite3.connect(copy)) as new:
            old.backup(new)


def open_sqlite(path: Path) -> SqliteDatabase:
    """Return the database of a file, for commands that write no operation."""
    # The clock dates operations, so it is not needed.
    return SqliteDatabase(path, clock=lambda: 0)


def _refuse_moved(ledger: Ledger) -> None:
    """Raise MovedError if the ledger was moved.

    After the restore, both this ledger and the moved one could be served. Accepts a
    damaged ledger, whose mark cannot be read.
    """
    mark = None
    with suppress(RetryLaterError, StartError, sqlite3.Error):
        mark = read_mark(ledger.database)
    if mark is not None:
        raise MovedError(
            f"the ledger there was {mark[0]}; if that one is lost for good, run first:"
            f" {COMMAND} accept-rollback"
        )


def _check_place(path: Path, *, is_new: bool) -> None:
    """With `is_new`, raise OSError if a ledger exists; without it, if none exists.

    If a ledger is missing, its disk may not be mounted.
    """
    exists = bool(_existing_suffixes(path))
    if exists and is_new:
        raise OSError(EEXIST, "there is a ledger: restore without --new", str(path))
    if not exists and not is_new:
        raise OSError(
            ENOENT,
            "there is no ledger: set DATABASE_URL, mount its disk, or restore with"
            " --new",
            str(path.absolute()),
        )


def _refuse_existing(path: Path) -> None:
    if os.path.lexists(path):
        raise FileExistsError(EEXIST, "already exists", str(path))


def refuse_open(path: Path) -> None:
    """Raise an OSError if a connection holds a lock on the file."""
    with path.open("r+b") as file:
        try:
            fcntl.lockf(
                file, fcntl.LOCK_EX | fcntl.LOCK_NB, _SHARED_LOCK_BYTES, _SHARED_LOCK_AT
            )
        except OSError:
            raise OSError(EBUSY, IN_USE, str(path)) from None


def _set_aside(ledger: Path) -> Path | None:
    """Rename the files of a ledger; return its new path, or None if there are no files.

    The WAL is renamed first, even if it is the only file left: SQLite would write the
    content of an old WAL into the restored copy.
    """
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    new = f"{ledger}-replaced-{now}"
    suffixes = _existing_suffixes(ledger)
    for suffix in suffixes:
        Path(f"{ledger}{suffix}").rename(f"{new}{suffix}")
    return Path(new) if suffixes else None


def _existing_suffixes(ledger: Path) -> list[str]:
    """Return the suffixes of the files of a ledger that exist."""
    suffixes = ("-wal", "-shm", "")
    return [suffix for suffix in suffixes if os.path.lexists(f"{ledger}{suffix}")]
