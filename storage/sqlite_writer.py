"""Writes to an SQLite ledger: threads share commits, processes take turns.

SQLite has one writer at a time, and each commit waits for an fsync. Threads that wait
to write therefore share one transaction. SQLite's own lock keeps processes apart, but
those that wait for it sleep up to 100 ms between tries, while the process that has just
written takes it again: with two processes the p99 of a swap was 119 ms without turns
and is 15 ms with them (decision 0007).
"""

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from sqlalchemy import URL, Connection, Engine
from sqlalchemy.exc import DBAPIError

from deeds.domain.errors import (
    IdempotencyKeyTakenError,
    LedgerInDoubtError,
    LedgerUnavailableError,
)
from storage.checkpoint import NO_OPERATION, Checkpoint
from storage.driver import CauseLog, code_of
from storage.operations import Record, write_record
from storage.sqlite_file import locked, open_for_owner

# How long a writer of another process may hold the lock before we answer 503.
BUSY_TIMEOUT_S = 5.0

# SQLite writes the pages of a commit to its log one after the other, and the last one
# makes it valid. Where a write was refused, the last one is not there: not even a crash
# brings it back. After a failed fsync it may be there: like any other failure, that one
# leaves a commit in doubt.
_REFUSED_WRITE_CODES = {"SQLITE_FULL", "SQLITE_IOERR_WRITE"}


class ProcessLock:
    """A fair lock between the processes that write an SQLite ledger.

    One thread of each uses it. A process waits for the writer's lock while it holds
    that of the next one, so the process that has just written cannot overtake it. The
    files are empty, and a process that dies holds nothing.
    """

    def __init__(self, url: URL, timeout_s: float = BUSY_TIMEOUT_S) -> None:
        """Create the lock of the ledger at a URL; its files are opened by first use."""
        self._timeout_s = timeout_s
        self._path = url.database
        self._files: tuple[int, int] | None = None

    def open(self) -> tuple[int, int]:
        """Open the files beside the ledger, creating them if needed; raise OSError.

        A descriptor that is carried across a fork would share its lock.
        """
        if self._files is None:
            flags = os.O_RDWR | os.O_CREAT
            writer = open_for_owner(Path(f"{self._path}-lock"), flags)
            try:
                following = open_for_owner(Path(f"{self._path}-next-lock"), flags)
            except OSError:
                os.close(writer)
                raise
            self._files = writer, following
        return self._files

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Keep the turn of this process within the block.

        Raises LedgerUnavailableError.
        """
        deadline_s = monotonic() + self._timeout_s
        with ExitStack() as held:
            try:
                writer, following = self.open()
                with locked(following, deadline_s):
                    held.enter_context(locked(writer, deadline_s))
            except OSError:
                raise LedgerUnavailableError from None
            yield

    def close(self) -> None:
        """Close the files, which releases their locks; the next use opens them."""
        for file in self._files or ():
            os.close(file)
        self._files = None


@dataclass(slots=True, eq=False)
class _Ticket:
    """One thread's record, and the operation once the group is committed."""

    record: Record
    # Set when the record is written, or when its thread is to lead the next group.
    gate: threading.Event = field(default_factory=threading.Event)
    is_done: bool = False
    # Set only after COMMIT.
    is_kept: bool = False
    made: Checkpoint = NO_OPERATION
    error: Exception | None = None


