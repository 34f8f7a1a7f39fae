"""Compares the tables of a ledger with those that this code creates."""

import logging
import re
from collections.abc import Sequence

from deeds.errors import LedgerUnavailableError, StartError
from deeds.part import Ledger
from storage.database import Rows, Transaction
from storage.schema import CREATE_VERSIONS, READ_VERSIONS

# More than anybody reads.
PLACES_COUNT_MAX = 20

# The name of a table and a definition: a column, constraint, index or trigger.
Piece = tuple[str, str]

# A comma that separates columns and constraints: no parenthesis is closed after it.
_SEPARATOR = re.compile(r", (?![^(]*\))")

_log = logging.getLogger("deeds")


def check_tables(ledger: Ledger) -> None:
    """Raise StartError where the tables differ; warn where they have other indexes."""
    differences, remarks = compare_tables(ledger)
    if remarks:
        _log.warning(listed(remarks), extra={"event": "tables"})
    if differences:
        raise StartError(
            "DATABASE_URL: the tables are not those of this code:"
            f" {listed(differences)}"
        )


def compare_tables(ledger: Ledger) -> tuple[list[str], list[str]]:
    """Compare the tables of the core and of each part with those that it creates.

    Returns the differences, and remarks on what changes nothing that is written. Where
    a part's tables have a later version they are left out, and so are tables of others.
    """
    database = ledger.database
    try:
        actual = _pieces(database.read(database.definitions_sql))
        expected = pieces_of_code(ledger)
    except LedgerUnavailableError as error:
        return [], [f"the tables were not compared: {error}"]
    tables = {table for table, _ in expected}
    missing = tables - {table for table, _ in actual}
    differences = [f"there is no table {table}" for table in sorted(missing)]
    remarks: list[str] = []
    for table, definition in sorted(expected - actual):
        if table not in missing:
            differences.append(f"{table} lacks {definition}")
    for table, definition in sorted(actual - expected):
        if table in tables:
            # A unique one refuses rows.
            is_harmless = definition.startswith("CREATE INDEX ")
            lines = remarks if is_harmless else differences
            lines.append(f"{table} has {definition}")
    return differences, remarks


def listed(places: Sequence[str]) -> str:
    """Return the first of them in one line."""
    more = " and more" if len(places) > PLACES_COUNT_MAX else ""
    return ", ".join(places[:PLACES_COUNT_MAX]) + more


def pieces_of_code(ledger: Ledger) -> set[Piece]:
    """Return what this code creates, of those whose version is its newest."""
    versions = {part: number for part, number, _ in ledger.database.read(READ_VERSIONS)}

    def create(transaction: Transaction) -> list[Piece]:
        transaction.execute(CREATE_VERSIONS)
        pieces: set[Piece] = set()
        before: set[Piece] = set()
        for schema in ledger.schemas:
            for version in schema.versions:
                version.upgrade(transaction)
            rows = transaction.execute(ledger.database.definitions_sql).fetchall()
            after = _pieces(rows)
            if versions[schema.part] == schema.newest:
                pieces |= after - before
            before = after
        return list(pieces)

    return set(ledger.database.run_in_scratch(create))


def _pieces(rows: Rows) -> set[Piece]:
    """Return definitions in one line each, and those of tables in pieces."""
    return {(table, piece) for table, sql in rows for piece in _split(sql)}


def _split(sql: str) -> list[str]:
    """Return the columns and constraints of a table, each alone."""
    sql = " ".join(sql.split())
    if not sql.startswith("CREATE TABLE "):
        return [sql]
    columns, _, options = sql.partition("(")[2].rpartition(")")
    pieces = [*_SEPARATOR.split(columns), options]
    return [piece.strip() for piece in pieces if piece.strip()]
