"""Runs work in one transaction and translates what goes wrong into the ledger's errors.

A connection leaves this module only as an argument. A record may be written more than
once, so to write one must be nothing but database statements.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from time import monotonic
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, exc

from deeds.domain.errors import (
    DeedError,
    LedgerInDoubtError,
    LedgerUnavailableError,
    OverloadedError,
    StartError,
)
from storage import driver
from storage.checkpoint import Checkpoint
from storage.driver import CONFLICT, DISCONNECT, ConflictError, execute, set_deadline
from storage.last_operations import LastOperations
from storage.operations import CONFIRM, Record, write_record
from storage.sqlite_writer import ProcessLock, SqliteWriter

Result = TypeVar("Result")

# Tries of a transaction by what ended the one before. A conflict passes; after ten the
# database is busier than any client should wait for. A connection that died while it
# was idle is replaced once; if the next one fails too, the database is away.
TRIES_MAX = {CONFLICT: 10, DISCONNECT: 2}

OnRetry = Callable[[str], None]

# Execution option of a connection whose transaction will write. Any other one is in
# autocommit: a read needs no transaction, because rows are never deleted and spending
# is final.
WRITES = "ledger_writes"

# For all tries of a transaction, and half as long again until COMMIT is answered.
# Patroni takes longer to promote another server, so no connection survives a failover.
SECONDS_MAX = 10.0

# Our statements take milliseconds: one that takes this long waits for something that is
# not coming. A server that can still tell does so before the connection is given up.
STATEMENT_TIMEOUT = "9s"

_BEGIN = {
    # The lock is taken at once: two readers that turn writers would refuse each other.
    "sqlite": "BEGIN IMMEDIATE",
    # One message: no round trip more than BEGIN alone. All of it lasts for the
    # transaction, because a pooler may give each one another session. A row that stays
    # locked for 5 s is held by a forgotten session, and a process of ours that stops in
    # a transaction keeps its rows for 30 s. An answer is given after the commit is on
    # disk, whatever the server's default.
    "postgresql": f"""BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL lock_timeout = '5s';
SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}';
SET LOCAL idle_in_transaction_session_timeout = '30s';
SELECT set_config('synchronous_commit', 'on', true)
WHERE current_setting('synchronous_commit') = 'off'""",
}

# A COMMIT that was given up waits on in the server for its standby, and keeps its
# connection. With more of them there would soon be none left, not even for reads.
_IS_COMMIT_STUCK = """
    SELECT EXISTS (
        SELECT FROM pg_stat_activity
        WHERE usename = current_user AND wait_event = 'SyncRep'
            AND state_change < now() - interval '5 seconds'
    )
