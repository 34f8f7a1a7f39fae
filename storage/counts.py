"""How much there is in a ledger."""

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, func, select, text

from deeds.domain.model import OperationKind
from storage.tables import items, metadata, operations, outputs


@dataclass(frozen=True, slots=True)
class LedgerCounts:
    """Numbers of rows."""

    items: int
    mints: int
    swaps: int
    live_outputs: int
    spent_outputs: int

    @property
    def operations(self) -> int:
        """Return how many operations there are of both kinds."""
        return self.mints + self.swaps


def count_ledger(connection: Connection) -> LedgerCounts:
    """Count every row once. Reads the whole ledger."""
    is_mint = operations.c.kind == OperationKind.MINT
    of_items = connection.execute(select(func.count()).select_from(items)).scalar_one()
    of_operations = connection.execute(
        select(func.count().label("all"), func.count().filter(is_mint).label("mints")).select_from(
            operations
        )
    ).one()
    of_outputs = connection.execute(
        # COUNT of a column leaves NULLs out.
        select(func.count().label("all"), func.count(outputs.c.spent_by).label("spent"))
    ).one()
    return LedgerCounts(
        items=of_items,
        mints=of_operations.mints,
        swaps=of_operations.all - of_operations.mints,
        live_outputs=of_outputs.all - of_outputs.spent,
        spent_outputs=of_outputs.spent,
    )


def count_bytes(connection: Connection) -> int:
    """Return the size of the ledger on disk, indexes and write-ahead log included."""
    if connection.dialect.name == "sqlite":
        path = str(connection.engine.url.database)
        files = [Path(path + suffix) for suffix in ("", "-wal", "-shm")]
        return sum(file.stat().st_size for file in files if file.exists())
    sizes = [
        connection.execute(
            text("SELECT pg_total_relation_size(CAST(:name AS regclass))"), {"name": name}
        ).scalar_one()
        for name in metadata.tables
    ]
    return sum(sizes)
