"""Offers: three tables, and an operation of a kind of its own that makes one.

Code of the first schema may go on beside it: it knows nothing of offers, and harms
none.
"""

from alembic import op
from sqlalchemy import text

from storage.tables import metadata

revision = "0002_from_0001"
down_revision = "0001"

_KIND = "kind = 'mint' AND inputs_count = 0 OR kind = 'swap' AND inputs_count > 0"
_KIND_WITH_OFFER = f"{_KIND} OR kind = 'offer' AND inputs_count >= 0"

_CREATED = [
    metadata.tables[name] for name in ("offers", "offer_inputs", "offer_outputs")
]


def upgrade() -> None:
    """Create the tables, and let operations make offers."""
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        op.drop_constraint("ck_operations_kind", "operations")
        op.create_check_constraint("kind", "operations", _KIND_WITH_OFFER)
    else:
        _widen_on_sqlite()
    metadata.create_all(connection, tables=_CREATED, checkfirst=False)


def _widen_on_sqlite() -> None:
    """Change the text of the constraint, which changes no row that is there.

    SQLite cannot alter one. This is the second procedure of its page on ALTER TABLE;
    the first one would copy the whole table, with foreign keys off for the connection.
    """
    connection = op.get_bind()
    version = connection.scalar(text("PRAGMA schema_version"))
    connection.execute(text("PRAGMA writable_schema = ON"))
    changed = connection.execute(
        text(
            "UPDATE sqlite_schema SET sql = replace(sql, :before, :after)"
            " WHERE type = 'table' AND name = 'operations' AND instr(sql, :before)"
        ),
        {"before": f"({_KIND})", "after": f"({_KIND_WITH_OFFER})"},
    )
    if changed.rowcount != 1:
        raise RuntimeError("the table operations has no such constraint")
    connection.execute(text(f"PRAGMA schema_version = {version + 1}"))
    # Off, and this connection reads the schema as it is now.
    connection.execute(text("PRAGMA writable_schema = RESET"))
