"""The ledger's database in PostgreSQL (storage.database.Database)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from math import inf
from time import monotonic

import psycopg
from psycopg.errors import InsufficientPrivilege, ReadOnlySqlTransaction

from deeds.errors import (
    DeedError,
    LedgerInDoubtError,
    LedgerUnavailableError,
    NoFreeConnectionError,
    StartError,
)
from deeds.model import Operation
from parts.postgresql.connections import BoundedConnection, connect
from parts.postgresql.definitions import READ_DEFINITIONS, check_ids
from parts.postgresql.failures import (
    CONFLICTS,
    READ_ONLY,
    UNAVAILABLE,
    Failures,
    has_no_free_connection,
    one_line,
)
from parts.postgresql.last_operations import LastOperations
from parts.postgresql.pool import Pool, share_of
from parts.postgresql.transaction import (
    BEGIN,
    BEGIN_SNAPSHOT,
    PostgresqlTransaction,
    for_psycopg,
    read,
)
from parts.postgresql.url import name_of, parse_url
from storage.database import (
    DISK_FULL,
    NO_OPERATION,
    Reader,
    Record,
    Rows,
    Transaction,
    Values,
    Work,
    WriteRefusal,
)
from storage.schema import READ_VERSIONS, check_still_served

# Limit for all tries of a transaction; COMMIT may take half as long in addition.
# Patroni takes longer to promote another server, so no connection survives a failover.
SECONDS_MAX = 10.0

# A monitor must not wait for a server that hangs. A probe gets the next free
# connection: if there is none within POOL_TIMEOUT_S, requests get none either.
PROBE_SECONDS_MAX = 2.0

# An audit may read for hours.
_BEGIN_LONG_SNAPSHOT = f"{BEGIN_SNAPSHOT}; SET LOCAL statement_timeout = 0"

# One process at a time may change tables, perhaps for hours. Its key is ASCII "deeds".
_LOCK_TABLES = f"""SET LOCAL statement_timeout = 0;
SELECT pg_advisory_xact_lock({0x6465656473})"""

_READ_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"

_READ_SIZE = "SELECT sum(pg_total_relation_size(relid)) FROM pg_stat_user_tables"

# A server in recovery is read-only too.
_IS_READ_ONLY = "SELECT current_setting('transaction_read_only') = 'on'"

# Writes a WAL record without effect. COMMIT then waits until a synchronous standby has
# that record and everything before it.
_CONFIRM = "SELECT pg_logical_emit_message(TRUE, 'deeds', '')"

# A full disk may accept a small write into existing pages. This table takes a megabyte
# until the transaction ends, if the role may create it.
_TAKE_ROOM = """
    DO $$ BEGIN
        IF has_database_privilege(current_database(), 'TEMPORARY') THEN
            CREATE TEMPORARY TABLE deeds_room ON COMMIT DROP
            AS SELECT n FROM generate_series(1, 30000) AS n;
        END IF;
    END $$
"""

# A COMMIT that we no longer wait for still waits in the server for its standby, and
# keeps its connection. More of them would soon use up all connections, even for reads.
_IS_COMMIT_STUCK = """
    SELECT EXISTS (
        SELECT FROM pg_stat_activity
        WHERE usename = current_user AND wait_event = 'SyncRep'
            AND state_change < now() - interval '5 seconds'
    )
