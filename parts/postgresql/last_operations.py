"""Checks that a server has the operations last acknowledged to this process.

A server that lacks one is not used: it may be a former primary, or a standby that
lagged when it was promoted. A connection is checked when it is new, before a request is
refused, and when a read finds less than requested.
"""

import logging
import threading
from collections import deque
from time import monotonic

from deeds.errors import LedgerRolledBackError, LedgerUnavailableError, RetryLaterError
from deeds.model import Operation
from deeds.settings import COMMAND
from parts.postgresql.connections import BoundedConnection
from storage.database import NO_OPERATION

_log = logging.getLogger("deeds")

# A server that lacks an operation may be a former primary: if it was frozen when
# another server was promoted, it acts as primary for some seconds after it thaws. The
# ledger counts as rolled back only if every check fails for this long.
DOUBT_SECONDS = 15.0

# A few more than the concurrent requests of a process, and so more than its
# connections: overlapping commits are acknowledged in any order, and the newest one of
# them must be among these.
REMEMBERED_COUNT = 40

_READ_TIMES = "SELECT id, created_at_ms FROM operations WHERE id = ANY(%s)"


class LastOperations:
    """The operations that were last acknowledged to this process. Thread-safe.

    `loss` is an operation that the ledger certainly lacks, until it is found again.
    """

    def __init__(self) -> None:
        self.loss: Operation | None = None
        # Pairs of id and created_at_ms.
        self._new: deque[tuple[int, int]] = deque(maxlen=REMEMBERED_COUNT)
        # Kept apart, so that replays of old requests do not displace new operations.
        self._replayed: deque[tuple[int, int]] = deque(maxlen=REMEMBERED_COUNT)
        # Whether one was missing, and no new connection has found all of them since.
        self._is_doubted = False
        self._doubts_count = 0
        # When the current series of failed checks began, by `monotonic()`.
        self._missed_since_s: float | None = None
        self._lock = threading.Lock()

    def remember(self, operation: Operation) -> None:
        """Remember an operation whose commit was acknowledged."""
        if operation == NO_OPERATION:
            return
        operations = self._replayed if operation.replayed else self._new
        with self._lock:
            operations.append((operation.id, operation.created_at_ms))

    def check_if_new(self, connection: BoundedConnection) -> None:
        """Check a connection when it is new, and again after each doubt."""
        if connection.doubts_count != self._doubts_count:
            self.check(connection)

    def check(self, connection: BoundedConnection) -> None:
        """Check that the server has all operations, and else close the connection.

        After closing, raises LedgerUnavailableError, or LedgerRolledBackError if a loss
        is certain. The next use connects again, perhaps to another server.
        """
        doubts_count = self._doubts_count
        missing = self._find_missing(connection)
        if missing is None:
            self._trust(connection, doubts_count)
            return
        # A standby may be promoted between the two queries, which raises a doubt that a
        # later check settles.
        [(is_standby,)] = connection.execute("SELECT pg_is_in_recovery()")
        connection.close()
        if is_standby:
            self.put_off_verdict()
            raise LedgerUnavailableError("the database is a standby, which may lag")
        raise self._doubt(missing)

    def put_off_verdict(self) -> None:
        """Let DOUBT_SECONDS begin again with the next check that fails."""
        with self._lock:
            self._missed_since_s = None

    def _find_missing(self, connection: BoundedConnection) -> Operation | None:
        """Return the newest operation without a record of its id and time, or None."""
        with self._lock:
            operations = {*self._new, *self._replayed}
        if not operations:
            return None
        ids = [operation_id for operation_id, _ in operations]
        missing = operations.difference(connection.execute(_READ_TIMES, [ids]))
        return Operation(*max(missing)) if missing else None

    def _trust(self, connection: BoundedConnection, doubts_count: int) -> None:
        """Note that the server has all operations; end the doubt if it is settled."""
        is_new = connection.doubts_count is None
        connection.doubts_count = doubts_count
        with self._lock:
            self._missed_since_s = None
            # A check on a new connection settles a doubt; one on an old connection only
            # if a loss is certain, because new connections may reach another server.
            # Ignore a check that began before another one failed.
            is_settled = is_new or self.loss is not None
            is_latest = doubts_count == self._doubts_count
            if self._is_doubted and is_settled and is_latest:
                self._is_doubted = False
                self.loss = None
                _log.warning(
                    "no operation is missing any more: another server answers now",
                    extra={"event": "ledger_found"},
                )

    def _doubt(self, missing: Operation) -> RetryLaterError:
        """Have every connection checked again; return the error to raise."""
        now_s = monotonic()
        with self._lock:
            self._doubts_count += 1
            if not self._is_doubted:
                self._is_doubted = True
                _log_doubt(missing)
            if self._missed_since_s is None:
                self._missed_since_s = now_s
            is_certain = now_s - self._missed_since_s >= DOUBT_SECONDS
            if is_certain and self.loss is None:
                self.loss = missing
                _log_rollback(missing)
            if self.loss is not None:
                return LedgerRolledBackError()
        return LedgerUnavailableError()


def _log_doubt(missing: Operation) -> None:
    _log.warning(
        "%s of the server that answered: it is not used, because another one may be the"
        " primary now",
        _describe(missing),
        extra={"event": "ledger_doubted"},
    )


def _log_rollback(loss: Operation) -> None:
    _log.error(
        "%s: this is an older copy, or a standby that lagged has taken over, and"
        " secrets spent since are live again. This process writes nothing while it is"
        " missing. If another server is the primary now, this is a false alarm: once"
        " the process reaches that one, it goes on by itself. Otherwise see that the"
        " present primary is sound (%s audit); then restore the right database, or run:"
        " %s accept-rollback; then restart all processes",
        _describe(loss),
        COMMAND,
        COMMAND,
        extra={"event": "ledger_rolled_back"},
    )


def _describe(operation: Operation) -> str:
    return (
        f"operation {operation.id} of {operation.created_at} was committed but is not"
        " in the ledger"
    )
