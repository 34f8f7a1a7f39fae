"""Runs work in one transaction and translates what goes wrong into the ledger's errors.

A connection leaves this module only as the argument of the work. Work may run more than
once, so it must do nothing but database statements.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy import Connection, Engine, exc

from deeds.domain.errors import (
    LedgerInDoubtError,
    LedgerUnavailableError,
    OverloadedError,
)
from storage import failures
from storage.failures import CONFLICT, DISCONNECT, ConflictError
from storage.sqlite_writer import ProcessLock, SqliteWriter

Result = TypeVar("Result")
Work = Callable[[Connection], Result]

# Tries of a transaction by what ended the one before. A conflict passes; after ten the
# database is busier than any client should wait for. A connection that died while it
# was idle is replaced once; if the next one fails too, the database is away.
TRIES_MAX = {CONFLICT: 10, DISCONNECT: 2}

OnRetry = Callable[[str], None]

# Execution option of a connection whose transaction will write. Any other one is in
# autocommit: a read needs no transaction, because rows are never deleted and spending
# is final.
WRITES = "ledger_writes"

# Our statements take milliseconds: one that takes this long waits for something that is
# not coming.
STATEMENT_TIMEOUT = "30s"

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
        connection.exec_driver_sql(_BEGIN[connection.dialect.name])


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """Yield a connection that sees one state of the ledger, and keeps no writer waiting."""
    with engine.connect() as connection:
        connection.exec_driver_sql(_BEGIN_SNAPSHOT[engine.dialect.name])
        yield connection


class Transactions:
    """Reads and writes on one engine."""

    def __init__(self, engine: Engine, on_retry: OnRetry | None = None) -> None:
        """Create the transactions of an engine; on SQLite they share commits."""
        self._engine = engine
        self._on_retry = on_retry
        self._causes = failures.CauseLog()
        # Whether the last write failed because of the database: a full disk, say.
        self.was_refused = False
        self._writer = engine.execution_options(**{WRITES: True})
        self._group: SqliteWriter | None = None
        if engine.dialect.name == "sqlite":
            self._group = SqliteWriter(
                self._writer, ProcessLock(engine.url), self._causes
            )

    def read(self, work: Work[Result], *, is_long: bool = False) -> Result:
        """Return what the work reads; a long read may take as long as it needs."""

        def attempt() -> Result:
            with (
                snapshot(self._engine)
                if is_long
                else self._engine.connect() as connection
            ):
                return work(connection)

        return self._retrying(attempt)

    def write(self, work: Work[Result]) -> Result:
        """Run the work in one transaction, commit it and return its result.

        Raises what the work does or LedgerUnavailableError where nothing was changed,
        and LedgerInDoubtError where the connection broke off during COMMIT.
        """
        write = self._write_alone if self._group is None else self._group.write
        try:
            result = self._retrying(lambda: write(work))
        except (LedgerUnavailableError, LedgerInDoubtError):
            self.was_refused = True
            raise
        self.was_refused = False
        return result

    def close(self) -> None:
        """Close every connection."""
        if self._group is not None:
            self._group.close()
        self._engine.dispose()

    def _write_alone(self, work: Work[Result]) -> Result:
        with self._writer.connect() as connection:
            result = work(connection)
            try:
                connection.commit()
            except exc.DBAPIError as error:
                if failures.retry_reason(error) == CONFLICT:
                    raise
                connection.invalidate()
                self._causes.log(error)
                raise LedgerInDoubtError from None
            return result

    def _retrying(self, attempt: Callable[[], Result]) -> Result:
        tries_count = 0
        while True:
            tries_count += 1
            try:
                return attempt()
            except exc.TimeoutError:
                raise OverloadedError(
                    "too many requests are waiting for the database"
                ) from None
            except (ConflictError, exc.DBAPIError) as error:
                reason = failures.retry_reason(error)
                if reason is None or tries_count >= TRIES_MAX[reason]:
                    raise self._translate(error) from None
            if self._on_retry is not None:
                self._on_retry(reason)

    def _translate(self, error: ConflictError | exc.DBAPIError) -> Exception:
        if isinstance(error, exc.DBAPIError):
            self._causes.log(error)
            if not failures.is_unavailable(error):
                return error
        return LedgerUnavailableError()