"""


class PostgresqlDatabase:
    """A PostgreSQL database (storage.database.Database).

    A server that lacks what this process committed last is not used
    (parts.postgresql.last_operations).
    """

    definitions_sql = READ_DEFINITIONS

    def __init__(
        self,
        url: str,
        clock: Callable[[], int],
        on_retry: Callable[[str], None] | None = None,
        pool_size: int = 0,
        processes_count: int = 1,
    ) -> None:
        """Parse the URL as libpq does; raise StartError for an invalid one.

        `clock` returns milliseconds since 1970-01-01 UTC. `on_retry` is called with
        "conflict" or "disconnect" before a write or a read is tried again. `pool_size`
        is the maximum number of connections, shared by all `processes_count` processes;
        0 means the default. A `snapshot` opens one more.
        """
        options = parse_url(url)
        self.name = name_of(options)
        self._connect = partial(connect, options)
        self._clock = clock
        self._last_operations = LastOperations()
        self._failures = Failures()
        size = share_of(pool_size, processes_count)
        self._pool = Pool(
            self._connect, size, self._last_operations, self._failures, on_retry
        )
        # Small writes may succeed on a full disk: it counts as full until a probe does.
        self._refusal = WriteRefusal()

    @property
    def loss(self) -> Operation | None:
        """Return an operation that the ledger has lost, until a server has it."""
        return self._last_operations.loss

    def remember(self, operation: Operation) -> None:
        """Use no server that lacks this operation, which another process wrote."""
        self._last_operations.remember(operation)

    def create(self, work: Callable[[Transaction], None]) -> None:
        """Run work that creates or changes tables, exclusively, in one transaction."""
        with self._starting() as connection:
            connection.deadline_s = inf
            connection.execute(BEGIN, prepare=False)
            connection.execute(_LOCK_TABLES, prepare=False)
            work(PostgresqlTransaction(connection, self._clock()))
            connection.execute("COMMIT")

    def table_names(self) -> set[str]:
        """Return the names of the tables."""
        with self._starting() as connection:
            return {name for (name,) in connection.execute(_READ_TABLES)}

    def check_start(self, *, thorough: bool = False) -> None:
        """Raise StartError unless operations get ascending ids.

        Connections opened after this call refuse an unfinished copy of a ledger, which
        only commands may read.
        """
        with self._starting() as connection:
            check_ids(connection)
        self._pool.connect = self._connect_to_serve

    def read(self, sql: str, values: Values = ()) -> Rows:
        """Return the rows of a query.

        If there are no rows, first checks that the server has the last operations of
        this process.
        """

        def use(connection: BoundedConnection) -> Rows:
            rows = read(connection, sql, values)
            if not rows:
                self._last_operations.check(connection)
            return rows

        return self._pool.run(use, SECONDS_MAX)

    def read_each(self, sql: str, keys: Sequence[Values]) -> Rows:
        """Run a query with each key, in one snapshot; return a row or None for each."""

        def use(connection: BoundedConnection) -> Rows:
            # The pool rolls the transaction back, which takes another round trip. A
            # ROLLBACK in the pipeline would avoid that. But after the messages with
            # which psycopg ends a pipeline, idle_session_timeout has no effect.
            with connection.pipeline():
                connection.execute(BEGIN_SNAPSHOT)
                cursors = [connection.execute(for_psycopg(sql), key) for key in keys]
            rows = [cursor.fetchone() for cursor in cursors]
            if None in rows:
                self._last_operations.check(connection)
            return rows

        return self._pool.run(use, SECONDS_MAX)

    def write(self, work: Work[Record], record: Record) -> Operation:
        """Run the work in one transaction, and commit all of it or nothing."""
        try:
            return self._write(work, record)
        except (LedgerUnavailableError, LedgerInDoubtError) as error:
            self._refusal.note(error)
            raise

    def probe(self, sql: str) -> Rows:
        """Return the rows of a query, for a monitor; raise if writes would fail.

        Checks the last operations each time, because behind a pooler a connection may
        lead to another server than before. If the database failed the last write, this
        tries a write that changes nothing.
        """

        def use(connection: BoundedConnection) -> Rows:
            [(is_read_only,)] = connection.execute(_IS_READ_ONLY)
            if is_read_only:
                raise LedgerUnavailableError(READ_ONLY)
            self._last_operations.check(connection)
            return read(connection, sql)

        rows = self._pool.run(use, PROBE_SECONDS_MAX, is_first=True)
        if self._refusal.reason is not None:
            self._refusal.begin_try()
            self._write(_take_room, None, is_probe=True)
            self._refusal.reason = None
        return rows

    @contextmanager
    def snapshot(self) -> Iterator[Reader]:
        """Yield a reader of one snapshot, on a connection of its own."""
        try:
            with closing(self._connect()) as connection:
                self._last_operations.check_if_new(connection)
                connection.execute(_BEGIN_LONG_SNAPSHOT, prepare=False)
                connection.deadline_s = inf
                yield partial(read, connection)
        except psycopg.Error as error:
            raise self._failures.translate(error) from None

    def run_in_scratch(self, work: Callable[[Transaction], Rows]) -> Rows:
        """Run the work on temporary tables, in a transaction that is rolled back.

        Raises LedgerUnavailableError if the server is read-only, or if the role may not
        create temporary tables.
        """
        with self._starting() as connection:
            connection.set_deadline(monotonic() + SECONDS_MAX)
            connection.execute(BEGIN, prepare=False)
            connection.execute("SET LOCAL search_path = pg_temp")
            try:
                rows = work(PostgresqlTransaction(connection, 0))
            except (ReadOnlySqlTransaction, InsufficientPrivilege) as error:
                raise LedgerUnavailableError(one_line(error)) from None
        return rows

    def find_damage(self) -> list[str]:
        """Return nothing; use PostgreSQL's amcheck instead."""
        return []

    def bytes_on_disk(self) -> int:
        """Return the bytes of tables and indexes; the WAL belongs to the server."""
        [(count,)] = self.read(_READ_SIZE)
        return int(count)

    def close(self) -> None:
        """Close all connections. The next use, even after a fork, opens new ones."""
        self._pool.close()

    def _connect_to_serve(self) -> BoundedConnection:
        """Return a connection; raise LedgerUnavailableError for an unfinished copy.

        It is enough to check new connections, because a copy is made only while the
        database has no other sessions.
        """
        connection = self._connect()
        try:
            check_still_served(read(connection, READ_VERSIONS), ())
        except BaseException:
            connection.close()
            raise
        return connection

    def _write(
        self, work: Work[Record], record: Record, *, is_probe: bool = False
    ) -> Operation:
        """Write the record and commit; return the operation.

        Before it raises an error of the work, it checks that the server has the last
        operations. It confirms a replayed operation by a commit, because a primary that
        restarts after a crash shows commits that no standby has received.
        """
        seconds_max = PROBE_SECONDS_MAX if is_probe else SECONDS_MAX

        def use(connection: BoundedConnection) -> Operation:
            if self._refusal.reason not in {None, DISK_FULL}:
                _check_not_stuck(connection)
            connection.execute(BEGIN, prepare=False)
            transaction = PostgresqlTransaction(connection, self._clock())
            try:
                operation = work(transaction, record)
            except DeedError:
                self._last_operations.check(connection)
                raise
            if operation.replayed:
                connection.execute(_CONFIRM)
            self._commit(connection, seconds_max / 2)
            self._last_operations.remember(operation)
            return operation

        return self._pool.run(use, seconds_max, is_first=is_probe)

    def _commit(self, connection: BoundedConnection, seconds_more: float) -> None:
        connection.deadline_s += seconds_more
        try:
            connection.execute("COMMIT")
        except CONFLICTS:
            raise
        except psycopg.Error as error:
            connection.close()
            self._failures.translate(error)  # Only to log it.
            raise LedgerInDoubtError from None
        if self._refusal.reason != DISK_FULL:
            self._refusal.reason = None

    @contextmanager
    def _starting(self) -> Iterator[BoundedConnection]:
        """Yield a connection outside the pool; turn its errors into StartError."""
        connection = None
        # Close idle connections, because this process may be limited to one.
        self._pool.close()
        try:
            with closing(self._connect()) as connection:
                yield connection
        except psycopg.Error as error:
            # A defect of a migration keeps its traceback. Without a connection, the
            # cause may be an option of the URL.
            if connection is not None and not isinstance(error, UNAVAILABLE):
                raise
            is_full = has_no_free_connection(error)
            kind = NoFreeConnectionError if is_full else StartError
            raise kind(
                f"DATABASE_URL: the database cannot be opened: {one_line(error)}"
            ) from None


def _check_not_stuck(connection: BoundedConnection) -> None:
    [(is_stuck,)] = connection.execute(_IS_COMMIT_STUCK)
    if is_stuck:
        raise LedgerUnavailableError("the synchronous standby is away")


def _take_room(transaction: Transaction, _record: None) -> Operation:
    transaction.execute(_CONFIRM)
    transaction.execute(_TAKE_ROOM)
    return NO_OPERATION