"""

# A connection to be made may lead past a host that hangs; then it has at least so long.
_USE_SECONDS_MIN = 1.0

_BEGIN_SNAPSHOT = {
    # In WAL mode a read transaction sees what was there at its first read.
    "sqlite": "BEGIN",
    # It may read for hours.
    "postgresql": """BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL statement_timeout = 0""",
}


def begin(connection: Connection) -> None:
    """Begin the transaction of a connection that will write.

    Listens to each engine's `begin`.
    """
    if connection.get_execution_options().get(WRITES):
        execute(connection, _BEGIN[connection.dialect.name])


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """Yield a connection that sees one state of the ledger.

    It keeps no writer waiting.
    """
    with engine.connect() as connection:
        set_deadline(connection, inf)
        execute(connection, _BEGIN_SNAPSHOT[engine.dialect.name])
        yield connection


class Transactions:
    """Reads and writes on one engine.

    Both raise LedgerUnavailableError where the database does not answer, and
    OverloadedError where too many wait for it.
    """

    def __init__(
        self,
        engine: Engine,
        last: LastOperations,
        on_retry: OnRetry | None,
        seconds_max: float,
    ) -> None:
        """Create the transactions of an engine; on SQLite they share commits."""
        self._seconds_max = seconds_max
        self._engine = engine
        self._last = last
        self._on_retry = on_retry
        self._causes = driver.CauseLog()
        # Whether the last write failed because of the database: a full disk, say.
        self.was_refused = False
        # Whether the last COMMIT was given up.
        self._was_in_doubt = False
        self._writer = engine.execution_options(**{WRITES: True})
        self._group: SqliteWriter | None = None
        if engine.dialect.name == "sqlite":
            lock = ProcessLock(engine.url)
            self._group = SqliteWriter(self._writer, lock, self._causes)

    def read(self, work: Callable[..., Result], *values: Any) -> Result:
        """Return what the work reads, given a connection and the values."""
        deadline_s = monotonic() + self._seconds_max
        tries_count = 0
        while True:
            tries_count += 1
            try:
                with self._engine.connect() as connection:
                    set_deadline(connection, _at_least(deadline_s))
                    self._last.look_if_new(connection)
                    return work(connection, *values)
            except (exc.TimeoutError, exc.DBAPIError, StartError) as error:
                self._retry_or_raise(error, tries_count, deadline_s)

    def write(self, record: Record) -> Checkpoint:
        """Write the record in one transaction, and return the operation.

        Raises what `write_record` does or LedgerUnavailableError where nothing was
        changed, and LedgerInDoubtError where the connection broke off during COMMIT.
        """
        try:
            made = self._write(record)
        except (LedgerUnavailableError, LedgerInDoubtError):
            self.was_refused = True
            raise
        self.was_refused = False
        return made

    def disconnect(self) -> None:
        """Close all connections; the next use opens others."""
        self.close()
        self._engine.dispose()

    def close(self) -> None:
        """Close what SQLite's writer holds. The engine is its maker's to dispose of."""
        if self._group is not None:
            self._group.close()

    def _write(self, record: Record) -> Checkpoint:
        deadline_s = monotonic() + self._seconds_max
        tries_count = 0
        while True:
            tries_count += 1
            try:
                if self._group is not None:
                    self._last.check_not_lost()
                    return self._group.write_in_group(record)
                with self._writer.connect() as connection:
                    set_deadline(connection, _at_least(deadline_s))
                    self._last.look_if_new(connection)
                    self._last.check_not_lost()
                    self._check_not_stuck(connection)
                    commit_until_s = deadline_s + self._seconds_max / 2
                    return self._write_on(connection, record, commit_until_s)
            except (
                ConflictError,
                exc.TimeoutError,
                exc.DBAPIError,
                StartError,
            ) as error:
                self._retry_or_raise(error, tries_count, deadline_s)

    def _check_not_stuck(self, connection: Connection) -> None:
        if self._was_in_doubt and execute(connection, _IS_COMMIT_STUCK).scalar():
            raise LedgerUnavailableError("the synchronous standby is away")

    def _write_on(
        self, connection: Connection, record: Record, commit_until_s: float
    ) -> Checkpoint:
        """Write the record and commit. A refusal is as safe as an acknowledgement.

        It comes from a server that has the last operations, and what it tells of
        others' operations is on a synchronous standby.
        """
        try:
            made = write_record(connection, record)
        except DeedError:
            self._last.look(connection)
            connection.rollback()
            execute(connection, CONFIRM)
            self._commit(connection, commit_until_s)
            raise
        self._commit(connection, commit_until_s)
        return made

    def _commit(self, connection: Connection, until_s: float) -> None:
        set_deadline(connection, _at_least(until_s))
        try:
            connection.commit()
        except exc.DBAPIError as error:
            if driver.retry_reason(error) == CONFLICT:
                raise
            connection.invalidate()
            self._causes.log(error)
            self._was_in_doubt = True
            raise LedgerInDoubtError from None
        self._was_in_doubt = False

    def _retry_or_raise(
        self, error: Exception, tries_count: int, deadline_s: float
    ) -> None:
        """Return if the transaction is worth another try; else raise what it means."""
        if isinstance(error, exc.TimeoutError):
            raise OverloadedError(
                "too many requests are waiting for the database"
            ) from None
        reason = driver.retry_reason(error)
        # Another try would take as long again where the database hangs.
        is_late = monotonic() >= deadline_s - self._seconds_max / 2
        if reason is not None and tries_count < TRIES_MAX[reason] and not is_late:
            if self._on_retry is not None:
                self._on_retry(reason)
            return
        if isinstance(error, StartError):
            # A new connection met a database that cannot hold the ledger.
            self._causes.log_unusable(error)
        if isinstance(error, exc.DBAPIError):
            self._causes.log(error)
            is_gone = driver.is_row_gone(error)
            if not is_gone and not driver.is_unavailable(error):
                raise error from None
        raise LedgerUnavailableError from None


def _at_least(deadline_s: float) -> float:
    return max(deadline_s, monotonic() + _USE_SECONDS_MIN)
