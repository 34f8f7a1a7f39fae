"""Proves that a ledger keeps its invariants, or says where it does not. Changes nothing.

It reads one state of the ledger while the service goes on. The database does the sorting; here is
never more in memory than a few rows.
"""

from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import Column, Connection, Engine, Row, Select

from storage import audit_statements as statements
from storage.audit_report import AuditReport, Invariant
from storage.counts import count_ledger
from storage.tables import items, operations
from storage.transactions import snapshot

# Called with the steps that are done and with how many there are in all.
Progress = Callable[[int, int], None]

# Items whose outputs are sorted at once.
ITEMS_AT_ONCE = 10_000

# Operations whose outputs are counted at once; each time the whole table of outputs is read.
OPERATIONS_AT_ONCE = 2_000_000

# Rows that a server of PostgreSQL sends at once.
_ROWS_AT_ONCE = 1_000


def audit(engine: Engine, progress: Progress) -> AuditReport:
    """Check every invariant of the ledger.

    Args:
        engine: on a ledger of the code's revision.
        progress: is told of every step.

    Raises:
        DBAPIError: the database does not answer.
    """
    with snapshot(engine) as connection:
        report = AuditReport(count_ledger(connection))
        counts = report.counts
        done, steps_count = 0, counts.items + counts.operations
        _check_database(connection, report)
        _check_schemes(connection, report)
        for within, count in _ranges(connection, items.c.id, ITEMS_AT_ONCE, counts.items):
            _check_items(connection, within, report)
            done += count
            progress(done, steps_count)
        for within, count in _ranges(
            connection, operations.c.id, OPERATIONS_AT_ONCE, counts.operations
        ):
            _check_operations(connection, within, report)
            done += count
            progress(done, steps_count)
        report.add(Invariant.KEY_ONCE, _ids(connection, statements.REPEATED_KEYS))
    return report


def _check_database(connection: Connection, report: AuditReport) -> None:
    """Let SQLite check its pages and indexes. Rows are checked by ourselves, in our own words."""
    if connection.dialect.name != "sqlite":
        return
    said = (row[0] for row in connection.exec_driver_sql("PRAGMA integrity_check(100)"))
    ours = ("ok", "CHECK constraint failed")
    report.add(Invariant.DATABASE, (each for each in said if not each.startswith(ours)))


def _check_schemes(connection: Connection, report: AuditReport) -> None:
    report.add(Invariant.SCHEME_FORM, _ids(connection, statements.ODD_SCHEMES))


def _check_items(connection: Connection, within: statements.Range, report: AuditReport) -> None:
    for row in _rows(connection, statements.item_sums(within)):
        if not row.exists:
            report.add(Invariant.OUTPUT_ITEM, [row.item_id])
        elif row.differs:
            report.add(Invariant.ITEM_TOTAL, [row.item_id])
    for row in _rows(connection, statements.odd_outputs(within, connection.dialect.name)):
        place = f"{row.item_id} (operation {row.created_by})"
        report.add(Invariant.OUTPUT_FORM, [] if row.has_form else [place])
        report.add(Invariant.OUTPUT_SCHEME, [] if row.has_scheme else [place])
        report.add(Invariant.OUTPUT_ORDER, [] if row.has_order else [place])
    report.add(
        Invariant.OPERATION_BALANCE,
        (
            f"{row.operation_id} ({row.item_id})"
            for row in _rows(connection, statements.operation_sums(within))
        ),
    )
    report.add(
        Invariant.ITEM_SCHEMES,
        (
            f"{row.item_id} (scheme {row.scheme_id})"
            for row in _rows(connection, statements.odd_item_schemes(within))
        ),
    )
    report.add(Invariant.OUTPUT_ONCE, _ids(connection, statements.repeated_outputs(within)))
    report.add(Invariant.ITEM_FORM, _ids(connection, statements.odd_items(within)))


def _check_operations(
    connection: Connection, within: statements.Range, report: AuditReport
) -> None:
    for row in _rows(connection, statements.odd_operations(within)):
        if not row.is_known:
            report.add(Invariant.OPERATION_KNOWN, [row.id])
            continue
        report.add(Invariant.OPERATION_COUNTS, [] if row.is_counted else [row.id])
        report.add(Invariant.OPERATION_KIND, [] if row.is_kind else [row.id])


def _ranges(
    connection: Connection, column: Column[Any], count: int, count_all: int
) -> Iterator[tuple[statements.Range, int]]:
    """Yield ranges of so many ids that hold whatever there is, each with how many ids it holds."""
    after = None
    while count_all > count:
        last = connection.execute(statements.nth_id_after(column, after, count)).scalar_one()
        yield statements.Range(after, last), count
        after = last
        count_all -= count
    yield statements.Range(after, None), count_all


def _ids(connection: Connection, statement: Select[Any]) -> Iterator[Any]:
    return (row[0] for row in _rows(connection, statement))


def _rows(connection: Connection, statement: Select[Any]) -> Iterator[Row[Any]]:
    # So many at a time: in a ledger that is wholly wrong, every row is a finding.
    yield from connection.execute(statement, execution_options={"yield_per": _ROWS_AT_ONCE})
