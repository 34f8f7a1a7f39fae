"""Moves a ledger from an SQLite file into an empty database of another kind.

First the copy is committed, marked as unfinished. Then the old file is marked as moved.
Last, the mark of the copy is removed. So only one of them can ever be served, and an
interrupted run can be continued by another one (decision 0017, docs/decisions).
"""

import secrets
import sqlite3
from collections.abc import Callable, Sequence, Set
from contextlib import closing
from dataclasses import dataclass
from errno import EBUSY
from functools import partial
from graphlib import TopologicalSorter
from pathlib import Path

from deeds.errors import StartError
from deeds.model import Operation
from deeds.part import Ledger
from deeds.settings import COMMAND
from parts.operator.backup import IN_USE, Inspect, open_sqlite, refuse_open
from parts.operator.tables import pieces_of_code
from storage.database import NO_OPERATION, Database, Transaction, Values
from storage.repository import find_missing, read_last_operation
from storage.schema import (
    CREATE_VERSIONS,
    INCOMING,
    MOVED,
    READ_VERSIONS,
    Mark,
    find_mark,
    read_mark,
    remove_mark,
    set_mark,
    upgrade_tables,
)
from storage.sqlite import sqlite_path
from storage.sqlite_writer import SqliteTransaction, code_of, connect

_VERSIONS = "schema_version"

_READ_LAST_ID = "SELECT max(id) FROM operations"
_READ_COLUMNS = "SELECT name, type FROM pragma_table_info(?)"
_READ_REFERENCES = 'SELECT "table" FROM pragma_foreign_key_list(?)'

# Sums of 64-bit integers may overflow, so their upper and lower halves are summed.
_SUMS = {"INTEGER": "sum({0} / 4294967296), sum({0} % 4294967296)"}
_OTHER_SUMS = "sum(length({0}))"

# Called with the name of a table that is copied, and its number of rows.
Report = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class _Table:
    """A table to copy, and queries for its rows, and for their number and sums."""

    name: str
    columns: Sequence[str]
    rows_sql: str
    sums_sql: str


def copy_to(ledger: Ledger, target: Ledger, inspect: Inspect, report: Report) -> None:
    """Move a ledger into the target's database, or finish an interrupted move.

    `inspect` raises if a ledger violates an invariant. Raises StartError, OSError if
    the file is in use, or sqlite3.Error. It may be called again after an error.
    """
    path = sqlite_path(ledger.settings.database_url)
    # refuse_open closes the file, which would release the locks of open connections.
    ledger.database.close()
    # A service that starts now waits, and is refused once the file is marked.
    with closing(open_sqlite(path)) as source, source.alone():
        refuse_open(path)
        names = {table for table, _ in pieces_of_code(ledger)}
        last = read_last_operation(ledger.database)
        mark = read_mark(ledger.database)
        if mark is None:
            mark = _copy(ledger, target, names, inspect, report)
        _finish(target, names, mark, last)


