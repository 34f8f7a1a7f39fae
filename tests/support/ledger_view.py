"""Looks into a ledger past the service, on a connection of its own."""

from contextlib import contextmanager

from sqlalchemy import select

from storage.audit import audit
from storage.engine import make_engine, parse_database_url
from storage.transactions import WRITES
from tests.support.tables import metadata, offers, operations, outputs

# Ends the server's side of every other connection to a database of PostgreSQL.
CUT_OFF = """
    SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


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

    def execute(self, *statements):
        """Change the ledger by these statements, in one transaction."""
        with self.engine.execution_options(**{WRITES: True}).begin() as connection:
            for statement in statements:
                connection.execute(statement)

    @contextmanager
    def unchanged(self):
        """Assert that no row is changed within the block."""
        before = self.rows()
        yield
        assert self.rows() == before

    def restore(self, rows):
        """Put rows of before in place of all that there are; cut off who is connected.

        As an older copy of the ledger does, or the right one afterwards.
        """
        tables = metadata.sorted_tables
        kept = [table for table in tables if rows[table.name]]
        self.execute(
            *(table.delete() for table in reversed(tables)),
            *(table.insert().values(rows[table.name]) for table in kept),
        )
        if self.engine.dialect.name == "postgresql":
            with self.engine.connect() as connection:
                connection.exec_driver_sql(CUT_OFF)

    def live(self, item_id):
        """Return the amounts of the item's unspent outputs, in ascending order."""
        return self._amounts(item_id, outputs.c.spent_by.is_(None))

    def spent(self, item_id):
        """Return the amounts of the item's spent outputs, in ascending order."""
        return self._amounts(item_id, outputs.c.spent_by.is_not(None))

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
        expired = offers.update().values(expires_at=1)
        self.execute(expired.where(offers.c.completed_by.is_(None)))

    def assert_sound(self):
        """Assert what holds after every request, good or bad.

        All that an audit looks for.
        """
        assert audit(self.engine).findings == {}

    def _amounts(self, item_id, state):
        statement = select(outputs.c.amount).where(outputs.c.item_id == item_id, state)
        with self.engine.connect() as connection:
            return list(
                connection.execute(statement.order_by(outputs.c.amount)).scalars()
            )
