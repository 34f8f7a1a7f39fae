"""Looks into a ledger past the service, on a connection of its own."""

from typing import Any

from sqlalchemy import Column, ColumnElement, Engine, func, select, text

from storage.engine import make_engine, parse_database_url
from storage.tables import items, metadata, operations, outputs

Rows = dict[str, list[tuple[Any, ...]]]


def delete_all_rows(database_url: str) -> None:
    """Empty every table, unless somebody still holds a lock on one: then fail."""
    engine = make_engine(parse_database_url(database_url))
    with engine.begin() as connection:
        connection.execute(text("SET lock_timeout = '10s'"))
        for table in reversed(metadata.sorted_tables):
            connection.execute(table.delete())
    engine.dispose()


class LedgerView:
    """Reads what requests left in the database."""

    def __init__(self, engine: Engine) -> None:
        """Take an engine on the database of the service."""
        self.engine = engine

    def rows(self) -> Rows:
        """Return every row of every table."""
        with self.engine.connect() as connection:
            return {
                table.name: [tuple(row) for row in connection.execute(select(table).order_by(*key))]
                for table in metadata.sorted_tables
                if (key := list(table.primary_key))
            }

    def live(self, item_id: str) -> list[int]:
        """Return the amounts of the item's unspent outputs, in ascending order."""
        return self._amounts(item_id, spent=False)

    def spent(self, item_id: str) -> list[int]:
        """Return the amounts of the item's spent outputs, in ascending order."""
        return self._amounts(item_id, spent=True)

    def operations(self) -> list[tuple[str, int, int]]:
        """Return kind, number of inputs and number of outputs of each operation, oldest first."""
        columns = (operations.c.kind, operations.c.inputs_count, operations.c.outputs_count)
        with self.engine.connect() as connection:
            found = connection.execute(select(*columns).order_by(operations.c.id))
            return [(row.kind, row.inputs_count, row.outputs_count) for row in found]

    def assert_sound(self) -> None:
        """Assert what holds after every request, good or bad.

        The live outputs of an item add up to its total, and each operation spends as many units of
        an item as it creates, but for the mint that begins it.
        """
        with self.engine.connect() as connection:
            totals = {row.id: row.total for row in connection.execute(select(items))}
            minted = {
                (row.created_by, row.id): row.total for row in connection.execute(select(items))
            }
        live = self._sums(outputs.c.item_id, outputs.c.spent_by.is_(None))
        created = self._sums(outputs.c.created_by, outputs.c.created_by.is_not(None))
        spent = self._sums(outputs.c.spent_by, outputs.c.spent_by.is_not(None))
        assert {item_id: amount for (_, item_id), amount in live.items()} == totals
        assert created == {**minted, **spent}

    def _sums(self, group: Column[Any], where: ColumnElement[bool]) -> dict[tuple[Any, str], int]:
        columns = (group, outputs.c.item_id)
        statement = select(*columns, func.sum(outputs.c.amount)).where(where).group_by(*columns)
        with self.engine.connect() as connection:
            return {(row[0], row[1]): int(row[2]) for row in connection.execute(statement)}

    def _amounts(self, item_id: str, *, spent: bool) -> list[int]:
        state = outputs.c.spent_by.is_not(None) if spent else outputs.c.spent_by.is_(None)
        statement = select(outputs.c.amount).where(outputs.c.item_id == item_id, state)
        with self.engine.connect() as connection:
            return list(connection.execute(statement.order_by(outputs.c.amount)).scalars())
