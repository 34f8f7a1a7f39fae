"""A connection pool that retries failed uses if that may help.

psycopg_pool is not used, because it connects in threads of its own. A request would
wait for its timeout without learning why no connection can be made, and after an outage
the pool may wait as long again before it retries. Here the request's thread connects.
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

# Default number of connections of all processes together. Four connections keep each of
# two processes busy, even if the database is a millisecond away. With more, more swaps
# run at once but not per second, because they wait for the CPU instead.
POOL_SIZE = 8

POOL_TIMEOUT_S = 2.0

# A connection that was idle for longer is closed at the next use of the pool. The
# server would close it later (IDLE_TIMEOUT), so no request gets a connection that is
# just being closed.
IDLE_SECONDS_MAX = 15.0

# Reasons of retries.
CONFLICT, DISCONNECT = "conflict", "disconnect"

# Maximum number of tries, by reason. A conflict is temporary; after ten, the database
# is too busy for a client to wait. A connection that died while it was idle is replaced
# once; if the new one fails too, the database is unreachable.
TRIES_MAX = {CONFLICT: 10, DISCONNECT: 2}


class Pool:
    """A pool of at most `size` connections. Thread-safe.

    Waiting threads are served in order of arrival. The connection used last is reused
    first, because it has the warmest caches, and so that in quiet times the others stay
    idle and are closed.
    """

    def __init__(
        self,
        connect: Callable[[], BoundedConnection],
        size: int,
        last_operations: LastOperations,
        failures: Failures,
        on_retry: Callable[[str], None] | None = None,
    ) -> None:
        """Create the pool. `connect` runs in the thread that needs a connection.

        `on_retry` is called with a key of `TRIES_MAX`.
        """
        self.connect = connect
        self._last_operations = last_operations
        self._failures = failures
        self._on_retry = on_retry
        self._lock = threading.Lock()
        self._unused_count = size
        self._waiting: deque[threading.Event] = deque()
        # Idle connections, longest idle first. `close` begins a new list, so that
        # connections in use are not returned to the old one.
        self._idle: list[BoundedConnection] = []

    def run(
        self,
        use: Callable[[BoundedConnection], Result],
        seconds_max: float,
        *,
        is_first: bool = False,
    ) -> Result:
        """Return the result of `use`, called with a connection, perhaps more than once.

        `seconds_max` limits all tries together. With `is_first` this call gets the next
        connection, ahead of waiting ones. A transaction that `use` leaves open is
        rolled back. Raises what `use` raises, OverloadedError if no connection becomes
        free within POOL_TIMEOUT_S, and LedgerUnavailableError if the database does not
        respond.
        """
        deadline_s = monotonic() + seconds_max
        tries_count = 0
        while True:
            tries_count += 1
            connection = None
            try:
                with self._connection(is_first=is_first) as connection:
                    connection.set_deadline(deadline_s)
                    self._last_operations.check_if_new(connection)
                    return use(connection)
            except (psycopg.Error, ConflictError) as error:
                self._last_operations.put_off_verdict()
                reason = None
                if connection is not None and connection.closed:
                    # The cause has probably ended the idle connections too.
                    self.close()
                    reason = DISCONNECT
                elif isinstance(error, CONFLICTS):
                    reason = CONFLICT
                # If the database hangs, another try would take as long again.
                is_late = monotonic() >= deadline_s - seconds_max / 2
                if reason is None or tries_count >= TRIES_MAX[reason] or is_late:
                    raise self._failures.translate(error) from None
            if self._on_retry is not None:
                self._on_retry(reason)

    def close(self) -> None:
        """Close idle connections now, and those in use when they come back.

        The next use opens new ones.
        """
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def _connection(self, *, is_first: bool) -> Iterator[BoundedConnection]:
        self._wait_for_turn(is_first=is_first)
        try:
            self._close_stale()
            with self._lock:
                idle = self._idle
                connection = idle.pop() if idle else None
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
        """Let the first waiting threads continue while connections are left."""
        while self._unused_count and self._waiting:
            self._unused_count -= 1
            self._waiting.popleft().set()

    def _close_stale(self) -> None:
        """Close the connections that were idle for too long."""
        since_s = monotonic() - IDLE_SECONDS_MAX
        stale = []
        with self._lock:
            while self._idle and self._idle[0].idle_since_s < since_s:
                stale.append(self._idle.pop(0))
        for connection in stale:
            connection.close()

    def _give_back(
        self, connection: BoundedConnection, idle: list[BoundedConnection]
    ) -> None:
        connection.set_deadline(0.0)
        # If no transaction is open, psycopg sends nothing to the server.
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
    """Return the number of connections of a process; raise StartError if it is 0."""
    pool_size = pool_size or max(POOL_SIZE, processes_count)
    if pool_size < processes_count:
        raise StartError(
            f"DEEDS_POOL_SIZE is {pool_size}, and each of {processes_count} processes"
            " needs a connection; raise it, or lower WEB_CONCURRENCY"
        )
    return pool_size // processes_count
