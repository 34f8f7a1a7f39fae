"""Hooks into this process's database drivers, and a log of the statements sent.

They see every connection that is opened after this module was imported, except for
those of `databases.connected`.
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

# Moments of their own, which do not count as statements. The service sends COMMIT as a
# statement: no connection's `commit` is called.
_KINDS = {"BEGIN": "begin", "COMMIT": "commit"}
_IGNORED = {"SAVEPOINT", "RELEASE", "ROLLBACK", "PRAGMA"}

_hooks: list[tuple[str, Any]] = []


@contextmanager
def hooked(moment, hook):
    """Call `hook(connection, sql, values)` at each such moment within the block.

    A moment is "before" or "after", followed by "statement", "begin" or "commit", with
    the driver's connection; or it is "before connect", without one. The driver raises
    what the hook raises.
    """
    add_hook(moment, hook)
    try:
        yield
    finally:
        _hooks.remove((moment, hook))


def add_hook(moment, hook):
    """Call the hook, as `hooked` does, until this process ends."""
    _hooks.append((moment, hook))


def break_off(connection, *_):
    """A hook that raises the driver's error for a database that cannot be reached."""
    if isinstance(connection, psycopg.Connection):
        connection.close()
    raise connection.OperationalError("server closed the connection")


def is_writer(connection):
    """Return whether the connection is in a transaction that may write."""
    if isinstance(connection, sqlite3.Connection):
        is_open = connection.in_transaction
    else:
        is_open = connection.info.transaction_status in _OPEN
    return is_open and connection.may_write


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement as it was sent; with several rows it counts once."""

    name: str
    sql: str
    values: Any


class StatementLog:
    """The statements that were sent, and the number of commits."""

    def __init__(self):
        self.sent = []
        self.commits_count = 0

    @property
    def names(self):
        return [statement.name for statement in self.sent]

    def note(self, connection, sql, values):
        """Record a query or a change of a table.

        A new connection's query of the schema version, and the periodic query for the
        last operations, are ignored, because they belong to no request.
        """
        if match := _STATEMENT.match(sql):
            name = " ".join(filter(None, match.groups()))
            is_check = name == "SELECT operations" and "idempotency_key_hash" not in sql
            is_first = not getattr(connection, "was_asked", False)
            is_check |= is_first and name == "SELECT schema_version"
            if not is_check:
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


def _call(moment, connection=None, sql="", values=()):
    for its_moment, hook in tuple(_hooks):
        if its_moment == moment:
            hook(connection, sql, values)


@contextmanager
def _watched(connection, sql, values=()):
    word, *others = sql.upper().split(maxsplit=2)
    if word in _IGNORED:
        yield
        return
    kind = _KINDS.get(word, "statement")
    if kind == "begin":
        is_sqlite = isinstance(connection, sqlite3.Connection)
        connection.may_write = (
            others[:1] == ["IMMEDIATE"] if is_sqlite else "READ ONLY" not in sql
        )
    _call(f"before {kind}", connection, sql, values)
    if _STATEMENT.match(sql):
        connection.was_asked = True
    yield
    _call(f"after {kind}", connection, sql, values)


class _SqliteConnection(sqlite3.Connection):
    def execute(self, sql, values=(), /):
        with _watched(self, sql, values):
            return super().execute(sql, values)

    def executemany(self, sql, rows, /):
        rows = list(rows)
        with _watched(self, sql, rows):
            return super().executemany(sql, rows)


def _watch_sqlite():
    connect = sqlite3.connect

    @wraps(connect)
    def watched(*arguments, **options):
        if "factory" not in options:
            _call("before connect")
        return connect(*arguments, **{"factory": _SqliteConnection} | options)

    sqlite3.connect = watched


def _watch_psycopg():
    def watch(method):
        @wraps(method)
        def watched(cursor, sql, *arguments, **options):
            if isinstance(cursor.connection, OwnConnection):
                return method(cursor, sql, *arguments, **options)
            text = sql.decode() if isinstance(sql, bytes) else sql
            with _watched(cursor.connection, text, *arguments[:1]):
                return method(cursor, sql, *arguments, **options)

        return watched

    psycopg.Cursor.execute = watch(psycopg.Cursor.execute)
    psycopg.Cursor.executemany = watch(psycopg.Cursor.executemany)
    connect = psycopg.Connection.connect.__func__

    @wraps(connect)
    def watched_connect(cls, *arguments, **options):
        if cls is not OwnConnection:
            _call("before connect")
        return connect(cls, *arguments, **options)

    psycopg.Connection.connect = classmethod(watched_connect)


_watch_sqlite()
_watch_psycopg()
