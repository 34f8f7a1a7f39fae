"""Does something at a moment of the databases' drivers here, or notes what they send.

Watched is every connection of this process that is opened after this module was
imported, but for those of `databases.connected`.
"""

import re
import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from tests.support.databases import OwnConnection

_STATEMENT = re.compile(
    r"\s*(?:WITH .*?)?(?:(SELECT)\b.*?\bFROM (\w+)|(INSERT) INTO (\w+)|(UPDATE) (\w+))",
    re.DOTALL,
)
_OPEN = {TransactionStatus.INTRANS, TransactionStatus.INERROR}

# What begins and ends a transaction is no statement here. A commit may be a statement
# or a call of the driver, and is none where no transaction is open.
_KINDS = {"BEGIN": "begin", "COMMIT": "commit"}
_SETTINGS = (["SAVEPOINT"], ["RELEASE"], ["ROLLBACK"], ["PRAGMA"])

_hooks: list[tuple[str, Any]] = []


@contextmanager
def hooked(moment, hook):
    """Call `hook(connection, sql, values)` at each such moment within the block.

    The moments are "before" and "after" each "statement", "begin" and "commit", with
    the driver's own connection, and "before connect", without one. What the hook raises
    is raised by the driver.
    """
    add_hook(moment, hook)
    try:
        yield
    finally:
        _hooks.remove((moment, hook))


def add_hook(moment, hook):
    """Call the hook, as `hooked` does, for as long as this process lives."""
    _hooks.append((moment, hook))


def break_off(connection, *_):
    """Raise what the driver does where the database is away: a hook."""
    if isinstance(connection, psycopg.Connection):
        connection.close()
    raise connection.OperationalError("server closed the connection")


def is_writer(connection):
    """Return whether the connection is in a transaction that may write."""
    return _is_in_transaction(connection) and getattr(connection, "may_write", False)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement as it was sent, once for all of its rows."""

    name: str
    sql: str
    values: Any


class StatementLog:
    """The statements that were sent, and how many transactions were committed."""

    def __init__(self):
        self.sent = []
        self.commits_count = 0

    @property
    def names(self):
        return [statement.name for statement in self.sent]

    def note(self, connection, sql, values):
        """Note a question to a table or a change of one.

        What a connection is asked first, and a look for the last operations
        whenever a second has passed, are part of no request.
        """
        if match := _STATEMENT.match(sql):
            name = " ".join(filter(None, match.groups()))
            is_look = name == "SELECT operations" and "idempotency_key_hash" not in sql
            is_first = not getattr(connection, "was_asked", False)
            is_look |= is_first and name == "SELECT schema_version"
            if not is_look:
                self.sent.append(Statement(name, sql, values))

    def note_commit(self, *_):
        self.commits_count += 1


@contextmanager
def logged_statements():
    log = StatementLog()
    with (
        hooked("before statement", log.note),
        hooked("after commit", log.note_commit),
    ):
        yield log


def _is_in_transaction(connection):
    if isinstance(connection, sqlite3.Connection):
        return connection.in_transaction
    return connection.info.transaction_status in _OPEN


def _call(moment, connection=None, sql="", values=()):
    for its_moment, hook in tuple(_hooks):
        if its_moment == moment:
            hook(connection, sql, values)


@contextmanager
def _watched(connection, sql, values=()):
    words = sql.upper().split(maxsplit=2)
    kind = _KINDS.get(words[0].rstrip(";"), "statement") if words else "statement"
    if kind == "begin":
        is_sqlite = isinstance(connection, sqlite3.Connection)
        connection.may_write = (
            words[1:2] == ["IMMEDIATE"] if is_sqlite else "READ ONLY" not in sql
        )
    is_empty_commit = kind == "commit" and not _is_in_transaction(connection)
    if is_empty_commit or words[:1] in _SETTINGS:
        yield
        return
    _call(f"before {kind}", connection, sql, values)
    if _STATEMENT.match(sql):
        connection.was_asked = True
    yield
    _call(f"after {kind}", connection, sql, values)


class _SqliteCursor(sqlite3.Cursor):
    def execute(self, sql, values=(), /):
        with _watched(self.connection, sql, values):
            return super().execute(sql, values)

    def executemany(self, sql, rows, /):
        rows = list(rows)
        with _watched(self.connection, sql, rows):
            return super().executemany(sql, rows)


class _SqliteConnection(sqlite3.Connection):
    def cursor(self, factory=_SqliteCursor):
        return super().cursor(factory)

    # The library's own would pass the cursor's methods by.
    def execute(self, sql, values=(), /):
        return self.cursor().execute(sql, values)

    def executemany(self, sql, rows, /):
        return self.cursor().executemany(sql, rows)

    def commit(self):
        with _watched(self, "COMMIT"):
            super().commit()


def _watch_sqlite():
    connect = sqlite3.connect

    @wraps(connect)
    def watched(*arguments, **options):
        if "factory" not in options:
            _call("before connect")
        return connect(*arguments, **{"factory": _SqliteConnection} | options)

    # SQLAlchemy knows the module by its other name.
    sqlite3.connect = sqlite3.dbapi2.connect = watched


def _watch_psycopg():
    def watch(method):
        @wraps(method)
        def watched(cursor, sql, *arguments, **options):
            if isinstance(cursor.connection, OwnConnection):
                return method(cursor, sql, *arguments, **options)
            text = sql.decode() if isinstance(sql, bytes) else str(sql)
            with _watched(cursor.connection, text, *arguments[:1]):
                return method(cursor, sql, *arguments, **options)

        return watched

    psycopg.Cursor.execute = watch(psycopg.Cursor.execute)
    psycopg.Cursor.executemany = watch(psycopg.Cursor.executemany)
    commit, connect = psycopg.Connection.commit, psycopg.Connection.connect.__func__

    @wraps(commit)
    def watched_commit(connection):
        with _watched(connection, "COMMIT"):
            commit(connection)

    @wraps(connect)
    def watched_connect(cls, *arguments, **options):
        if cls is not OwnConnection:
            _call("before connect")
        return connect(cls, *arguments, **options)

    psycopg.Connection.commit = watched_commit
    psycopg.Connection.connect = classmethod(watched_connect)
    psycopg.connect = psycopg.Connection.connect


_watch_sqlite()
_watch_psycopg()
