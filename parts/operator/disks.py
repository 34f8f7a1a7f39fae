"""The findings of `deeds doctor` on the disk of an SQLite file, and on backups."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from time import time

from deeds.errors import RetryLaterError, StartError
from deeds.model import Operation
from deeds.part import Finding, Ledger
from deeds.settings import COMMAND
from storage.database import NO_OPERATION
from storage.files import as_owner, mount_of
from storage.repository import find_missing
from storage.sqlite import sqlite_path
from storage.sqlite_writer import one_line

# Space needed besides a second copy of the ledger, which `restore` makes. One address
# may mint that much in two hours, at the 30 mints of 256 KiB a minute that
# deploy/nginx.conf permits.
ROOM_BYTES = 2**30

# A ledger with its log, its lock and a restore are ten files.
FILES_MIN = 100

# SQLite overwrites its WAL from the start at 4 MB, unless a reader still uses it. The
# WAL gets this large if a query runs for a minute at 2,000 swaps a second.
WAL_BYTES_MAX = 2**30

_IN_MEMORY = {"ramfs", "tmpfs"}
# On these, SQLite's WAL index cannot be mapped into memory, or locks do not hold.
_NETWORK = {
    "9p",
    "afs",
    "ceph",
    "cifs",
    "fuse.glusterfs",
    "fuse.s3fs",
    "fuse.sshfs",
    "lustre",
    "nfs",
    "nfs4",
    "smb3",
    "smbfs",
}

# A day, and the time that a backup and its timer may take (docs/backups.md).
BACKUP_HOURS_MAX = 26

_READ_LAST = "SELECT id, created_at_ms FROM operations ORDER BY id DESC LIMIT 1"


def examine_disk(path: Path) -> Finding:
    """Return a finding on the disk of an SQLite file."""
    try:
        disk = os.statvfs(path.parent)
        ledger_bytes = _bytes_of(path)
        log_bytes = _bytes_of(Path(f"{path}-wal"))
    except OSError as error:
        reason = f"{path.parent.absolute()}: {error.strerror}"
        return Finding("unknown", "disk", reason)
    place, kind = mount_of(path.parent)
    free_bytes = disk.f_bavail * disk.f_frsize
    text = f"{_size(free_bytes)} free"
    if kind:
        text += f", {kind} at {place}"
    for problem in (
        _problem_of_type(kind),
        _problem_of_space(disk, free_bytes, ledger_bytes),
        _problem_of_log(log_bytes),
    ):
        if problem:
            return Finding("wrong", "disk", f"{text}: {problem}")
    if kind == "overlay":
        text += ": a container loses it with itself, unless it is a volume"
        return Finding("unknown", "disk", text)
    return Finding("ok", "disk", text)


def _problem_of_type(kind: str) -> str:
    if kind in _IN_MEMORY:
        return "the ledger is lost when the machine stops; move it to a disk"
    if kind in _NETWORK:
        return (
            "a network file system damages SQLite files; move the ledger to a local"
            " disk, or use PostgreSQL"
        )
    return ""


def _problem_of_space(
    disk: os.statvfs_result, free_bytes: int, ledger_bytes: int
) -> str:
    if disk.f_flag & os.ST_RDONLY:
        return "it is mounted read-only; see the log of the kernel, and mount it again"
    # A file system without a limit of files reports 0.
    if disk.f_files and disk.f_favail < FILES_MIN:
        return f"it takes {disk.f_favail} more files; delete others"
    needed_bytes = ROOM_BYTES + ledger_bytes
    if free_bytes < needed_bytes:
        return (
            f"a restore and a busy day need {_size(needed_bytes)}; make room, or move"
            " the ledger to a larger disk"
        )
    return ""


def _problem_of_log(log_bytes: int) -> str:
    if log_bytes <= WAL_BYTES_MAX:
        return ""
    return (
        f"the ledger's log, -wal, has {_size(log_bytes)}: something has been reading"
        " for long; end audits, backups and shells of sqlite3, and restart the service"
    )


@dataclass(frozen=True, slots=True)
class _Backup:
    """A backup. `size_before` is the size of the backup before it, 0 if there is none.

    `last` is the newest operation in the backup, if it is an SQLite file.
    """

    name: str
    hours: float
    size_bytes: int
    size_before: int
    last: Operation | None = None


def examine_backups(directory: Path | None, ledger: Ledger | None) -> Finding:
    """Return a finding on the newest backup in a directory."""
    if directory is None:
        return Finding("unknown", "backups", "name their directory: --backups DIR")
    path = None
    if ledger is not None and ledger.settings.database_url.startswith("sqlite"):
        path = sqlite_path(ledger.settings.database_url)
    try:
        with as_owner(directory):
            backup = _read_newest(directory, is_sqlite=path is not None)
        problem = _problem_of_backup(backup, ledger)
    except OSError as error:
        problem = f"{error.filename or directory}: {error.strerror}"
        return Finding("wrong", "backups", problem)
    except StartError as stop:
        return Finding("wrong", "backups", stop.reason)
    text = f"{backup.name}, {_size(backup.size_bytes)}, {backup.hours:.0f} h old"
    if problem:
        return Finding("wrong", "backups", f"{text}: {problem}")
    if backup.last is not None:
        text += f", up to operation {backup.last.id}"
    if path is not None and mount_of(directory) == mount_of(path.parent):
        text += "; on the ledger's disk, and lost with it: keep copies elsewhere"
    return Finding("ok", "backups", text)


def _read_newest(directory: Path, *, is_sqlite: bool) -> _Backup:
    """Return the newest file. For an SQLite ledger, prefer those named *.sqlite3.

    Raises OSError, or StartError if there is no file.
    """
    files = sorted(_files_in(directory), reverse=True)
    ledgers = [file for file in files if file[2].suffix == ".sqlite3"]
    # Other files may be encrypted backups, or no backups, such as lists of checksums.
    is_ledger = is_sqlite and bool(ledgers)
    if is_ledger:
        files = ledgers
    if not files:
        raise StartError(
            f"there is none in {directory.absolute()}; is its disk mounted, and does"
            " deeds-backup.timer run?"
        )
    modified_s, size_bytes, path = files[0]
    hours = (time() - modified_s) / 3600
    size_before = 0
    if len(files) > 1:
        _, size_before, _ = files[1]
    last = _last_operation(path) if is_ledger else None
    return _Backup(path.name, hours, size_bytes, size_before, last)


def _files_in(directory: Path) -> Iterator[tuple[float, int, Path]]:
    """Yield the time, size and path of each file; one may be deleted meanwhile."""
    for path in directory.iterdir():
        try:
            status = path.lstat()
        except FileNotFoundError:
            continue
        if S_ISREG(status.st_mode):
            yield status.st_mtime, status.st_size, path


def _last_operation(path: Path) -> Operation:
    """Return the newest operation of a backup; raise StartError if it is not one.

    A backup never changes, so it is read without locks or files beside it.
    """
    address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            row = connection.execute(_READ_LAST).fetchone()
    except sqlite3.Error as error:
        raise StartError(
            f"{path.absolute()} is no backup that can be restored ({one_line(error)});"
            f" make another one: {COMMAND} backup"
        ) from None
    return NO_OPERATION if row is None else Operation(*row)


def _problem_of_backup(backup: _Backup, ledger: Ledger | None) -> str:
    if backup.hours > BACKUP_HOURS_MAX:
        return (
            f"that is more than {BACKUP_HOURS_MAX} h; why was none made since? See:"
            " journalctl -u deeds-backup"
        )
    # Nothing is deleted from a ledger, but a dump may be compressed better than before.
    if backup.size_bytes * 2 < backup.size_before:
        return (
            f"the one before it has {_size(backup.size_before)}; was it broken off?"
            " Make another one"
        )
    if not backup.size_bytes:
        return "it is empty; make another one"
    if ledger is not None and backup.last is not None:
        return _problem_of_operation(backup.last, ledger)
    return ""


def _problem_of_operation(last: Operation, ledger: Ledger) -> str:
    """Return the problem of a backup of another ledger, else "".

    A ledger that cannot be read has a finding of its own.
    """
    with suppress(StartError, RetryLaterError):
        if last == NO_OPERATION or "operations" not in ledger.database.table_names():
            return ""
        if find_missing(ledger.database, [last]):
            return (
                f"the ledger lacks its operation {last.id}: it is of another ledger, or"
                " the ledger is an older copy; see docs/rollback.md"
            )
    return ""


def _bytes_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _size(count: int) -> str:
    """Return a number of bytes with its unit, such as "1.5 GB"."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
