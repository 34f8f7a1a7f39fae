"""DATABASE_URL, and the SQLAlchemy engine made from it."""

import re
import sqlite3
from functools import partial
from time import monotonic
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from deeds.domain.errors import StartError
from storage.driver import BoundedConnection
from storage.sqlite_writer import BUSY_TIMEOUT_S
from storage.transactions import SECONDS_MAX, STATEMENT_TIMEOUT, begin

# What libpq is told unless DATABASE_URL says otherwise. A server that does not
# acknowledge what was sent, or does not answer three probes of an idle connection,
# counts as away: after 10 and 25 s.
POSTGRESQL_OPTIONS = {
    "connect_timeout": "2",
    "tcp_user_timeout": "10000",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
}

# Connections a process opens at the most, and keeps: opening one costs PostgreSQL more
# than a swap. With more of them more swaps are under way at once, not more in a second:
# they wait for the processor instead. With a database that is a millisecond away four
# still keep a process busy.
POOL_SIZE = 4
POOL_TIMEOUT_S = 2

# What `version()` names where PostgreSQL's protocol is spoken and another database
# answers: one whose ids or unique keys the ledger cannot rely on (docs/performance.md).
_NOT_POSTGRESQL = re.compile("CockroachDB|Greenplum|-YB-")

# User and password as SQLAlchemy reads them, so the password ends at the first "@";
# then the hosts.
_POSTGRESQL_URL = re.compile(
    r"(postgres(?:ql)?(?:\+\w+)?://(?:[^:/]*(?P<password>:[^@]*)?@)?)"
    r"(?P<hosts>[^/?]*)(?P<rest>.*)",
    re.DOTALL,
)


def parse_database_url(text: str) -> URL:
    """Return the URL of an SQLite file or a PostgreSQL database.

    Raises StartError for others.
    """
    try:
        url = _read_url(text)
    except (ArgumentError, ValueError, psycopg.ProgrammingError):
        raise StartError("DATABASE_URL is not a database URL") from None
    backend = url.drivername.partition("+")[0]
    if backend in {"postgres", "postgresql"}:
        return url.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise StartError(
            "DATABASE_URL must name an SQLite file or a PostgreSQL database"
        )
    if not url.database or url.database == ":memory:":
        raise StartError(
            "DATABASE_URL names a database in memory, which would lose every deed"
        )
    if url.query:
        raise StartError("DATABASE_URL takes no options for an SQLite file")
    return url.set(drivername="sqlite+pysqlite")


def _read_url(text: str) -> URL:
    """Return the URL.

    Several hosts, as libpq writes them (`h1:p1,h2:p2`), become options.
    """
    found = _POSTGRESQL_URL.fullmatch(text)
    if found and found["password"] and "@" in found["hosts"] + found["rest"]:
        # What follows the first one would be looked up as a host, and shown in errors.
        raise StartError("DATABASE_URL has an '@' that is not escaped: write it as %40")
    if found is None or "," not in found["hosts"]:
        return make_url(text)
    url = make_url(found[1] + found["rest"])
    hosts: dict[str, Any] = conninfo_to_dict(f"postgresql://{found['hosts']}")
    return url.set(query=hosts | dict(url.query))


def make_engine(url: URL, pool_size: int = POOL_SIZE) -> Engine:
    """Return an engine with the safety settings of the ledger.

    `pool_size` is that of PostgreSQL. Raises StartError for wrong options. It connects
    to nothing yet.
    """
    if url.get_backend_name() == "sqlite":
        engine = _make_sqlite_engine(url)
    else:
        engine = _make_postgresql_engine(url, pool_size)
    event.listen(engine, "begin", begin)
    return engine


def _make_sqlite_engine(url: URL) -> Engine:
    # The oldest one with RETURNING.
    if sqlite3.sqlite_version_info < (3, 35, 0):
        raise StartError(f"SQLite {sqlite3.sqlite_version} is too old: 3.35 is needed")
    engine = create_engine(
        url,
        hide_parameters=True,
        # Every thread may have its own connection: it is a file handle.
        pool_size=64,
        max_overflow=0,
        # The driver begins no transaction of its own.
        connect_args={"timeout": BUSY_TIMEOUT_S, "isolation_level": None},
    )
    event.listen(engine, "connect", _configure_sqlite)
    return engine


def _configure_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    [mode] = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StartError(
            "DATABASE_URL: the file system of the SQLite file does not support WAL"
        )
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _make_postgresql_engine(url: URL, pool_size: int) -> Engine:
    # Whatever the URL says of the encoding: another one could not send every text.
    options = POSTGRESQL_OPTIONS | dict(url.query) | {"client_encoding": "utf8"}
    threshold = options.get("prepare_threshold")
    connect_args: dict[str, Any] = {"autocommit": True}
    try:
        if threshold is not None:
            connect_args["prepare_threshold"] = (
                None if threshold == "None" else int(str(threshold))
            )
        engine = create_engine(
            url.set(query=options),
            hide_parameters=True,
            pool_size=pool_size,
            max_overflow=0,
            # The one used last is the warmest; those that a quiet time leaves over are
            # left alone.
            pool_use_lifo=True,
            pool_timeout=POOL_TIMEOUT_S,
            connect_args=connect_args,
        )
    except (ArgumentError, ValueError):
        raise StartError(
            "DATABASE_URL must give one host and port, or as many ports as hosts, and"
            " as prepare_threshold, if at all, a whole number or None"
        ) from None
    # Before SQLAlchemy's own first look at the server, which fails with some encodings.
    event.listen(
        engine, "connect", partial(_prepare_or_close, connect_args), insert=True
    )
    event.listen(engine, "do_connect", _connect)
    event.listen(engine, "checkout", _set_deadline)
    return engine


def _connect(
    _dialect: Any, _record: Any, arguments: Any, options: Any
) -> BoundedConnection:
    return BoundedConnection.connect(*arguments, **options)


def _set_deadline(connection: BoundedConnection, *_: Any) -> None:
    connection.deadline_s = monotonic() + SECONDS_MAX


def _prepare_or_close(
    given: dict[str, Any], connection: psycopg.Connection, _record: Any
) -> None:
    try:
        _prepare_session(given, connection)
    except BaseException:
        # SQLAlchemy leaves it open.
        connection.close()
        raise


def _prepare_session(given: dict[str, Any], connection: psycopg.Connection) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        # Metadata may be any Unicode text.
        raise StartError(
            f"DATABASE_URL: the database's encoding is {encoding}; it must be UTF8"
        )
    [(version, process_id)] = connection.execute("SELECT version(), pg_backend_pid()")
    if _NOT_POSTGRESQL.search(version):
        raise StartError(
            f"DATABASE_URL: the ledger needs PostgreSQL itself, and this is {version}"
        )
    # A pooler makes up the process id that it tells at the start of a session. Behind
    # one nothing is kept in a session: the next transaction may get another one.
    if process_id == connection.info.backend_pid:
        # Bounds reads, unless the database or its role does.
        connection.execute(
            f"SELECT set_config('statement_timeout', '{STATEMENT_TIMEOUT}', false)"
            " WHERE current_setting('statement_timeout') = '0'"
        )
    elif "prepare_threshold" not in given:
        connection.prepare_threshold = None
