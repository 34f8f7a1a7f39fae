"""Connections that are kept, and their uses: tried again where that may help.

psycopg_pool is not used: it connects in threads of its own, so that a request waits for
its timeout and never learns why no connection can be made, and after an outage it may
wait as long again before it tries. Here a request connects by itself.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TypeVar

import psycopg
from psycopg.pq import TransactionStatus

from deeds.errors import OverloadedError, StartError
from parts.postgresql.connections import BoundedConnection
from parts.postgresql.failures import CONFLICTS, Failures
from parts.postgresql.last_operations import LastOperations
from storage.database import ConflictError

Result = TypeVar("Result")

# Connections of all processes of a service. Two processes are kept busy by four each,
# also with a database that is a millisecond away: with more of them more swaps are
# under way at once, not more in a second, because they wait for the processor instead.
POOL_SIZE = 8

POOL_TIMEOUT_S = 2.0

# A connection that was idle for longer is closed at the next use of the pool. That is
# well before the server would do it (IDLE_TIMEOUT), so that no request meets a
# connection that is just being closed.
IDLE_SECONDS_MAX = 15.0

# Reasons to try again.
CONFLICT, DISCONNECT = "conflict", "disconnect"

# Tries by what ended the one before. A conflict passes; after ten the database is
# busier than any client should wait for. A connection that died while it was idle is
# replaced once; if the next one fails too, the database is away.
TRIES_MAX = {CONFLICT: 10, DISCONNECT: 2}


class Pool:
    """At most `size` connections, kept while they are used. Any thread may use it.

    Threads that wait get them in the order in which they came. The connection used last
    is used first: it is the warmest, and those that a quiet time leaves over become
    idle and are closed.
    """

    def __init__(
        self,
        connect: Callable[[], BoundedConnection],
        size: int,
        last: LastOperations,
        failures: Failures,
        on_retry: Callable[[str], None] | None = None,
    ) -> None:
        """Create it; `connect` is called in the thread that needs a connection.

        `on_retry` is called with a key of `TRIES_MAX`.
        """
        self.connect = connect
        self._last = last
        self._failures = failures
        self._on_retry = on_retry
        self._lock = threading.Lock()
        self._unused_count = size
        self._waiting: deque[threading.Event] = deque()
        # The one that is idle for longest comes first. A close begins another list: no
        # connection comes back to the one before.
        self._idle: list[BoundedConnection] = []

    def run(
        self,
        use: Callable[[BoundedConnection], Result],
        seconds_max: float,
        *,
        is_first: bool = False,
    ) -> Result:
        """Return what `use` returns for a connection; it may be called again.

        `seconds_max` is for all tries. With `is_first` it is the next to get a
        connection. A transaction that `use` leaves open is rolled back. Raises what
        `use` raises, OverloadedError where all connections are in use for too long, and
        LedgerUnavailableError where the database does not answer.
        """
        deadline_s = monotonic() + seconds_max
        tries_count = 0
        while True:
            tries_count += 1
            connection = None
            try:
                with self._connection(is_first=is_first) as connection:
                    connection.set_deadline(deadline_s)
                    self._last.look_if_new(connection)
                    return use(connection)
            except (psycopg.Error, ConflictError) as error:
                self._last.put_off_verdict()
                reason = None
                if connection is not None and connection.closed:
                    # What ended this one has ended others.
                    self.close()
                    reason = DISCONNECT
                elif isinstance(error, CONFLICTS):
                    reason = CONFLICT
                # Another try would take as long again where the database hangs.
                is_late = monotonic() >= deadline_s - seconds_max / 2
                if reason is None or tries_count >= TRIES_MAX[reason] or is_late:
                    raise self._failures.translate(error) from None
            if self._on_retry is not None:
                self._on_retry(reason)

    def close(self) -> None:
        """Close idle connections now, and those in use when they come back.

        The next use opens others.
        """
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def _connection(self, *, is_first: bool) -> Iterator[BoundedConnection]:
        self._wait_for_turn(is_first=is_first)
        try:
            with self._lock:
                idle = self._idle
                stale = self._remove_stale()
                connection = idle.pop() if idle else None
            for each in stale:
                each.close()
            if connection is None:
                connection = self.connect()
            try:
                yield connection
            finally:
                self._give_back(connection, idle)
        finally:
            with self._lock:
                self._unused_count += 1
                self._admit()

    def _wait_for_turn(self, *, is_first: bool) -> None:
        turn = threading.Event()
        with self._lock:
            if is_first:
                self._waiting.appendleft(turn)
            else:
                self._waiting.append(turn)
            self._admit()
        if turn.wait(POOL_TIMEOUT_S):
            return
        with self._lock:
            if not turn.is_set():
                self._waiting.remove(turn)
                raise OverloadedError("too many requests are waiting for the database")

    def _admit(self) -> None:
        """Let the first go on, where there are connections left."""
        while self._unused_count and self._waiting:
            self._unused_count -= 1
            self._waiting.popleft().set()

    def _remove_stale(self) -> list[BoundedConnection]:
        """Remove and return those that are idle for too long."""
        since_s = monotonic() - IDLE_SECONDS_MAX
        stale = [each for each in self._idle if each.idle_since_s < since_s]
        del self._idle[: len(stale)]
        return stale

    def _give_back(
        self, connection: BoundedConnection, idle: list[BoundedConnection]
    ) -> None:
        connection.set_deadline(0.0)
        # Where no transaction is open, psycopg asks the server for nothing.
        with suppress(psycopg.Error):
            connection.rollback()
        is_clean = connection.info.transaction_status == TransactionStatus.IDLE
        with self._lock:
            if is_clean and idle is self._idle:
                connection.idle_since_s = monotonic()
                idle.append(connection)
                return
        connection.close()


def share_of(pool_size: int, processes_count: int) -> int:
    """Return how many connections are for each process, at least 1."""
    pool_size = pool_size or max(POOL_SIZE, processes_count)
    if pool_size < processes_count:
        raise StartError(
            f"DEEDS_POOL_SIZE is {pool_size}, and each of {processes_count} processes"
            " needs a connection; raise it, or lower WEB_CONCURRENCY"
        )
    return pool_size // processes_count
