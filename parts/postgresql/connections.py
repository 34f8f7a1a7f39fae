"""Connections to PostgreSQL: their deadlines, and how they begin."""

import re
from collections.abc import Mapping
from time import monotonic
from typing import Any

import psycopg

from parts.postgresql.url import PREPARE_THRESHOLD

# For what a new connection is asked before it is used.
SET_UP_SECONDS_MAX = 3.0

# A new connection may have led past a host that hangs; then it has at least so long.
USE_SECONDS_MIN = 1.0

# Our statements take milliseconds: one that takes this long waits for something that is
# not coming. A server that can still say so does before the connection is given up.
STATEMENT_TIMEOUT = "9s"

# The server ends a session that is idle for so long, also one of a process that nobody
# asks for anything any more: PostgreSQL 14 and later.
IDLE_TIMEOUT = "20s"

# What `version()` names where PostgreSQL's protocol is spoken and another database
# answers: one whose ids or unique keys the ledger cannot rely on (docs/performance.md).
_NOT_POSTGRESQL = re.compile("CockroachDB|Greenplum|-YB-")

# Bounds reads and idle sessions, unless the database or its role does.
_BOUND_SESSION = b"""
    SELECT set_config(name, value, false)
    FROM (VALUES ('statement_timeout', %s), ('idle_session_timeout', %s))
        AS bounds (name, value)
    WHERE current_setting(name, true) = '0'
"""


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that waits for no answer longer than its deadline.

    A server that hangs acknowledges what is sent and answers nothing, so that neither
    libpq nor its own timeouts notice.
    """

    # How many doubts there had been when its server was seen to have the last
    # operations (parts.postgresql.last_operations); None before.
    doubts_count: int | None = None

    # When it was given back to its pool, by `monotonic()`.
    idle_since_s = 0.0

    def __init__(self, *args: Any) -> None:
        """Create what psycopg has connected; the first answers have a deadline too."""
        super().__init__(*args)
        # By `monotonic()`; `inf` is no deadline.
        self.deadline_s = monotonic() + SET_UP_SECONDS_MAX

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

    Raises psycopg.Error, also where the server is the wrong one.
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
    # A pooler makes up the process id that it tells at the start of a session. Behind
    # one nothing is kept in a session: the next transaction may get another one.
    if process_id == connection.info.backend_pid:
        connection.execute(_BOUND_SESSION, [STATEMENT_TIMEOUT, IDLE_TIMEOUT])
    elif PREPARE_THRESHOLD not in options:
        connection.prepare_threshold = None
