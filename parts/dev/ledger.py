"""The ledger file of `deeds dev`. Only a file with its mark is ever deleted."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from deeds.errors import StartError
from storage.files import has_content, open_file

# SQLite's application_id, and its place in the file ("Database File Format", 1.3.16).
_MARK = b"ddev"
_MARK_PLACE = slice(68, 72)

_CHECKPOINT = "-checkpoint"
# The checkpoint is deleted first, because the service refuses to start if there is a
# checkpoint without a ledger.
_SUFFIXES = (_CHECKPOINT, f"{_CHECKPOINT}-lock", "", "-wal", "-shm", "-lock")


def checkpoint_of(path: Path) -> str:
    """Return where the checkpoint file of a ledger is."""
    return f"{path}{_CHECKPOINT}"


def prepare_file(path: Path) -> None:
    """Create a file with the mark, unless there is one.

    Raises StartError if the existing file does not have the mark.
    """
    try:
        if has_content(path):
            with path.open("rb") as file:
                mark = file.read(_MARK_PLACE.stop)[_MARK_PLACE]
            if mark != _MARK:
                raise StartError(f"{path} was not made by deeds dev: name another file")
            return
        _create_file(path)
    except OSError as error:
        raise StartError(f"{path}: {error.strerror}") from None


def _create_file(path: Path) -> None:
    """Create a file with the mark and without tables; raise OSError."""
    os.close(open_file(path, os.O_RDWR | os.O_CREAT))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA application_id = {int.from_bytes(_MARK)}")


def clear_file(path: Path) -> None:
    """Replace a ledger that `prepare_file` accepted and nobody uses by an empty one."""
    for suffix in _SUFFIXES:
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    _create_file(path)
