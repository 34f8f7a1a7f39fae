"""Uses of connections, within a deadline, tried again where that may help."""

from collections.abc import Callable
from time import monotonic
from typing import TypeVar

import psycopg

from deeds.errors import StartError
from parts.postgresql.connections import BoundedConnection, Pool
from parts.postgresql.failures import CONFLICTS, Failure, Failures
from parts.postgresql.last_operations import LastOperations
from storage.database import ConflictError

Result = TypeVar("Result")

# Reasons to try again.
CONFLICT, DISCONNECT = "conflict", "disconnect"

# Tries by what ended the one before. A conflict passes; after ten the database is
# busier than any client should wait for. A connection that died while it was idle is
# replaced once; if the next one fails too, the database is away.
TRIES_MAX = {CONFLICT: 10, DISCONNECT: 2}


class Attempts:
    """Uses of the connections of one pool. Any thread may run them."""

    def __init__(
        self,
        pool: Pool,
        seconds_max: float,
        last: LastOperations,
        failures: Failures,
        on_retry: Callable[[str], None] | None = None,
    ) -> None:
        """Create them; `on_retry` is called with a key of `TRIES_MAX`."""
        self._pool = pool
        self._seconds_max = seconds_max
        self._last = last
        self._failures = failures
        self._on_retry = on_retry

    def run(self, use: Callable[[BoundedConnection], Result]) -> Result:
        """Return what `use` returns for a connection; it may be called again.

        Raises what `use` raises, OverloadedError where too many wait for a connection,
        and LedgerUnavailableError where the database does not answer.
        """
        deadline_s = monotonic() + self._seconds_max
        tries_count = 0
        while True:
            tries_count += 1
            connection = None
            try:
                with self._pool.connection() as connection:
                    connection.set_deadline(deadline_s)
                    connection.commit_deadline_s = deadline_s + self._seconds_max / 2
                    self._last.look_if_new(connection)
                    return use(connection)
            except (psycopg.Error, ConflictError, StartError) as error:
                self._last.put_off_verdict()
                reason = self._reason(error, connection)
                # Another try would take as long again where the database hangs.
                is_late = monotonic() >= deadline_s - self._seconds_max / 2
                if reason is None or tries_count >= TRIES_MAX[reason] or is_late:
                    raise self._failures.translate(error) from None
            if self._on_retry is not None:
                self._on_retry(reason)

    def close(self) -> None:
        """Close all connections; the next use opens others."""
        self._pool.close()

    def _reason(
        self, error: Failure, connection: BoundedConnection | None
    ) -> str | None:
        """Return why another try may succeed, or None."""
        if connection is not None and connection.closed:
            # What ended this one has ended others.
            self._pool.close()
            return DISCONNECT
        return CONFLICT if isinstance(error, CONFLICTS) else None
