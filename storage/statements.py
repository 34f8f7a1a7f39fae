"""The SQL of the ledger, as SQLAlchemy Core constructs.

Values are bound by name; a name that is also a column's gets a prefix (`at_`, `by_`).
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, cast

from sqlalchemy import (
    Connection,
    CursorResult,
    Dialect,
    Table,
    bindparam,
    exists,
    func,
    literal_column,
    select,
    text,
    true,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ClauseElement

from storage.mark_file import Mark
from storage.tables import hash_schemes, item_schemes, items, operations, outputs

Values = Mapping[str, Any]

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

READ_ITEM_SCHEMES = (
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

READ_OPERATION_TIMES = select(operations.c.id, operations.c.created_at_ms).where(
    operations.c.id.in_(bindparam("operation_ids", expanding=True))
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

# By dialect. A PostgreSQL that is in recovery is read-only too.
READ_READINESS = {
    "sqlite": text("SELECT version_num, FALSE AS is_read_only FROM alembic_version"),
    "postgresql": text(
        "SELECT version_num, current_setting('transaction_read_only') = 'on' AS is_read_only "
        "FROM alembic_version"
    ),
}

# Writes a page and changes nothing.
WRITE_NOTHING = text("UPDATE alembic_version SET version_num = version_num")

# On PostgreSQL: transactions that may bring an item one secret under different schemes wait for
# each other. Rows that refer to an item can be written meanwhile.
LOCK_ITEMS = (
    select(items.c.id)
    .where(items.c.id.in_(bindparam("item_ids", expanding=True)))
    .order_by(items.c.id)
    .with_for_update(key_share=True)
)

# On PostgreSQL: transactions that may record one key under different hashes wait for each other.
LOCK_KEY = select(func.pg_advisory_xact_lock(bindparam("lock")))

# On PostgreSQL a swap that brings an item its first output under a scheme runs while no other swap
# does: the others were hashed without that scheme. This happens after a change of settings only.
_SCHEMES_LOCK = 0x736368656D6573


class CompiledStatement:
    """A statement compiled once for one dialect, whose values go to the driver as they are.

    For what every mint or swap writes: to look up its own compiled SQL and the types of the values
    at every execution costs SQLAlchemy a tenth of all that a strong swap costs the service.
    """

    def __init__(
        self, construct: ClauseElement, dialect: Dialect, columns: Sequence[str] | None = None
    ) -> None:
        """Compile the construct; `columns` of an INSERT are those whose values are bound."""
        compiled = cast(SQLCompiler, construct.compile(dialect=dialect, column_keys=columns))
        self._text = compiled.string
        # On SQLite values are bound by place.
        self._order = compiled.positiontup

    def execute(self, connection: Connection, values: Values) -> CursorResult[Any]:
        """Execute it once."""
        return connection.exec_driver_sql(self._text, self._bound(values))

    def execute_all(self, connection: Connection, rows: Sequence[Values]) -> int:
        """Execute it once for each of the rows; return how many rows of the table it wrote."""
        return connection.exec_driver_sql(self._text, [self._bound(row) for row in rows]).rowcount

    def _bound(self, values: Values) -> Any:
        if self._order is None:
            return dict(values)
        return tuple([values[name] for name in self._order])


class WriteStatements:
    """What mints and swaps write with. All but `item` leave a row alone which is there already."""

    def __init__(self, dialect: Dialect) -> None:
        """Compile the statements for the dialect of an engine, SQLite's or PostgreSQL's."""
        self._dialect = dialect
        self.scheme = self._insert(hash_schemes, without={"id"})
        self.item = CompiledStatement(items.insert(), dialect, items.columns.keys())
        self.item_scheme = self._insert(item_schemes)
        self.output = self._insert(outputs, without={"spent_by"})
        self.spend = CompiledStatement(_SPEND_OUTPUT, dialect)
        self.operation = self.swap = self.widening_swap = OperationInsert(dialect)
        if dialect.name == "postgresql":
            # On SQLite writers take turns anyway.
            shared = f"pg_advisory_xact_lock_shared({_SCHEMES_LOCK})"
            self.swap = OperationInsert(dialect, shared)
            exclusive = f"pg_advisory_xact_lock({_SCHEMES_LOCK})"
            self.widening_swap = OperationInsert(dialect, exclusive)

    def _insert(self, table: Table, *, without: Collection[str] = ()) -> CompiledStatement:
        insert = _insert_of(self._dialect)(table).on_conflict_do_nothing()
        columns = [column.name for column in table.columns if column.name not in without]
        return CompiledStatement(insert, self._dialect, columns)


class OperationInsert:
    """Inserts an operation if its key is not taken and all its predecessors are in the ledger."""

    def __init__(self, dialect: Dialect, *locks: str) -> None:
        """Compile the INSERT; the transaction takes the locks with the row."""
        self._dialect = dialect
        self._returning = [operations.c.id, *map(literal_column, locks)]
        # By the number of predecessors: most often one, at most as many as overlapped.
        self._compiled = cache(self._compile)

    def execute(
        self, connection: Connection, values: Values, predecessors: Sequence[Mark]
    ) -> CursorResult[Any]:
        """Execute it; no row comes back where the condition does not hold."""
        bound = dict(values)
        for at, mark in enumerate(predecessors):
            bound[f"before_id_{at}"] = mark.operation_id
            bound[f"before_ms_{at}"] = mark.created_at_ms
        return self._compiled(len(predecessors)).execute(connection, bound)

    def _compile(self, count: int) -> CompiledStatement:
        columns = [column for column in operations.columns if column.name != "id"]
        values = select(*(bindparam(column.name, type_=column.type) for column in columns))
        conditions = (
            exists().where(
                operations.c.id == bindparam(f"before_id_{at}"),
                operations.c.created_at_ms == bindparam(f"before_ms_{at}"),
            )
            for at in range(count)
        )
        # Without a WHERE SQLite would take ON CONFLICT for a part of the SELECT.
        insert = _insert_of(self._dialect)(operations).from_select(
            [column.name for column in columns], values.where(true(), *conditions)
        )
        construct = insert.on_conflict_do_nothing().returning(*self._returning)
        return CompiledStatement(construct, self._dialect)


def _insert_of(dialect: Dialect) -> Any:
    return sqlite.insert if dialect.name == "sqlite" else postgresql.insert
