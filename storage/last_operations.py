"""The operations that a process committed last, and whether the ledger was found without one.

A database loses the end of its history when a standby takes over that lagged, or when an older copy
is put in its place: as long as the operations committed last are there, so are all before them.
"""

import logging
import threading
from collections.abc import Collection
from datetime import UTC, datetime

from sqlalchemy import Connection, text

from deeds.domain.errors import LedgerRolledBackError, LedgerUnavailableError
from storage.mark_file import NO_OPERATION, Mark
from storage.statements import READ_OPERATION_TIMES

_log = logging.getLogger("deeds")

HOW_TO_ACCEPT = "flask --app app deeds accept-rollback"

_IS_IN_RECOVERY = text("SELECT pg_is_in_recovery()")


class MissingOperationError(Exception):
    """An operation that was committed is not in the ledger. Never leaves the storage."""

    def __init__(self, mark: Mark) -> None:
        super().__init__(mark.operation_id)
        self.mark = mark


class LastOperations:
    """What one process committed last. Any thread may call it."""

    def __init__(self, mark: Mark = NO_OPERATION, *, are_ids_in_order: bool) -> None:
        """Take the mark that the process started with, and whether ids are in order of commits."""
        self._are_ids_in_order = are_ids_in_order
        self._lock = threading.Lock()
        self._is_lost = False
        self.newest = mark
        # Several where commits overlapped: nobody knows which of them a database would lose first.
        self.marks: tuple[Mark, ...] = () if mark == NO_OPERATION else (mark,)

    def note(self, committed: Mark, predecessors: Collection[Mark]) -> None:
        """Take an operation whose commit was acknowledged, and those it was conditional on."""
        with self._lock:
            self.newest = max(self.newest, committed)
            if self._are_ids_in_order:
                self.marks = (self.newest,)
            else:
                kept = [each for each in self.marks if each not in predecessors]
                self.marks = (*kept, committed)

    def check_not_lost(self) -> None:
        """Raise `LedgerRolledBackError` if the ledger was found without one of them."""
        if self._is_lost:
            raise LedgerRolledBackError

    def report_lost(self, lost: Mark) -> None:
        """Let the process write no more, and log why, once."""
        with self._lock:
            if self._is_lost:
                return
            self._is_lost = True
        at = datetime.fromtimestamp(lost.created_at_ms / 1000, UTC)
        _log.error(
            "operation %d of %s was committed and is not in the ledger now: this is an older copy,"
            " or a standby that lagged has taken over, and secrets spent since are live again. This"
            " process writes no more. Put the right database there, or run: %s; then restart all"
            " processes",
            lost.operation_id,
            at.isoformat(timespec="milliseconds"),
            HOW_TO_ACCEPT,
            extra={"event": "ledger_rolled_back"},
        )


def check_there(connection: Connection, marks: Collection[Mark]) -> None:
    """Return if all of the operations are in the ledger, each with its time.

    Raises:
        MissingOperationError: one is not.
        LedgerUnavailableError: one is not, and the server is a standby, which may lag.
    """
    missing = _missing(connection, marks)
    if not missing:
        return
    if connection.dialect.name == "postgresql" and connection.scalar(_IS_IN_RECOVERY):
        raise LedgerUnavailableError("the database is a standby, which may lag")
    # Looked at again: it may have been a standby still, and no server becomes one again.
    if missing := _missing(connection, missing):
        raise MissingOperationError(max(missing))


def _missing(connection: Connection, marks: Collection[Mark]) -> set[Mark]:
    wanted = set(marks) - {NO_OPERATION}
    ids = [mark.operation_id for mark in wanted]
    rows = connection.execute(READ_OPERATION_TIMES, {"operation_ids": ids}) if ids else ()
    return wanted - {Mark(row.id, row.created_at_ms) for row in rows}
