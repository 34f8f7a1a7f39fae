"""Compares the tables of a ledger with those that this code creates."""

import logging
import re
from collections.abc import Sequence

from deeds.errors import LedgerUnavailableError, StartError
from deeds.part import Ledger
from storage.database import Rows, Transaction
from storage.schema import CREATE_VERSIONS, READ_VERSIONS

# Places named in a message.
PLACES_COUNT_MAX = 20

# The name of a table and a definition: a column, constraint, index or trigger.
Piece = tuple[str, str]

# A comma between columns and constraints, not one within parentheses.
_SEPARATOR = re.compile(r", (?![^(]*\))")

_log = logging.getLogger("deeds")


def check_tables(ledger: Ledger) -> None:
    """Raise StartError if the tables differ; warn if they have further indexes."""
    differences, remarks = compare_tables(ledger)
    if remarks:
        _log.warning(join_places(remarks), extra={"event": "tables"})
    refuse_differences(differences)


def refuse_differences(differences: Sequence[str]) -> None:
    """Raise StartError if `compare_tables` has found differences."""
    if differences:
        raise StartError(
            "DATABASE_URL: the tables are not those of this code:"
            f" {join_places(differences)}"
        )


def compare_tables(ledger: Ledger) -> tuple[list[str], list[str]]:
    """Compare the ledger's tables with those that the core and the parts create.

    Returns differences, and remarks on those that cannot affect writes. Tables of later
    versions and unknown tables are not compared.
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
            # A unique index would refuse rows.
            is_harmless = definition.startswith("CREATE INDEX ")
            lines = remarks if is_harmless else differences
            lines.append(f"{table} has {definition}")
    return differences, remarks


def join_places(places: Sequence[str]) -> str:
    """Return the first PLACES_COUNT_MAX places in one line."""
    more = " and more" if len(places) > PLACES_COUNT_MAX else ""
    return ", ".join(places[:PLACES_COUNT_MAX]) + more


def pieces_of_code(ledger: Ledger) -> set[Piece]:
    """Return the definitions that this code creates.

    Omits schemas of which the ledger does not have the newest version.
    """
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
    """Return the definitions, each in one line; those of tables are split."""
    return {(table, piece) for table, sql in rows for piece in _split(sql)}


def _split(sql: str) -> list[str]:
    """Return the columns and constraints of a table, or another definition whole."""
    sql = " ".join(sql.split())
    if not sql.startswith("CREATE TABLE "):
        return [sql]
    columns, _, options = sql.partition("(")[2].rpartition(")")
    pieces = [*_SEPARATOR.split(columns), options]
    return [piece.strip() for piece in pieces if piece.strip()]
