"""Lets writers that wait for SQLite's one write lock share a transaction and its fsync.

Whoever finds nobody writing leads: it takes all works that wait, runs them one after the other and
commits once; only then is any of them answered. If one fails, all are undone and run once more,
each in a savepoint of its own. While one group is being committed, the next one gathers. First
come, first served.
"""

import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from deeds.domain.errors import LedgerInDoubtError, LedgerUnavailableError
from storage.failures import is_surely_undone, log_cause

Result = TypeVar("Result")

# Works in one transaction: more than a process has request threads.
GROUP_SIZE_MAX = 64


class _Ticket:
    """A work that waits for its group, and what came of it."""

    __slots__ = ("error", "gate", "is_done", "result", "work")

    def __init__(self, work: Callable[[Connection], Any]) -> None:
        self.work = work
        self.gate = threading.Event()
        self.is_done = False
        self.result: Any = None
        # Until the group is committed: whatever breaks off in between, nothing is called done.
        self.error: Exception | None = LedgerUnavailableError()


class GroupWriter:
    """Runs works on an SQLite engine in groups."""

    def __init__(self, engine: Engine, turn: Callable[[], AbstractContextManager[None]]) -> None:
        """Take an engine whose transactions begin as writers, and the turn among processes."""
        self._engine = engine
        self._turn = turn
        self._lock = threading.Lock()
        self._waiting: deque[_Ticket] = deque()
        self._is_led = False
        # Whoever leads uses it, and one leads at a time.
        self._connection: Connection | None = None

    def write(self, work: Callable[[Connection], Result]) -> Result:
        """Run the work, wait until its group is committed, and return its result.

        An exception of the work undoes that work alone.

        Raises:
            DBAPIError: the database refused; nothing of the work was kept.
            LedgerUnavailableError: the commit was refused; nothing of the work was kept.
            LedgerInDoubtError: it broke off while committing.
        """
        ticket = _Ticket(work)
        with self._lock:
            self._waiting.append(ticket)
            leads = not self._is_led
            self._is_led = True
        if not leads:
            ticket.gate.wait()
        if not ticket.is_done:
            self._lead()
        if ticket.error is not None:
            raise ticket.error
        return cast(Result, ticket.result)

    def close(self) -> None:
        """Give the connection back. Nobody may be writing, or write again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _lead(self) -> None:
        group: list[_Ticket] = []
        try:
            with self._turn(), self._lent() as connection:
                group = self._take_group()
                _commit(connection, group)
        except Exception as error:  # noqa: BLE001 - raised again in `write`
            group = group or self._take_group()
            _fail(group, error)
        finally:
            self._pass_on()
            for ticket in group:
                ticket.is_done = True
                ticket.gate.set()

    @contextmanager
    def _lent(self) -> Iterator[Connection]:
        """Lend the connection that groups use, or another one if the last group broke it.

        Fetching it from the pool for each group would cost a strong swap 6 % more.
        """
        connection, self._connection = self._connection or self._engine.connect(), None
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        if connection.invalidated:
            connection.close()
        else:
            self._connection = connection

    def _take_group(self) -> list[_Ticket]:
        """Return the works that wait; this thread's own waits longest, so it is the first."""
        with self._lock:
            count = min(len(self._waiting), GROUP_SIZE_MAX)
            return [self._waiting.popleft() for _ in range(count)]

    def _pass_on(self) -> None:
        """Let the work that waits longest lead the next group."""
        with self._lock:
            if self._waiting:
                self._waiting[0].gate.set()
            else:
                self._is_led = False


def _fail(group: list[_Ticket], error: Exception) -> None:
    if any(ticket.error is None for ticket in group):
        # The group is committed: it was the connection that failed to close.
        return
    # Nothing was kept, so what a work was told of the others is worth nothing either.
    for ticket in group:
        ticket.error = error


def _commit(connection: Connection, group: list[_Ticket]) -> None:
    transaction = connection.begin()
    kept = group
    if not _run_together(connection, group):
        transaction.rollback()
        transaction = connection.begin()
        kept = [ticket for ticket in group if _run(connection, ticket)]
    if not kept:
        transaction.rollback()
        return
    driver = _driver_of(connection)
    try:
        transaction.commit()
    except DBAPIError as error:
        log_cause(error)
        in_doubt = [] if is_surely_undone(error, driver) else kept
        # The transaction may still be open: close the connection and not lend it again.
        connection.invalidate()
        for ticket in group:
            ticket.error = LedgerInDoubtError() if ticket in in_doubt else LedgerUnavailableError()
    else:
        for ticket in kept:
            ticket.error = None


def _run_together(connection: Connection, group: list[_Ticket]) -> bool:
    """Run all works; tell whether none failed. A work that is alone raises what it raises.

    A savepoint for each from the start would make good works pay for bad ones.
    """
    try:
        for ticket in group:
            ticket.result = ticket.work(connection)
    except Exception:
        if len(group) == 1:
            raise
        return False
    return True


def _run(connection: Connection, ticket: _Ticket) -> bool:
    """Run one work in a savepoint; tell whether it is to be kept. A failure undoes it alone."""
    driver = _driver_of(connection)
    driver.execute("SAVEPOINT work")
    try:
        ticket.result = ticket.work(connection)
    except Exception as error:
        if not driver.in_transaction:
            # A full disk and its like: SQLite has undone the whole group.
            raise
        ticket.error = error
        driver.execute("ROLLBACK TO work")
        driver.execute("RELEASE work")
        return False
    driver.execute("RELEASE work")
    return True


def _driver_of(connection: Connection) -> sqlite3.Connection:
    return cast(sqlite3.Connection, connection.connection.driver_connection)
