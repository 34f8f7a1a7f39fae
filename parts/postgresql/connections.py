"""Connections to PostgreSQL: their deadlines and their setup."""

import re
from collections.abc import Mapping
from time import monotonic
from typing import Any

import psycopg

from parts.postgresql.url import PREPARE_THRESHOLD

# Limit for the queries that set up a new connection.
SET_UP_SECONDS_MAX = 3.0

# Minimum time for a use, because connecting takes a while if the first host hangs.
USE_SECONDS_MIN = 1.0

# Our statements take milliseconds: one that takes this long is stuck. The server, if it
# still runs, should report that before the connection's deadline.
STATEMENT_TIMEOUT = "9s"

# The server ends sessions that are idle for this long, even of a process without any
# requests. For PostgreSQL 14 and later.
IDLE_TIMEOUT = "20s"

# In `version()` of other databases that use PostgreSQL's protocol. The ledger cannot
# rely on their ids or unique keys (docs/performance.md).
_NOT_POSTGRESQL = re.compile("CockroachDB|Greenplum|-YB-")

# Limits reads and idle sessions, unless the database or the role has limits.
_BOUND_SESSION = b"""
    SELECT set_config(name, value, false)
    FROM (VALUES ('statement_timeout', %s), ('idle_session_timeout', %s))
        AS bounds (name, value)
    WHERE current_setting(name, true) = '0'
"""


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that does not wait for responses beyond its deadline.

    If a server hangs, its kernel still acknowledges data, so neither libpq nor the
    server's own timeouts end the wait.
    """

    # The number of doubts at its last successful check (last_operations.py), None
    # before the first.
    doubts_count: int | None = None

    # The value of `monotonic()` when the connection was given back to its pool.
    idle_since_s = 0.0

    def __init__(self, *args: Any) -> None:
        """Create the connection, with a deadline for its setup."""
        super().__init__(*args)
        # A value of `monotonic()`; without a deadline, `inf`.
        self.deadline_s = monotonic() + SET_UP_SECONDS_MAX

    def set_deadline(self, deadline_s: float) -> None:
        """Set the deadline, by `monotonic()`, to at least USE_SECONDS_MIN from now."""
        self.deadline_s = max(deadline_s, monotonic() + USE_SECONDS_MIN)

    def wait(
        self, gen: Any, interval: float = 0.1, timeout: float | None = None
    ) -> Any:
        """Return the response; at the deadline, close and raise OperationalError."""
        try:
            return super().wait(gen, interval, self.deadline_s - monotonic())
        finally:
            # Do not use a late response: another server may be the primary now.
            if monotonic() >= self.deadline_s:
                self.pgconn.finish()
                raise psycopg.OperationalError("the server did not answer in time")


def connect(options: Mapping[str, Any]) -> BoundedConnection:
    """Open a connection to a server that can hold the ledger.

    Raises psycopg.Error if it cannot connect, or if the server is not suitable.
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
        raise psycopg.OperationalError(f"its encoding is {encoding}; it must be UTF8")
    [(version, process_id)] = connection.execute("SELECT version(), pg_backend_pid()")
    if _NOT_POSTGRESQL.search(version):
        raise psycopg.OperationalError(
            f"the ledger needs PostgreSQL itself, and this is {version}"
        )
    # A pooler reports an invented process id at connection. Behind one, nothing can be
    # kept in a session, because the next transaction may get another session.
    if process_id == connection.info.backend_pid:
        connection.execute(_BOUND_SESSION, [STATEMENT_TIMEOUT, IDLE_TIMEOUT])
    elif PREPARE_THRESHOLD not in options:
        connection.prepare_threshold = None
