"""Runs work in one transaction and translates what goes wrong into the ledger's errors.

A connection leaves this module only as the argument of the work. Work may run more than once, so it
must do nothing but database statements.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from deeds.domain.errors import LedgerInDoubtError, LedgerUnavailableError, OverloadedError
from storage.engine import WRITES
from storage.failures import (
    CONFLICT,
    DISCONNECT,
    ConflictError,
    is_unavailable,
    log_cause,
    retry_reason,
)
from storage.sqlite_writer import ProcessLock, SqliteWriter

Result = TypeVar("Result")
Work = Callable[[Connection], Result]

# Tries of a transaction by what ended the one before. A conflict passes; after ten the database is
# busier than any client should wait for. A connection that died while it was idle is replaced once;
# if the next one fails too, the database is away.
TRIES_MAX = {CONFLICT: 10, DISCONNECT: 2}

RETRY_REASONS = tuple(TRIES_MAX)

# Called with the reason each time that a transaction is tried again.
OnRetry = Callable[[str], None]


def ignore_retry(_reason: str) -> None:
    """Do nothing."""


class Transactions:
    """Reads and writes on one engine."""

    def __init__(self, engine: Engine, on_retry: OnRetry) -> None:
        """Create the transactions of an engine; on SQLite they share commits."""
        self._engine = engine
        self._on_retry = on_retry
        # Whether the last write failed because of the database: a full disk, say.
        self.was_refused = False
        self._writer = engine.execution_options(**{WRITES: True})
        self._lock: ProcessLock | None = None
        self._group: SqliteWriter | None = None
        if engine.dialect.name == "sqlite":
            self._lock = ProcessLock(engine.url)
            self._group = SqliteWriter(self._writer, self._lock.turn)

    def read(self, work: Work[Result]) -> Result:
        """Return what the work reads.

        Raises:
            LedgerUnavailableError: the database does not answer.
        """
        return self._retrying(lambda: _read(self._engine.connect(), work))

    def read_all(self, work: Work[Result]) -> Result:
        """Return what the work reads of the whole ledger, however long it takes.

        Raises:
            LedgerUnavailableError: the database does not answer.
        """
        return self._retrying(lambda: _read(snapshot(self._engine), work))

    def write(self, work: Work[Result]) -> Result:
        """Run the work in one transaction, commit it and return its result.

        An exception of the work rolls all of it back.

        Raises:
            LedgerUnavailableError: the database does not answer; nothing was changed.
            LedgerInDoubtError: the connection broke off during COMMIT.
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
        if self._lock is not None:
            self._lock.close()

    def _write_alone(self, work: Work[Result]) -> Result:
        with self._writer.connect() as connection:
            transaction = connection.begin()
            try:
                result = work(connection)
            except BaseException:
                transaction.rollback()
                raise
            try:
                transaction.commit()
            except DBAPIError as error:
                if retry_reason(error) == CONFLICT:
                    raise
                connection.invalidate()
                log_cause(error)
                raise LedgerInDoubtError from None
            return result

    def _retrying(self, attempt: Callable[[], Result]) -> Result:
        tries_count = 0
        while True:
            tries_count += 1
            try:
                return attempt()
            except PoolTimeoutError:
                raise OverloadedError("too many requests are waiting for the database") from None
            except ConflictError:
                if not self._tries_again(CONFLICT, tries_count):
                    raise LedgerUnavailableError from None
            except DBAPIError as error:
                reason = retry_reason(error)
                if not self._tries_again(reason, tries_count):
                    log_cause(error)
                    if reason or is_unavailable(error):
                        raise LedgerUnavailableError from None
                    raise

    def _tries_again(self, reason: str | None, tries_count: int) -> bool:
        if reason is None or tries_count >= TRIES_MAX[reason]:
            return False
        self._on_retry(reason)
        return True


def _read(connecting: AbstractContextManager[Connection], work: Work[Result]) -> Result:
    with connecting as connection:
        return work(connection)


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """Yield a connection that sees one state of the ledger, and keeps no writer waiting."""
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            # In WAL mode a read transaction sees what was there at its first read.
            connection.exec_driver_sql("BEGIN")
            yield connection
            connection.rollback()
        return
    reader = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    with reader.connect() as connection:
        # It may read for hours.
        connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
        yield connection
