"""DATABASE_URL, and the SQLAlchemy engine made from it."""

import re
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

import psycopg
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from deeds.domain.errors import StartError
from storage.sqlite_writer import BUSY_TIMEOUT_S

# The oldest SQLite with RETURNING and upsert as the statements use them.
SQLITE_VERSION_MIN = (3, 35, 0)

# What libpq is told unless DATABASE_URL says otherwise. A server that does not acknowledge what was
# sent, or does not answer three probes of an idle connection, counts as away: after 10 and 25 s.
POSTGRESQL_CONNECT_ARGS: dict[str, Any] = {
    "connect_timeout": 2,
    "tcp_user_timeout": 10_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}

# A row that is locked for longer than this is held by a forgotten session.
POSTGRESQL_LOCK_TIMEOUT_MS = 5_000

# Our statements take milliseconds; one that takes this long waits for something that is not coming.
POSTGRESQL_STATEMENT_TIMEOUT_MS = 30_000

# A process that stops in the middle of a transaction keeps its rows from others for this long.
POSTGRESQL_IDLE_TIMEOUT_MS = 30_000

# Connections a process opens at the most, and keeps: opening one costs PostgreSQL more than a swap.
# With more of them more swaps are under way at once, not more in a second: they wait for the
# processor instead. With a database that is a millisecond away four still keep a process busy.
POOL_SIZE = 4
POOL_TIMEOUT_S = 2

# On SQLite every thread may have its own connection: it is a file handle.
SQLITE_POOL_SIZE = 64

# Execution option of a connection whose transaction will write.
WRITES = "ledger_writes"


# User and password as SQLAlchemy reads them, so the password ends at the first "@"; then the hosts.
_POSTGRESQL_URL = re.compile(
    r"(postgres(?:ql)?(?:\+\w+)?://(?:[^:/]*(?P<password>:[^@]*)?@)?)(?P<hosts>[^/?]*)(?P<rest>.*)",
    re.DOTALL,
)
_HOST = re.compile(r"(?:\[(?P<ipv6>[^\[\]]+)\]|(?P<name>[^:\[\]]*))(?::(?P<port>[0-9]*))?")


def parse_database_url(text: str) -> URL:
    """Return the URL of a supported database with its driver named.

    Raises:
        StartError: not a URL, another database than SQLite or PostgreSQL, or one held in memory.
    """
    try:
        url = _read_url(text)
    except (ArgumentError, ValueError):
        raise StartError("DATABASE_URL is not a database URL") from None
    if "plugin" in url.query:
        raise StartError("DATABASE_URL must name no plugin")
    backend = url.drivername.partition("+")[0]
    if backend in {"postgres", "postgresql"}:
        return url.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise StartError("DATABASE_URL must name an SQLite file or a PostgreSQL database")
    if not url.database or url.database == ":memory:":
        raise StartError("DATABASE_URL names a database in memory, which would lose every deed")
    if url.query:
        raise StartError("DATABASE_URL takes no options for an SQLite file")
    if url.database.startswith("file:"):
        raise StartError("DATABASE_URL must name the SQLite file by its path, not by a file: URI")
    return url.set(drivername="sqlite+pysqlite")


def _read_url(text: str) -> URL:
    """Return the URL; several hosts (`h1:p1,h2:p2`), which SQLAlchemy cannot read, become options.

    Raises:
        ArgumentError, ValueError: not a URL.
        StartError: an "@" in the password is not escaped, or hosts are given twice.
    """
    found = _POSTGRESQL_URL.fullmatch(text)
    if found and found["password"] and "@" in found["hosts"] + found["rest"]:
        # What follows the first one would be looked up as a host, and shown in errors.
        raise StartError("DATABASE_URL has an '@' that is not escaped: write it as %40")
    if found is None or "," not in found["hosts"]:
        return make_url(text)
    url = make_url(found[1] + found["rest"])
    if {"host", "port"} & url.query.keys():
        raise StartError("DATABASE_URL gives its hosts twice")
    hosts = [_HOST.fullmatch(host) for host in found["hosts"].split(",")]
    parts = [host for host in hosts if host]
    if len(parts) < len(hosts):
        raise ValueError
    return url.update_query_dict(
        {
            "host": ",".join(unquote(host["ipv6"] or host["name"]) for host in parts),
            "port": ",".join(host["port"] or "" for host in parts),
        }
    )


