"""Looks into a ledger past the service, on a connection of its own."""

from contextlib import contextmanager

from sqlalchemy import select, text

from storage.audit import audit
from storage.engine import make_engine, parse_database_url
from storage.tables import metadata, offers, operations, outputs
from storage.transactions import WRITES


def delete_all_rows(database_url):
    """Empty every table, unless somebody still holds a lock on one: then fail."""
    engine = make_engine(parse_database_url(database_url))
    with engine.begin() as connection:
        connection.execute(text("SET lock_timeout = '10s'"))
        for table in reversed(metadata.sorted_tables):
            connection.execute(table.delete())
    engine.dispose()


@contextmanager
def ledger_view(database_url):
    """Look into the database, on no connection that outlives the block."""
    engine = make_engine(parse_database_url(database_url))
    try:
        yield LedgerView(engine)
    finally:
        engine.dispose()


class LedgerView:
    """Reads what requests left in the database."""

    def __init__(self, engine):
        self.engine = engine

    def rows(self):
        with self.engine.connect() as connection:
            return {
                table.name: [
                    tuple(row)
                    for row in connection.execute(select(table).order_by(*key))
                ]
                for table in metadata.sorted_tables
                if (key := list(table.primary_key))
            }

    def live(self, item_id):
        """Return the amounts of the item's unspent outputs, in ascending order."""
        return self._amounts(item_id, spent=False)

    def spent(self, item_id):
        """Return the amounts of the item's spent outputs, in ascending order."""
        return self._amounts(item_id, spent=True)

    def operations(self):
        """Return kind, number of inputs and number of outputs of each operation, oldest
        first.
        """
        columns = (
            operations.c.kind,
            operations.c.inputs_count,
            operations.c.outputs_count,
        )
        with self.engine.connect() as connection:
            found = connection.execute(select(*columns).order_by(operations.c.id))
            return [(row.kind, row.inputs_count, row.outputs_count) for row in found]

    def expire_offers(self):
        """Let every offer that is not completed have expired."""
        with self.engine.execution_options(**{WRITES: True}).begin() as connection:
            expired = offers.update().values(expires_at=1)
            connection.execute(expired.where(offers.c.completed_by.is_(None)))

    def assert_sound(self):
        """Assert what holds after every request, good or bad.

        All that an audit looks for.
        """
        assert audit(self.engine).findings == {}

    def _amounts(self, item_id, *, spent):
        state = (
            outputs.c.spent_by.is_not(None) if spent else outputs.c.spent_by.is_(None)
        )
        statement = select(outputs.c.amount).where(outputs.c.item_id == item_id, state)
        with self.engine.connect() as connection:
            return list(
                connection.execute(statement.order_by(outputs.c.amount)).scalars()
            )
