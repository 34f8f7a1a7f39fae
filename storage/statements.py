"""The SQL of the ledger, as SQLAlchemy Core constructs that are compiled once and cached.

Values are bound by name; a name that is also a column's gets a prefix (`at_`, `by_`).
"""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Dialect,
    Table,
    bindparam,
    exists,
    func,
    literal_column,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from storage.prepared import Prepared
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
_SPEND_OUTPUT = (
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


class Writes:
    """What mints and swaps write with. All but `item` leave a row alone which is there already."""

    def __init__(self, dialect: Dialect) -> None:
        """Take the dialect of the engine, SQLite's or PostgreSQL's."""
        self._dialect = dialect
        self.scheme = self._insert(hash_schemes, without={"id"})
        self.item = Prepared(items.insert(), dialect, items.columns.keys())
        self.item_scheme = self._insert(item_schemes)
        self.output = self._insert(outputs, without={"spent_by"})
        self.spend = Prepared(_SPEND_OUTPUT, dialect)
        self.operation = self.swap = self.widening_swap = self._operation()
        if dialect.name == "postgresql":
            # On SQLite writers take turns anyway.
            self.swap = self._operation(f"pg_advisory_xact_lock_shared({_SCHEMES_LOCK})")
            self.widening_swap = self._operation(f"pg_advisory_xact_lock({_SCHEMES_LOCK})")

    def _operation(self, *locks: str) -> Prepared:
        returning = [operations.c.id, *map(literal_column, locks)]
        return self._insert(operations, without={"id"}, returning=returning)

    def _insert(
        self,
        table: Table,
        *,
        without: Collection[str] = (),
        returning: Sequence[ColumnElement[Any]] = (),
    ) -> Prepared:
        dialect = sqlite if self._dialect.name == "sqlite" else postgresql
        insert = dialect.insert(table).on_conflict_do_nothing()
        columns = [column.name for column in table.columns if column.name not in without]
        construct = insert.returning(*returning) if returning else insert
        return Prepared(construct, self._dialect, columns)
