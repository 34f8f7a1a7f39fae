"""How much there is in a ledger, and under which hash schemes."""

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, text

from deeds.domain.model import HashScheme
from storage import statements
from storage.repository import scheme_of
from storage.tables import metadata

_COUNT_LEDGER = text("""
    SELECT items, operations, mints, outputs, spent
    FROM (SELECT count(*) AS items FROM items) AS of_items
    CROSS JOIN (
        SELECT count(*) AS operations, count(*) FILTER (WHERE kind = 'mint') AS mints
        FROM operations
    ) AS of_operations
    CROSS JOIN (SELECT count(*) AS outputs, count(spent_by) AS spent FROM outputs) AS of_outputs
""")

_COUNT_SCHEME = text(
    "SELECT count(*) AS outputs, count(spent_by) AS spent FROM outputs WHERE scheme_id = :id"
)


@dataclass(frozen=True, slots=True)
class LedgerCounts:
    """Numbers of rows."""

    items: int
    mints: int
    swaps: int
    live_outputs: int
    spent_outputs: int


@dataclass(frozen=True, slots=True)
class SchemeCounts:
    """A scheme and how many outputs it guards."""

    scheme: HashScheme
    live: int
    spent: int


def count_ledger(connection: Connection) -> LedgerCounts:
    """Count every row once. Reads the whole ledger."""
    row = connection.execute(_COUNT_LEDGER).one()
    return LedgerCounts(
        items=row.items,
        mints=row.mints,
        swaps=row.operations - row.mints,
        live_outputs=row.outputs - row.spent,
        spent_outputs=row.spent,
    )


def count_schemes(connection: Connection) -> list[SchemeCounts]:
    """Return the counts of every scheme ever recorded, oldest first. Reads every output."""
    schemes = [scheme_of(row) for row in connection.execute(statements.READ_SCHEMES)]
    # One after the other, so that nothing is sorted: there are few.
    rows = [connection.execute(_COUNT_SCHEME, {"id": scheme.id}).one() for scheme in schemes]
    return [
        SchemeCounts(scheme, row.outputs - row.spent, row.spent)
        for scheme, row in zip(schemes, rows, strict=True)
    ]


def count_bytes(connection: Connection) -> int:
    """Return the size of the ledger on disk, indexes and write-ahead log included."""
    if connection.dialect.name == "sqlite":
        path = str(connection.engine.url.database)
        files = [Path(path + suffix) for suffix in ("", "-wal", "-shm")]
        return sum(file.stat().st_size for file in files if file.exists())
    size = text("SELECT pg_total_relation_size(CAST(:name AS regclass))")
    return sum(connection.execute(size, {"name": name}).scalar_one() for name in metadata.tables)