def make_engine(url: URL) -> Engine:
    """Return an engine with the safety settings of the ledger. Connects to nothing yet.

    Raises:
        StartError: the URL's options are invalid, or this Python's SQLite is too old.
    """
    if url.get_backend_name() == "sqlite":
        return _make_sqlite_engine(url)
    threshold = _prepare_threshold(url)
    url = url.difference_update_query(["prepare_threshold"])
    connect_args = {
        name: value for name, value in POSTGRESQL_CONNECT_ARGS.items() if name not in url.query
    }
    try:
        engine = create_engine(
            url,
            hide_parameters=True,
            # A read needs no transaction: rows are never deleted and spending is final. Those that
            # write are begun by `_begin_postgresql`.
            isolation_level="AUTOCOMMIT",
            pool_size=POOL_SIZE,
            max_overflow=0,
            # The one used last is the warmest; those that a quiet time leaves over are left alone.
            pool_use_lifo=True,
            pool_timeout=POOL_TIMEOUT_S,
            # Whatever the URL says of the encoding: another one could not send every text.
            connect_args=connect_args | threshold | {"client_encoding": "utf8"},
        )
    except ArgumentError:
        raise StartError(
            "DATABASE_URL must give one host and port, or as many ports as hosts"
        ) from None
    # Before SQLAlchemy's own first look at the server, which fails with some encodings.
    event.listen(engine, "connect", _check_encoding, insert=True)
    adapt = partial(_adapt_to_pooler, is_threshold_given=bool(threshold))
    event.listen(engine, "connect", adapt)
    event.listen(engine, "begin", _begin_postgresql)
    return engine


def _prepare_threshold(url: URL) -> dict[str, int | None]:
    """Return psycopg's option of that name as the URL gives it, if it does.

    Raises:
        StartError: it is neither a number nor `None`.
    """
    text = url.query.get("prepare_threshold")
    if text is None:
        return {}
    if not (isinstance(text, str) and (text == "None" or (text.isascii() and text.isdigit()))):
        raise StartError("DATABASE_URL must give prepare_threshold as a whole number or None")
    return {"prepare_threshold": None if text == "None" else int(text)}


def _make_sqlite_engine(url: URL) -> Engine:
    if sqlite3.sqlite_version_info < SQLITE_VERSION_MIN:
        raise StartError(f"SQLite {sqlite3.sqlite_version} is too old: 3.35 is needed")
    engine = create_engine(
        url,
        hide_parameters=True,
        pool_size=SQLITE_POOL_SIZE,
        max_overflow=0,
        connect_args={"timeout": BUSY_TIMEOUT_S},
    )
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def mark_path(url: URL) -> Path:
    """Return the file beside an SQLite ledger that holds its high-water mark."""
    return Path(f"{url.database}-mark")


def _check_encoding(connection: psycopg.Connection, _record: Any) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        # Metadata may be any Unicode text.
        raise StartError(f"DATABASE_URL: the database's encoding is {encoding}; it must be UTF8")


def _adapt_to_pooler(
    connection: psycopg.Connection, _record: Any, *, is_threshold_given: bool
) -> None:
    """Keep nothing in a session behind a pooler: the next transaction may get another one.

    A pooler makes up the process id that it tells at the start of a session.
    """
    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    if row == (connection.info.backend_pid,):
        # Bounds reads, unless the database or its role does.
        connection.execute(
            f"SELECT set_config('statement_timeout', '{POSTGRESQL_STATEMENT_TIMEOUT_MS}', false)"
            " WHERE current_setting('statement_timeout') = '0'"
        )
    elif not is_threshold_given:
        connection.prepare_threshold = None


def _begin_postgresql(connection: Connection) -> None:
    if connection.get_execution_options().get(WRITES):
        # One message of several statements: no round trip more than BEGIN alone. Within the
        # transaction, because a pooler may give each one another session.
        connection.exec_driver_sql(_BEGIN_POSTGRESQL)


# An answer is given after the commit is on disk, whatever the server's default.
_BEGIN_POSTGRESQL = f"""BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL lock_timeout = {POSTGRESQL_LOCK_TIMEOUT_MS};
SET LOCAL statement_timeout = {POSTGRESQL_STATEMENT_TIMEOUT_MS};
SET LOCAL idle_in_transaction_session_timeout = {POSTGRESQL_IDLE_TIMEOUT_MS};
SELECT set_config('synchronous_commit', 'on', true)
WHERE current_setting('synchronous_commit') = 'off'"""


def _configure_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    # No implicit BEGIN by the driver: `_begin_sqlite` says when and how.
    connection.isolation_level = None
    [mode] = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StartError("DATABASE_URL: the file system of the SQLite file does not support WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


_BEGIN = "BEGIN IMMEDIATE"


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes the lock at once: two readers that turn writers would refuse each other. A read
    # needs no transaction.
    if connection.get_execution_options().get(WRITES):
        driver = cast(sqlite3.Connection, connection.connection.driver_connection)
        try:
            # Not through SQLAlchemy, where it would cost as much as one of the statements to come.
            driver.execute(_BEGIN)
        except sqlite3.Error as error:
            raise DBAPIError.instance(
                _BEGIN, None, error, sqlite3.Error, dialect=connection.dialect
            ) from None
