"""Copies of a ledger on SQLite.

Taken while it is served, and put back while it is not.
"""

import fcntl
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from errno import EBUSY, EEXIST
from pathlib import Path

from sqlalchemy import Engine

from deeds.domain.errors import StartError
from storage.checkpoint import (
    Checkpoint,
    CheckpointFile,
    raise_checkpoint,
    read_newest,
)
from storage.engine import make_engine
from storage.schema import migrate, one_process
from storage.sqlite_file import flush, has_content, make_directory, open_for_owner

# Where each connection in WAL mode holds a read lock: www.sqlite.org/lockingv3.html.
_SHARED_LOCK_AT = 0x40000002
_SHARED_LOCK_BYTES = 510

# Called with a copy before it is used; raises to refuse it.
Inspect = Callable[[Engine], None]


def back_up(engine: Engine, path: Path, inspect: Inspect) -> Checkpoint:
    """Copy the ledger to a file that is not there yet, and return its newest operation.

    The copy is one state of the ledger. It appears under its name once it is whole,
    inspected and on disk. Raises FileExistsError, another OSError or sqlite3.Error.
    """
    _refuse_existing(path)
    with _copied(engine, Path(str(engine.url.database)), path, inspect) as (
        copy,
        newest,
    ):
        _refuse_existing(path)
        copy.rename(path)
        flush(path.parent)
    return newest


def restore(
    engine: Engine, file: CheckpointFile, path: Path, inspect: Inspect
) -> tuple[Checkpoint, Path | None]:
    """Put a copy in the place of the ledger, which is kept under another name.

    The checkpoint is raised to what the ledger had reached, and never lowered. Returns
    the copy's newest operation, and where the replaced ledger is now, if there was one.
    Raises OSError, also where it is in use, StartError where the copy holds no ledger,
    or sqlite3.Error.
    """
    ledger = Path(str(engine.url.database))
    make_directory(ledger.parent)
    # A service that is being started waits, and then opens the copy.
    with _copied(engine, path, ledger, inspect) as (copy, newest), one_process(engine):
        if has_content(ledger):
            # Where it is damaged or behind the checkpoint, there is nothing to keep.
            with suppress(StartError):
                raise_checkpoint(engine, file)
            engine.dispose()
            _refuse_open(ledger)
        replaced = _set_aside(ledger)
        # Root restores, another user serves.
        os.close(open_for_owner(copy, os.O_RDONLY, ledger.parent))
        copy.rename(ledger)
        flush(ledger.parent)
    return newest, replaced


@contextmanager
def _copied(
    engine: Engine, source: Path, target: Path, inspect: Inspect
) -> Iterator[tuple[Path, Checkpoint]]:
    """Yield a copy that is inspected and on disk, and its newest operation.

    It lies beside the target, under a name of its own, and what is left of it is
    deleted.
    """
    directory = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=target.parent))
    try:
        copy = directory / target.name
        os.close(os.open(copy, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        address = f"{source.absolute().as_uri()}?mode=rw"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            connection.execute("VACUUM INTO ?", [str(copy)])
        copied = make_engine(engine.url.set(database=str(copy)))
        try:
            before, _ = migrate(copied)
            if before is None:
                raise StartError("there is no ledger in it")
            inspect(copied)
            newest = read_newest(copied)
        finally:
            copied.dispose()
        with closing(sqlite3.connect(copy)) as connection:
            # Leaving WAL mode writes the log into the file and deletes it.
            connection.execute("PRAGMA journal_mode = DELETE")
        flush(copy)
        yield copy, newest
    finally:
        shutil.rmtree(directory)


def _refuse_existing(path: Path) -> None:
    if os.path.lexists(path):
        raise FileExistsError(EEXIST, "already exists", str(path))


def _refuse_open(path: Path) -> None:
    """Raise an OSError if a connection holds a lock on the file."""
    with path.open("r+b") as file:
        try:
            fcntl.lockf(
                file, fcntl.LOCK_EX | fcntl.LOCK_NB, _SHARED_LOCK_BYTES, _SHARED_LOCK_AT
            )
        except OSError:
            raise OSError(
                EBUSY, "it is in use: stop the service first", str(path)
            ) from None


def _set_aside(ledger: Path) -> Path | None:
    """Give what there is of a ledger another name, which is returned.

    Its log first, even where nothing else is left of it: SQLite would write it into the
    copy.
    """
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    replaced = Path(f"{ledger}-replaced-{now}")
    moved_count = 0
    for suffix in ("-wal", "-shm", ""):
        with suppress(FileNotFoundError):
            Path(f"{ledger}{suffix}").rename(f"{replaced}{suffix}")
            moved_count += 1
    return replaced if moved_count else None
