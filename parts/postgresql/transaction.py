"""An open transaction, and the translation of the repository's SQL to PostgreSQL."""

from collections.abc import Iterable, Sequence
from functools import cache
from time import monotonic, sleep

from deeds.errors import StartError
from parts.postgresql.connections import STATEMENT_TIMEOUT, BoundedConnection
from storage.database import Cursor, Rows, Values

# Sent as one message, so it takes no more round trips than BEGIN. All settings are
# local to the transaction, because a pooler may use another session for the next one.
# If a row stays locked for 5 s, a forgotten session holds it. If our process hangs in a
# transaction, it keeps its locks for 30 s. COMMIT must return after the commit is on
# disk, whatever the server's default.
BEGIN = f"""BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL lock_timeout = '5s';
SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}';
SET LOCAL idle_in_transaction_session_timeout = '30s';
SELECT set_config('synchronous_commit', 'on', true)
WHERE current_setting('synchronous_commit') = 'off'"""

# All statements that follow see the snapshot of the first one.
BEGIN_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

# The server may hide the type of another role's session.
_COUNT_SESSIONS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND coalesce(backend_type, 'client backend') = 'client backend'
"""

_END_SECONDS_MAX, _POLL_S = 2.0, 0.02

_READ_FOREIGN_KEYS = """
    SELECT quote_ident(conname), pg_get_constraintdef(oid) FROM pg_constraint
    WHERE conrelid = CAST(%s AS regclass) AND contype = 'f' ORDER BY conname
"""

_READ_SEQUENCE = "SELECT pg_get_serial_sequence(%s, %s)"

# A sequence begins with 1 and cannot be set to 0, which may be the only id of a hash
# policy.
_COUNT_ON = """
    SELECT setval(%s, max({column})) FROM {table} HAVING max({column}) > 0
"""

_WORDS = {
    "%": "%%",
    "?": "%s",
    "INTEGER PRIMARY KEY": "BIGSERIAL PRIMARY KEY",
    "INTEGER": "BIGINT",
    "BLOB": "BYTEA",
    ") WITHOUT ROWID, STRICT": ")",
    ") STRICT": ")",
}


class PostgresqlTransaction:
    """An open write transaction (storage.database.Transaction)."""

    def __init__(self, connection: BoundedConnection, now_ms: int) -> None:
        self.now_ms = now_ms
        self._connection = connection

    def execute(self, sql: str, values: Values = ()) -> Cursor:
        """Run a statement once."""
        return self._connection.execute(for_psycopg(sql), values)

    def executemany(self, sql: str, rows: Iterable[Values]) -> Cursor:
        """Run a statement for each of the rows, all in one round trip."""
        cursor = self._connection.cursor()
        cursor.executemany(for_psycopg(sql), rows)
        return cursor

    def read_each(self, sql: str, keys: Sequence[Values]) -> Rows:
        """Run a query with each key, in one round trip; return a row or None each."""
        cursor = self._connection.cursor()
        cursor.executemany(for_psycopg(sql), keys, returning=True)
        return [result.fetchone() for result in cursor.results()]

    def load(self, table: str, columns: Sequence[str], rows: Iterable[Values]) -> None:
        """Insert rows of another ledger; automatic ids continue after them.

        Raises StartError if the database has other sessions: one may be a service.
        """
        run = self._connection.execute
        self._refuse_other_sessions()
        # Foreign keys are added after the rows, to check them in one scan and not with
        # a query for each row.
        keys = run(_READ_FOREIGN_KEYS, [table]).fetchall()
        for name, _ in keys:
            run(f"ALTER TABLE {table} DROP CONSTRAINT {name}".encode())
        names = ", ".join(columns)
        # COPY takes a third of the time of pipelined INSERTs.
        statement = f"COPY {table} ({names}) FROM STDIN".encode()
        with self._connection.cursor().copy(statement) as copy:
            for row in rows:
                copy.write_row(row)
        for name, definition in keys:
            add = f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}"
            run(add.encode())
        for column in columns:
            [(sequence,)] = run(_READ_SEQUENCE, [table, column])
            if sequence is not None:
                count_on = _COUNT_ON.format(table=table, column=column)
                run(count_on.encode(), [sequence])

    def _refuse_other_sessions(self) -> None:
        """Raise StartError unless other sessions end within _END_SECONDS_MAX."""
        deadline_s = monotonic() + _END_SECONDS_MAX
        while True:
            # A closed session may remain visible for some milliseconds.
            self._connection.execute("SELECT pg_stat_clear_snapshot()")
            [(count,)] = self._connection.execute(_COUNT_SESSIONS)
            if not count:
                return
            if monotonic() >= deadline_s:
                raise StartError(
                    f"DATABASE_URL: the database has other sessions ({count}); stop"
                    " what uses it"
                )
            sleep(_POLL_S)


def read(connection: BoundedConnection, sql: str, values: Values = ()) -> Rows:
    """Return the rows of a query."""
    return connection.execute(for_psycopg(sql), values).fetchall()


@cache
def for_psycopg(sql: str) -> bytes:
    """Return the repository's SQL, translated for psycopg and PostgreSQL."""
    for word, other in _WORDS.items():
        sql = sql.replace(word, other)
    return sql.encode()
