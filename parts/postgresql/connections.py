"""Connections to PostgreSQL: their deadlines, how they begin, and where they are kept.

psycopg_pool is not used: it connects in threads of its own, so that a request waits for
its timeout and never learns why no connection can be made, and after an outage it may
wait as long again before it tries. Here a request connects by itself.
"""

import re
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from deeds.errors import OverloadedError, StartError
from parts.postgresql.url import PREPARE_THRESHOLD

# For what a new connection is asked before it is used.
SET_UP_SECONDS_MAX = 3.0

# A new connection may have led past a host that hangs; then it has at least so long.
USE_SECONDS_MIN = 1.0

POOL_TIMEOUT_S = 2.0

# Our statements take milliseconds: one that takes this long waits for something that is
# not coming. A server that can still say so does before the connection is given up.
STATEMENT_TIMEOUT = "9s"

# What `version()` names where PostgreSQL's protocol is spoken and another database
# answers: one whose ids or unique keys the ledger cannot rely on (docs/performance.md).
_NOT_POSTGRESQL = re.compile("CockroachDB|Greenplum|-YB-")

# Bounds reads, unless the database or its role does.
_BOUND_STATEMENTS = f"""
    SELECT set_config('statement_timeout', '{STATEMENT_TIMEOUT}', false)
    WHERE current_setting('statement_timeout') = '0'
"""

_IN_TRANSACTION = {TransactionStatus.INTRANS, TransactionStatus.INERROR}


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that waits for no answer longer than its deadline.

    A server that hangs acknowledges what is sent and answers nothing, so that neither
    libpq nor its own timeouts notice.
    """

    # How many doubts there had been when its server was seen to have the last
    # operations (parts.postgresql.last_operations); None before.
    doubts_count: int | None = None

    def __init__(self, *args: Any) -> None:
        """Create what psycopg has connected; the first answers have a deadline too."""
        super().__init__(*args)
        # By `monotonic()`; `inf` is no deadline.
        self.deadline_s = monotonic() + SET_UP_SECONDS_MAX
        # That of a COMMIT, once a transaction comes to it.
        self.commit_deadline_s = self.deadline_s

    def set_deadline(self, deadline_s: float) -> None:
        """Set until when the server may answer, but leave it a second."""
        self.deadline_s = max(deadline_s, monotonic() + USE_SECONDS_MIN)

    def wait(
        self, gen: Any, interval: float = 0.1, timeout: float | None = None
    ) -> Any:
        """Return the answer; raise OperationalError, and end, at the deadline."""
        try:
            return super().wait(gen, interval, self.deadline_s - monotonic())
        finally:
            # A late answer is not used either: another server may be the primary now.
            if monotonic() >= self.deadline_s:
                self.pgconn.finish()
                raise psycopg.OperationalError("the server did not answer in time")


def connect(options: Mapping[str, Any]) -> BoundedConnection:
    """Open a connection to a server that can hold the ledger.

    Raises psycopg.Error, or StartError where the server is the wrong one.
    """
    connection = BoundedConnection.connect(autocommit=True, **options)
    try:
        _prepare_session(connection, options)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare_session(connection: BoundedConnection, options: Mapping[str, Any]) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        # Metadata may be any Unicode text.
        raise StartError(
            f"DATABASE_URL: the database's encoding is {encoding}; it must be UTF8"
        )
    [(version, process_id)] = connection.execute("SELECT version(), pg_backend_pid()")
    if _NOT_POSTGRESQL.search(version):
        raise StartError(
            f"DATABASE_URL: the ledger needs PostgreSQL itself, and this is {version}"
        )
    # A pooler makes up the process id that it tells at the start of a session. Behind
    # one nothing is kept in a session: the next transaction may get another one.
    if process_id == connection.info.backend_pid:
        connection.execute(_BOUND_STATEMENTS.encode())
    elif PREPARE_THRESHOLD not in options:
        connection.prepare_threshold = None


class Pool:
    """At most `size` connections, which are kept open. Any thread may use it.

    Threads that wait get them in the order in which they came. The connection used last
    is used first: it is the warmest, and those that a quiet time leaves over are left
    alone.
    """

    def __init__(self, connect: Callable[[], BoundedConnection], size: int) -> None:
        """Create it; `connect` is called in the thread that needs a connection."""
        self._connect = connect
        self._lock = threading.Lock()
        self._unused_count = size
        self._waiting: deque[threading.Event] = deque()
        self._idle: list[BoundedConnection] = []
        # How often it was closed: what was opened before is not kept.
        self._generation = 0

    @contextmanager
    def connection(self) -> Iterator[BoundedConnection]:
        """Yield a connection; raise OverloadedError where all are in use for too long.

        A transaction that is left open is rolled back.
        """
        self._wait_for_turn()
        try:
            with self._lock:
                generation = self._generation
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                connection = self._connect()
            try:
                yield connection
            finally:
                self._give_back(connection, generation)
        finally:
            with self._lock:
                self._unused_count += 1
                self._admit()

    def close(self) -> None:
        """Close idle connections now, and those in use when they come back.

        The next use opens others.
        """
        with self._lock:
            self._generation += 1
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _wait_for_turn(self) -> None:
        turn = threading.Event()
        with self._lock:
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

    def _give_back(self, connection: BoundedConnection, generation: int) -> None:
        if connection.info.transaction_status in _IN_TRANSACTION:
            connection.set_deadline(0.0)
            with suppress(psycopg.Error):
                connection.rollback()
        is_clean = connection.info.transaction_status == TransactionStatus.IDLE
        with self._lock:
            if is_clean and generation == self._generation:
                self._idle.append(connection)
                return
        connection.close()
