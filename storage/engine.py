"""Makes the SQLAlchemy engine of a ledger from DATABASE_URL."""

import os
import sqlite3
from pathlib import Path
from typing import Any, cast

import psycopg
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from deeds.errors import StartError
from storage.presence import InUseError
from storage.turnstile import Turnstile

# How long a writer of another process may hold the lock before we answer 503.
SQLITE_BUSY_TIMEOUT_MS = 5_000

# The oldest SQLite with RETURNING and upsert as the statements use them.
SQLITE_VERSION_MIN = (3, 35, 0)

POSTGRESQL_CONNECT_TIMEOUT_S = 5

# How long sent bytes may stay unacknowledged before the server counts as away.
POSTGRESQL_TCP_TIMEOUT_MS = 10_000

# A row that is locked for longer than this is held by somebody's forgotten session.
POSTGRESQL_LOCK_TIMEOUT_MS = 5_000

# Connections a process opens at the most, and keeps: opening one costs PostgreSQL more than a swap.
# With more of them more swaps are under way at once, not more in a second: they wait for the
# processor instead. With a database that is a millisecond away four still keep a process busy.
POOL_SIZE = 4
POOL_TIMEOUT_S = 5

# On SQLite every thread may have its own connection: it is a file handle.
SQLITE_POOL_SIZE = 64

# Execution option of a connection whose transaction will write.
WRITES = "ledger_writes"


def parse_database_url(text: str) -> URL:
    """Return the URL of a supported database with its driver named.

    Raises:
        StartError: not a URL, another database than SQLite or PostgreSQL, or one held in memory.
    """
    try:
        url = make_url(text)
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


def make_engine(url: URL) -> Engine:
    """Return an engine with the safety settings of the ledger. Connects to nothing yet.

    Raises:
        StartError: this Python's SQLite is too old.
    """
    if url.get_backend_name() == "sqlite":
        return _make_sqlite_engine(url)
    engine = create_engine(
        url,
        hide_parameters=True,
        isolation_level="READ COMMITTED",
        pool_size=POOL_SIZE,
        max_overflow=0,
        # The one used last is the warmest, and those that a quiet time leaves over are left alone.
        pool_use_lifo=True,
        pool_timeout=POOL_TIMEOUT_S,
        connect_args={
            "connect_timeout": POSTGRESQL_CONNECT_TIMEOUT_S,
            "tcp_user_timeout": POSTGRESQL_TCP_TIMEOUT_MS,
            # Whatever the URL says: another one could not send every text.
            "client_encoding": "utf8",
        },
    )
    # Before SQLAlchemy's own first look at the server, which an odd encoding makes fail.
    event.listen(engine, "connect", _configure_postgresql, insert=True)
    return engine


def _make_sqlite_engine(url: URL) -> Engine:
    if sqlite3.sqlite_version_info < SQLITE_VERSION_MIN:
        raise StartError(f"SQLite {sqlite3.sqlite_version} is too old: 3.35 is needed")
    engine = create_engine(
        url,
        hide_parameters=True,
        pool_size=SQLITE_POOL_SIZE,
        max_overflow=0,
        connect_args={"timeout": SQLITE_BUSY_TIMEOUT_MS / 1000},
    )
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def create_directory(url: URL) -> None:
    """Create the directory of an SQLite ledger, for its owner alone, unless it is there.

    Raises:
        StartError: it cannot be created.
    """
    path = Path(url.database or "")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StartError(f"DATABASE_URL: cannot open {path}: {error.strerror}") from None


def create_sqlite_file(url: URL) -> None:
    """Create an SQLite ledger's file, readable by its owner alone, unless it is there.

    Raises:
        StartError: it cannot be created.
    """
    path = Path(url.database or "")
    try:
        # Never opens a file that is there: closing it would drop SQLite's own locks on it.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise StartError(f"DATABASE_URL: cannot open {path}: {error.strerror}") from None


def lock_path(url: URL) -> Path:
    """Return the file beside an SQLite ledger that its processes lock to take turns."""
    return Path(f"{url.database}-lock")


def mark_path(url: URL) -> Path:
    """Return the file beside an SQLite ledger that holds its high-water mark."""
    return Path(f"{url.database}-mark")


def make_turnstile(url: URL) -> Turnstile:
    """Return the turnstile of an SQLite ledger's writers.

    Raises:
        OSError: its file cannot be opened.
        StartError: the ledger is being replaced.
    """
    try:
        return Turnstile(lock_path(url), timeout_s=SQLITE_BUSY_TIMEOUT_MS / 1000)
    except InUseError:
        raise StartError("DATABASE_URL: the ledger is being restored from a backup") from None


def _configure_postgresql(connection: psycopg.Connection, _record: Any) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        # Metadata may be any Unicode text.
        raise StartError(f"DATABASE_URL: the database's encoding is {encoding}; it must be UTF8")
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('lock_timeout', %s, false)", [str(POSTGRESQL_LOCK_TIMEOUT_MS)]
        )
        # An answer is given after the commit is on disk, whatever the server's default.
        cursor.execute(
            "SELECT set_config('synchronous_commit', 'on', false) "
            "WHERE current_setting('synchronous_commit') = 'off'"
        )


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