class SqliteWriter:
    """Writes records to an SQLite ledger in groups: one transaction, one fsync.

    A thread that finds no other writing leads: it writes all records that wait, first
    come, first served, and commits once, while the next group gathers. Where one of
    several fails, all are rolled back and written once more, each in a savepoint of its
    own.
    """

    def __init__(self, engine: Engine, lock: ProcessLock, causes: CauseLog) -> None:
        """Create a writer on an engine whose transactions begin as writers."""
        self._process_lock = lock
        self._causes = causes
        self._lock = threading.Lock()
        self._waiting: list[_Ticket] = []
        self._is_led = False
        self._engine = engine
        # Only the leader uses it. Fetching one for each group would cost a strong swap
        # 6 % more.
        self._connection: Connection | None = None

    def write_in_group(self, record: Record) -> Checkpoint:
        """Write the record, and return the operation once its group is committed.

        As `Transactions.write`; LedgerUnavailableError says that another one of the
        group was refused, and this one with it.
        """
        ticket = _Ticket(record)
        with self._lock:
            self._waiting.append(ticket)
            leads = not self._is_led
            self._is_led = True
        if not leads:
            ticket.gate.wait()
        if not ticket.is_done:
            self._lead()
        if not ticket.is_kept:
            raise ticket.error or LedgerUnavailableError
        return ticket.made

    def close(self) -> None:
        """Close the connection and the lock; the next write opens them.

        No thread may be writing.
        """
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._process_lock.close()

    def _lead(self) -> None:
        group: list[_Ticket] = []
        try:
            with self._process_lock.turn():
                group = self._take_waiting()
                self._commit(group)
        except Exception as error:  # noqa: BLE001 - raised again in `write`
            group = group or self._take_waiting()
            # Drop errors of the rolled-back attempt: they may be stale. The leader's
            # ticket is the first.
            for ticket in group:
                ticket.error = None
            group[0].error = error
            self._reconnect()
        finally:
            self._pass_on()
            for ticket in group:
                ticket.is_done = True
                ticket.gate.set()

    def _take_waiting(self) -> list[_Ticket]:
        with self._lock:
            group, self._waiting = self._waiting, []
        return group

    def _pass_on(self) -> None:
        """Let the thread that waits longest lead the next group."""
        with self._lock:
            if self._waiting:
                self._waiting[0].gate.set()
            else:
                self._is_led = False

    def _commit(self, group: list[_Ticket]) -> None:
        """Write the records and commit those that succeed.

        Raises only where nothing was kept.
        """
        if self._connection is None:
            self._connection = self._engine.connect()
        connection = self._connection
        connection.begin()
        kept = _run(connection, group)
        if not kept:
            connection.rollback()
            return
        driver: Any = connection.connection.driver_connection
        try:
            connection.commit()
        except DBAPIError as error:
            # A transaction that is still open was refused before anything was written.
            if driver.in_transaction or code_of(error) in _REFUSED_WRITE_CODES:
                raise
            self._causes.log(error)
            for ticket in group:
                # One whose key was taken may have met an operation of this group.
                is_twin = isinstance(ticket.error, IdempotencyKeyTakenError)
                is_in_doubt = is_twin or ticket in kept
                ticket.error = LedgerInDoubtError() if is_in_doubt else None
            self._reconnect()
        else:
            for ticket in kept:
                ticket.is_kept = True

    def _reconnect(self) -> None:
        """Let the next group have a new connection, whatever became of this one."""
        if self._connection is not None:
            self._connection.invalidate()
            self._connection.rollback()


def _run(connection: Connection, group: list[_Ticket]) -> list[_Ticket]:
    """Write all records; return those that succeeded."""
    try:
        for ticket in group:
            ticket.made = write_record(connection, ticket.record)
    except Exception as error:  # noqa: BLE001 - raised again in `write`
        if len(group) == 1:
            group[0].error = error
            return []
        # A savepoint for each from the start would make good ones pay for bad ones.
        connection.rollback()
        connection.begin()
        return [ticket for ticket in group if _run_alone(connection, ticket)]
    return group


def _run_alone(connection: Connection, ticket: _Ticket) -> bool:
    """Write one record; return whether it succeeded. A failure undoes it alone."""
    savepoint = connection.begin_nested()
    try:
        ticket.made = write_record(connection, ticket.record)
    except Exception as error:
        driver: Any = connection.connection.driver_connection
        if not driver.in_transaction:
            # A full disk and its like: SQLite has undone the whole group.
            raise
        savepoint.rollback()
        ticket.error = error
    else:
        savepoint.commit()
    return ticket.error is None