def _copy(
    ledger: Ledger, target: Ledger, names: Set[str], inspect: Inspect, report: Report
) -> Mark:
    """Copy and inspect the ledger, then mark the old file; return its mark."""
    # Refuse to move an older copy of the ledger.
    ledger.database.check_start()
    _check_versions_equal(ledger)
    unfinished = _unfinished_mark(ledger, target, names)
    # The copy requires that the target has no other sessions.
    target.database.close()
    inspect(ledger)
    number = secrets.randbits(62)
    path = sqlite_path(ledger.settings.database_url)
    with closing(connect(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        tables = _read_tables(connection, names - {_VERSIONS})
        sums = [connection.execute(table.sums_sql).fetchone() for table in tables]
        last_id = connection.execute(_READ_LAST_ID).fetchone()

        def load(transaction: Transaction) -> None:
            _make_empty(transaction, unfinished, tables, target.database.name)
            upgrade_tables(transaction, target.schemas)
            for table, (rows_count, *_) in zip(tables, sums, strict=True):
                # An open cursor would keep the file locked after the connection closes.
                with closing(connection.execute(table.rows_sql)) as rows:
                    transaction.load(table.name, table.columns, rows)
                report(table.name, rows_count)
            set_mark(transaction, (f"{INCOMING}{ledger.database.name}", number))

        target.database.create(load)
    inspect(target)
    with target.database.snapshot() as read:
        if [tuple(read(table.sums_sql)[0]) for table in tables] != sums:
            raise StartError(f"the copy in {target.database.name} has other rows")
    ledger.database.close()
    mark = f"{MOVED}{target.database.name}", number
    _mark_moved(path, mark, last_id)
    return mark


def _make_empty(
    transaction: Transaction,
    unfinished: Mark | None,
    tables: Sequence[_Table],
    target_name: str,
) -> None:
    """Drop an unfinished copy; raise StartError if the target was changed meanwhile.

    `unfinished` is the mark of the unfinished copy, None if there was none. Until the
    transaction ends, no other process can create, finish or serve a copy.
    """
    transaction.execute(CREATE_VERSIONS)
    versions = transaction.execute(READ_VERSIONS).fetchall()
    if find_mark(versions) != unfinished or (versions and unfinished is None):
        raise StartError(f"{target_name} was changed meanwhile: run copy-to again")
    if unfinished is not None:
        for name in (_VERSIONS, *(table.name for table in reversed(tables))):
            transaction.execute(f"DROP TABLE {name}")


def _finish(target: Ledger, names: Set[str], mark: Mark, last: Operation) -> None:
    """Remove the mark of the copy, if any; raise StartError if there is no copy."""
    has_copy = False
    if names <= target.database.table_names():
        copy_mark = read_mark(target.database)
        if copy_mark is None:
            has_copy = _has_operation(target.database, last)
        elif copy_mark[1] == mark[1]:
            has_copy = True
            remove = partial(remove_mark, mark=copy_mark)
            target.database.create(remove)
    if not has_copy:
        raise StartError(
            f"this ledger was {mark[0]}, and that copy is not in"
            f" {target.database.name}; if it is lost for good, run: {COMMAND}"
            " accept-rollback"
        )


def _check_versions_equal(ledger: Ledger) -> None:
    """Raise StartError if tables have other versions, or are unknown to this code.

    They would not be copied completely.
    """
    rows = ledger.database.read(READ_VERSIONS)
    actual = {part: version for part, version, _ in rows}
    expected = {schema.part: schema.newest for schema in ledger.schemas}
    parts = sorted(part for part, _ in actual.items() ^ expected.items())
    if parts:
        raise StartError(
            f"the tables of {parts[0]} have another version than this code, or are"
            " unknown to it: copy by the code that has made them"
        )


def _unfinished_mark(ledger: Ledger, target: Ledger, names: Set[str]) -> Mark | None:
    """Return the mark of an unfinished copy of this ledger in the target, or None.

    Raises StartError if it has another ledger's copy, or other tables of these names.
    """
    existing = names & target.database.table_names()
    if not existing:
        return None
    mark = read_mark(target.database) if existing == names else None
    if mark is not None:
        last = read_last_operation(target.database)
        if _has_operation(ledger.database, last):
            return mark
    raise StartError(
        f"{target.database.name} has tables already, such as {min(existing)}; name an"
        " empty database"
    )


def _has_operation(database: Database, last: Operation) -> bool:
    """Return whether a database has an operation; True for NO_OPERATION."""
    return last == NO_OPERATION or not find_missing(database, [last])


def _read_tables(connection: sqlite3.Connection, names: Set[str]) -> list[_Table]:
    """Return the tables of these names, each after the tables that it references."""
    references = {}
    for name in sorted(names):
        rows = connection.execute(_READ_REFERENCES, (name,)).fetchall()
        references[name] = {table for (table,) in rows}
    tables = []
    for name in TopologicalSorter(references).static_order():
        columns = dict(connection.execute(_READ_COLUMNS, (name,)).fetchall())
        sums = [
            _SUMS.get(kind, _OTHER_SUMS).format(column)
            for column, kind in columns.items()
        ]
        rows_sql = f"SELECT {', '.join(columns)} FROM {name}"  # noqa: S608
        sums_sql = f"SELECT count(*), {', '.join(sums)} FROM {name}"  # noqa: S608
        tables.append(_Table(name, list(columns), rows_sql, sums_sql))
    return tables


def _mark_moved(path: Path, mark: Mark, last_id: Values) -> None:
    """Mark the file; raise OSError if another process has it open.

    A process that opens it later sees the mark. Raises StartError if operations were
    added after the copy.
    """
    with closing(connect(path)) as connection:
        # Makes BEGIN fail while another process has a connection, even only to read.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if code_of(error) != "SQLITE_BUSY":
                raise
            raise OSError(EBUSY, IN_USE, str(path)) from None
        if connection.execute(_READ_LAST_ID).fetchone() != last_id:
            raise StartError(f"{path} was written meanwhile: run copy-to again")
        set_mark(SqliteTransaction(connection, 0), mark)
        connection.execute("COMMIT")
