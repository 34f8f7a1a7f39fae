"""Inspects a ledger with SQL, without the service."""

import re
from contextlib import contextmanager

from tests.support.databases import connected, is_sqlite

# The column for the expiry of an offer.
EXPIRES_AT = "expires_at_s"

# Invariants after every request. Each statement finds the violations of one.
_INVARIANTS = {
    "the live outputs of an item sum to its total": """
        SELECT id, total FROM items
        LEFT JOIN outputs ON item_id = id AND spent_by IS NULL
        GROUP BY id, total HAVING coalesce(sum(amount), 0) <> total
    """,
    "an operation creates of each item what it spends, and a mint the total": """
        SELECT operation_id, item_id FROM (
            SELECT created_by AS operation_id, item_id, amount FROM outputs
            UNION ALL
            SELECT spent_by, item_id, -amount FROM outputs WHERE spent_by IS NOT NULL
            UNION ALL
            SELECT created_by, id, -total FROM items
        ) AS moved
        GROUP BY operation_id, item_id HAVING sum(amount) <> 0
    """,
    "an output is of operations that exist, and spent by another one": """
        SELECT item_id, digest FROM outputs
        WHERE created_by NOT IN (SELECT id FROM operations)
            OR spent_by NOT IN (SELECT id FROM operations) OR spent_by = created_by
    """,
    "an operation has done what its kind says": """
        SELECT id, kind FROM operations
        WHERE (kind = 'mint') <> (id IN (SELECT created_by FROM items))
            OR (kind = 'offer') <> (id IN (SELECT created_by FROM offers))
            OR (kind = 'offer') = (id IN (SELECT created_by FROM outputs))
    """,
    "the operation that completed an offer has spent its inputs": """
        SELECT offers.id FROM offers JOIN offer_inputs ON offer_id = offers.id
        WHERE completed_by IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM outputs
            WHERE item_id = offer_inputs.item_id AND digest = offer_inputs.digest
                AND spent_by = completed_by
        )
    """,
    "the operation that completed an offer has created its outputs": """
        SELECT offers.id FROM offers JOIN offer_outputs ON offer_id = offers.id
        WHERE completed_by IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM outputs
            WHERE item_id = offer_outputs.item_id AND digest = offer_outputs.digest
                AND amount = offer_outputs.amount AND created_by = completed_by
        )
    """,
    "an offer was completed before it expired": f"""
        SELECT offers.id FROM offers JOIN operations ON completed_by = operations.id
        WHERE created_at_ms >= 1000 * {EXPIRES_AT}
    """,  # noqa: S608
}

# The tables in the order of their creation, so that each follows those it refers to.
_TABLES = {
    True: "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid",
    False: """
        SELECT relname FROM pg_class
        WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
        ORDER BY oid
    """,
}

# Terminates all other sessions on a PostgreSQL database.
CUT_OFF = """
    SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""

_HALVES = """
    SELECT kind, sum(inputs), sum(outputs) FROM (
        SELECT id AS operation_id, 0 AS inputs, 0 AS outputs FROM operations
        UNION ALL
        SELECT spent_by, 1, 0 FROM outputs
        UNION ALL
        SELECT created_by, 0, 1 FROM outputs
        UNION ALL
        SELECT created_by, 1, 0 FROM offers JOIN offer_inputs ON offer_id = offers.id
        UNION ALL
        SELECT created_by, 0, 1 FROM offers JOIN offer_outputs ON offer_id = offers.id
    ) AS halves JOIN operations ON operation_id = operations.id
    GROUP BY operations.id, kind ORDER BY operations.id
"""


class LedgerView:
    """Reads and changes the database at a URL, without the service."""

    def __init__(self, url):
        self.url = url
        self.is_sqlite = is_sqlite(url)

    def read(self, sql, *values):
        """Return the rows of a query; `?` stands for a value."""
        with connected(self.url) as connection:
            return self._run(connection, sql, values).fetchall()

    def execute(self, sql, *values):
        """Execute one statement."""
        with connected(self.url) as connection:
            self._run(connection, sql, values)

    def rows(self):
        """Return all rows of each table, sorted by their keys, which come first.

        The tables with the versions of the schema are left out.
        """
        return {
            table: sorted(self.read(f"SELECT * FROM {table}"))  # noqa: S608
            for table in self._tables()
        }

    @contextmanager
    def unchanged(self):
        """Assert that no row is changed within the block."""
        before = self.rows()
        yield
        assert self.rows() == before

    def restore(self, rows):
        """Replace all rows with these, and terminate other sessions on PostgreSQL.

        It simulates the restore of an older copy, or of the right one afterwards.
        """
        self.replace(rows)
        if not self.is_sqlite:
            self.execute(CUT_OFF)

    def replace(self, rows):
        """Replace all rows with these, which are in the form of `rows`."""
        tables = self._tables()
        with connected(self.url) as connection:
            connection.execute("BEGIN")
            if not self.is_sqlite:
                # Fails if another session still holds a lock.
                connection.execute("SET LOCAL lock_timeout = '10s'")
            for table in reversed(tables):
                connection.execute(f"DELETE FROM {table}")  # noqa: S608
            for table in tables:
                for row in rows.get(table, ()):
                    places = ", ".join("?" * len(row))
                    insert = f"INSERT INTO {table} VALUES ({places})"  # noqa: S608
                    self._run(connection, insert, row)
            connection.execute("COMMIT")

    def live(self, item_id):
        """Return the amounts of the item's unspent outputs, in ascending order."""
        return self._amounts(item_id, "spent_by IS NULL")

    def spent(self, item_id):
        """Return the amounts of the item's spent outputs, in ascending order."""
        return self._amounts(item_id, "spent_by IS NOT NULL")

    def operations(self):
        """Return kind, input count and output count of each operation, oldest first.

        An offer has the counts of its half.
        """
        return self.read(_HALVES)

    def expire_offers(self):
        """Set the expiry of all offers that are not completed to the past."""
        expired = f"UPDATE offers SET {EXPIRES_AT} = 1"  # noqa: S608
        self.execute(f"{expired} WHERE completed_by IS NULL")

    def assert_sound(self):
        """Assert the invariants, and that the database is not corrupt."""
        assert {each: self.read(sql) for each, sql in _INVARIANTS.items()} == {
            each: [] for each in _INVARIANTS
        }
        if self.is_sqlite:
            assert self.read("PRAGMA integrity_check") == [("ok",)]
            assert self.read("PRAGMA foreign_key_check") == []

    def _run(self, connection, sql, values):
        if not self.is_sqlite:
            sql = sql.replace("?", "%s")
        return connection.execute(sql, values) if values else connection.execute(sql)

    def _tables(self):
        names = [name for [name] in self.read(_TABLES[self.is_sqlite])]
        return [name for name in names if not re.search("^sqlite_|_version$", name)]

    def _amounts(self, item_id, state):
        return [
            amount
            for [amount] in self.read(
                "SELECT amount FROM outputs"  # noqa: S608
                f" WHERE item_id = ? AND {state} ORDER BY amount",
                item_id,
            )
        ]
