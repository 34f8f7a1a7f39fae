"""The SQL of the ledger, as SQLAlchemy Core constructs that are compiled once and cached.

Values are bound by name; a name that is also a column's gets a prefix (`at_`, `by_`).
"""

from sqlalchemy import Table, bindparam, exists, func, select, text, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.dml import Insert

from storage.tables import hash_schemes, item_schemes, items, operations, outputs

READ_SCHEMES = select(hash_schemes).order_by(hash_schemes.c.id)

READ_SCHEME_USE = select(
    exists().where(item_schemes.c.scheme_id == bindparam("scheme_id")).label("is_used"),
    exists()
    .where(outputs.c.scheme_id == bindparam("scheme_id"), outputs.c.spent_by.is_(None))
    .label("is_guarding"),
)

READ_ITEM = select(items.c.id, items.c.total, items.c.metadata).where(
    items.c.id == bindparam("item_id")
)

READ_GUARDS = (
    select(items.c.id, items.c.salt, item_schemes.c.scheme_id)
    .join_from(items, item_schemes)
    .where(items.c.id.in_(bindparam("item_ids", expanding=True)))
)

# Of one item: for a list of pairs of item and digest SQLite reads the whole table.
READ_OUTPUTS = select(outputs).where(
    outputs.c.item_id == bindparam("of_item_id"),
    outputs.c.digest.in_(bindparam("digests", expanding=True)),
)

READ_OPERATION = (
    select(
        operations.c.id,
        operations.c.kind,
        operations.c.inputs_count,
        operations.c.outputs_count,
        items.c.id.label("item_id"),
    )
    .join_from(operations, items, items.c.created_by == operations.c.id, isouter=True)
    .where(operations.c.idempotency_key_hash.in_(bindparam("key_hashes", expanding=True)))
)

READ_NEWEST_OPERATION = (
    select(operations.c.id, operations.c.created_at_ms).order_by(operations.c.id.desc()).limit(1)
)

READ_OPERATION_TIME = select(operations.c.id, operations.c.created_at_ms).where(
    operations.c.id == bindparam("operation_id")
)

READ_SCHEMES_COUNTS = (
    select(item_schemes.c.item_id, func.count().label("schemes_count"))
    .where(item_schemes.c.item_id.in_(bindparam("item_ids", expanding=True)))
    .group_by(item_schemes.c.item_id)
)

# The arbiter of a double spend. The amount is compared here too, so what a swap says of its inputs
# is what the ledger holds; and nothing is spent by an operation that began before it was created.
# The count makes sure that the item has no scheme under which the outputs were not looked for.
SPEND_OUTPUT = (
    update(outputs)
    .where(
        outputs.c.item_id == bindparam("at_item_id"),
        outputs.c.digest == bindparam("at_digest"),
        outputs.c.amount == bindparam("at_amount"),
        outputs.c.created_by < bindparam("by_operation"),
        outputs.c.spent_by.is_(None),
        select(func.count())
        .where(item_schemes.c.item_id == bindparam("at_item_id"))
        .scalar_subquery()
        == bindparam("at_schemes_count"),
    )
    .values(spent_by=bindparam("by_operation"))
)


READ_REVISION = text("SELECT version_num FROM alembic_version")

# On PostgreSQL: makes those wait for each other who may record one key under different hashes.
LOCK_KEY = select(func.pg_advisory_xact_lock(bindparam("lock")))

# On PostgreSQL a swap that brings an item its first output under a scheme runs while no other swap
# does: the others were hashed without that scheme. This happens after a change of settings only.
_SCHEMES_LOCK = 0x736368656D6573


class Inserts:
    """The inserts that leave a row alone which is there already; each dialect has its construct."""

    def __init__(self, dialect_name: str) -> None:
        """Take the name of SQLAlchemy's dialect, sqlite or postgresql."""
        self._dialect_name = dialect_name
        self.scheme = self._unless_there(hash_schemes)
        self.operation = self._unless_there(operations).returning(operations.c.id)
        self.swap = self.widening_swap = self.operation
        if dialect_name == "postgresql":
            # On SQLite writers take turns anyway.
            self.swap = self.operation.returning(func.pg_advisory_xact_lock_shared(_SCHEMES_LOCK))
            self.widening_swap = self.operation.returning(func.pg_advisory_xact_lock(_SCHEMES_LOCK))
        self.item_scheme = self._unless_there(item_schemes)
        # SQLAlchemy forgets how many rows an INSERT wrote unless it is told to keep the number.
        self.output = self._unless_there(outputs).execution_options(preserve_rowcount=True)

    def _unless_there(self, table: Table) -> Insert:
        if self._dialect_name == "sqlite":
            return sqlite.insert(table).on_conflict_do_nothing()
        return postgresql.insert(table).on_conflict_do_nothing()
