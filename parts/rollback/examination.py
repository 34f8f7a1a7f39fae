"""The findings of `deeds doctor` on the checkpoint file."""

from collections.abc import Iterator
from time import time

from deeds.errors import RetryLaterError, StartError
from deeds.model import Operation
from deeds.part import Finding, Ledger
from parts.rollback.checkpoint import (
    CheckpointFile,
    RollbackError,
    check_ledger_exists,
    check_present,
    checkpoint_file,
)
from storage.database import NO_OPERATION
from storage.files import as_owner, mount_of, reason_unwritable
from storage.repository import read_last_operation
from storage.sqlite import sqlite_path

_SUBJECT = "checkpoint"

# The service raises the checkpoint once a second; a busy disk may take longer.
BEHIND_SECONDS_MAX = 60

_READ_NEXT_TIME = """
    SELECT created_at_ms FROM operations WHERE id > ? ORDER BY id LIMIT 1
"""


def examine(ledger: Ledger) -> Iterator[Finding]:
    """Yield a finding on the checkpoint file and the ledger, compared."""
    file = checkpoint_file(ledger.settings)
    if file is None:
        yield Finding(
            "unknown",
            _SUBJECT,
            "DEEDS_CHECKPOINT_FILE is not set, so an older copy of the ledger is not"
            " noticed at a start; name a file on a disk that is kept",
        )
        return
    try:
        problem = _problem_of_place(ledger, file)
        operation = file.read()
    except OSError as error:
        problem = file.unusable(error).reason
    except StartError as stop:
        problem = stop.reason
    if problem:
        yield Finding("wrong", _SUBJECT, problem)
        return
    try:
        yield _compare(ledger, file, operation)
    except RollbackError as error:
        yield Finding("wrong", _SUBJECT, error.reason)
    except (StartError, RetryLaterError):
        text = f"{file.path.absolute()}, operation {operation.id}"
        yield Finding("unknown", _SUBJECT, f"{text}; the ledger cannot be read")


def _problem_of_place(ledger: Ledger, file: CheckpointFile) -> str:
    """Return why the file cannot be written, or is on the ledger's disk; else ""."""
    directory = file.path.parent.absolute()
    with as_owner(directory):
        reason = reason_unwritable(directory)
        if not reason and not directory.is_dir():
            reason = (
                f"there is no directory {directory}; mount its disk, or make it for the"
                " user of the service"
            )
    if reason:
        return f"DEEDS_CHECKPOINT_FILE: {reason}"
    if not _is_sqlite(ledger):
        return ""
    place, _ = disk = mount_of(sqlite_path(ledger.settings.database_url).parent)
    # The root file system is always mounted.
    if place not in {"", "/"} and mount_of(directory) == disk:
        return (
            f"{file.path.absolute()} is on the disk of the ledger, {place}: where that"
            " is not mounted, an empty ledger is begun; set DEEDS_CHECKPOINT_FILE to a"
            " file on another disk"
        )
    return ""


def _compare(ledger: Ledger, file: CheckpointFile, operation: Operation) -> Finding:
    """Compare the file with the ledger; raise StartError or RetryLaterError."""
    path = file.path.absolute()
    check_ledger_exists(ledger.database, file)
    if "operations" not in ledger.database.table_names():
        return Finding("ok", _SUBJECT, f"{path}, for a ledger that is not there yet")
    check_present(ledger.database, [operation])
    last = read_last_operation(ledger.database)
    # On PostgreSQL each machine has a file, which is raised by its own writes only.
    is_raised_by_others = not _is_sqlite(ledger) and operation != NO_OPERATION
    if not is_raised_by_others and _is_behind(ledger, operation):
        state = f"names operation {operation.id}" if operation.id else "is not there"
        return Finding(
            "wrong",
            _SUBJECT,
            f"{path} {state}, and the ledger went on since, to {last.id}; is it set for"
            " the service too? If that cannot write it, its log has"
            " checkpoint_unwritten; a start raises it",
        )
    return Finding("ok", _SUBJECT, f"{path}, operation {operation.id} of {last.id}")


def _is_behind(ledger: Ledger, operation: Operation) -> bool:
    """Return whether the file lacks an operation older than BEHIND_SECONDS_MAX."""
    rows = ledger.database.read(_READ_NEXT_TIME, [operation.id])
    return bool(rows) and rows[0][0] < (time() - BEHIND_SECONDS_MAX) * 1000


def _is_sqlite(ledger: Ledger) -> bool:
    return ledger.settings.database_url.startswith("sqlite")
