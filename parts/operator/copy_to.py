"""Moves a ledger from an SQLite file into an empty database of another kind.

First the copy is committed, marked as unfinished. Then the old file is marked as moved.
Last, the mark of the copy is removed. So only one of them can ever be served, and an
interrupted run can be continued by another one (decision 0017, docs/decisions).
"""

import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence, Set
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
from parts.operator.backup import IN_USE, Inspect, refuse_open
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
from storage.sqlite import SqliteDatabase, sqlite_path
from storage.sqlite_writer import SqliteTransaction, code_of, connect

_VERSIONS = "schema_version"

_READ_LAST_ID = "SELECT max(id) FROM operations"
_READ_COLUMNS = "SELECT name, type FROM pragma_table_info(?)"
_READ_REFERENCES = 'SELECT "table" FROM pragma_foreign_key_list(?)'

# Sums of 64-bit integers may overflow, so their upper and lower halves are summed.
_SUMS = {"INTEGER": "sum({0} / 4294967296), sum({0} % 4294967296)"}
_OTHER_SUMS = "sum(length({0}))"

# Rows copied between two progress reports, within a few hundredths of a second.
_REPORTED_COUNT = 5_000

# Called with the number of rows copied and the number of all rows.
Report = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class _Table:
    """A table to copy, with a query for its number of rows and sums of its columns."""

    name: str
    columns: Sequence[str]
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
    with closing(SqliteDatabase(path, clock=lambda: 0)) as place, place.alone():
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
    begun = _begun_mark(ledger, target, names)
    target.database.close()
    inspect(ledger)
    number = secrets.randbits(62)
    path = sqlite_path(ledger.settings.database_url)
    with closing(connect(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        tables = _read_tables(connection, names - {_VERSIONS})
        sums = [connection.execute(table.sums_sql).fetchone() for table in tables]
        last_id = connection.execute(_READ_LAST_ID).fetchone()
        rows = _Rows(connection, sum(count for count, *_ in sums), report)

        def load(transaction: Transaction) -> None:
            _make_empty(transaction, begun, tables, target.database.name)
            upgrade_tables(transaction, target.schemas)
            for table in tables:
                transaction.load(table.name, table.columns, rows.read(table))
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
    transaction: Transaction, begun: Mark | None, tables: Sequence[_Table], place: str
) -> None:
    """Drop an unfinished copy; raise StartError if the target was changed meanwhile.

    Until the transaction ends, no other process can create, finish or serve a copy.
    """
    transaction.execute(CREATE_VERSIONS)
    versions = transaction.execute(READ_VERSIONS).fetchall()
    if find_mark(versions) != begun or (versions and begun is None):
        raise StartError(f"{place} was changed meanwhile: run copy-to again")
    if begun is not None:
        for name in (_VERSIONS, *(table.name for table in reversed(tables))):
            transaction.execute(f"DROP TABLE {name}")


def _finish(target: Ledger, names: Set[str], mark: Mark, last: Operation) -> None:
    """Remove the mark of the copy, if any; raise StartError if there is no copy."""
    is_there = False
    if names <= target.database.table_names():
        copy_mark = read_mark(target.database)
        if copy_mark is None:
            is_there = _has(target.database, last)
        elif copy_mark[1] == mark[1]:
            is_there = True
            remove = partial(remove_mark, mark=copy_mark)
            target.database.create(remove)
    if not is_there:
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


def _begun_mark(ledger: Ledger, target: Ledger, names: Set[str]) -> Mark | None:
    """Return the mark of an unfinished copy of this ledger in the target, or None.

    Raises StartError if it has another ledger's copy, or other tables of these names.
    """
    there = names & target.database.table_names()
    if not there:
        return None
    mark = read_mark(target.database) if there == names else None
    if mark is None or not _has(ledger.database, read_last_operation(target.database)):
        raise StartError(
            f"{target.database.name} has tables already, such as {min(there)}; name an"
            " empty database"
        )
    return mark


def _has(database: Database, last: Operation) -> bool:
    """Return whether a database has the operation; True for NO_OPERATION."""
    return last == NO_OPERATION or not find_missing(database, [last])


def _read_tables(connection: sqlite3.Connection, names: Set[str]) -> list[_Table]:
    """Return the tables of these names, each after the tables that it references."""
    references = {}
    for name in sorted(names):
        found = connection.execute(_READ_REFERENCES, (name,)).fetchall()
        references[name] = {table for (table,) in found}
    tables = []
    for name in TopologicalSorter(references).static_order():
        columns = dict(connection.execute(_READ_COLUMNS, (name,)).fetchall())
        sums = [
            _SUMS.get(kind, _OTHER_SUMS).format(column)
            for column, kind in columns.items()
        ]
        sums_sql = f"SELECT count(*), {', '.join(sums)} FROM {name}"  # noqa: S608
        tables.append(_Table(name, list(columns), sums_sql))
    return tables


@dataclass(slots=True)
class _Rows:
    """Reads the rows of tables, and reports the progress."""

    connection: sqlite3.Connection
    count_max: int
    report: Report
    count: int = 0

    def read(self, table: _Table) -> Iterator[Values]:
        """Yield the rows of a table, without collecting them in memory."""
        columns = ", ".join(table.columns)
        sql = f"SELECT {columns} FROM {table.name}"  # noqa: S608
        for row in self.connection.execute(sql):
            self.count += 1
            if self.count % _REPORTED_COUNT == 0 or self.count == self.count_max:
                self.report(self.count, self.count_max)
            yield row


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
