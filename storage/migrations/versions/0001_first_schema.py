"""The first schema. Frozen: a change is a later revision, and `storage.tables` follows it."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_AMOUNT_MAX = 9_007_199_254_740_991
_SERIAL_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create the five tables."""
    _create_hash_schemes()
    _create_operations()
    _create_items()
    _create_item_schemes()
    _create_outputs()


def _create_hash_schemes() -> None:
    op.create_table(
        "hash_schemes",
        sa.Column("id", _SERIAL_ID, primary_key=True),
        sa.Column("secret_class", sa.Text, nullable=False),
        sa.Column("memory_cost_kib", sa.Integer, nullable=False),
        sa.Column("time_cost", sa.Integer, nullable=False),
        sa.Column("parallelism", sa.Integer, nullable=False),
        sa.Column("pepper_fingerprint", sa.Text, nullable=False),
        sa.Column("key_salt", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint(
            "secret_class", "memory_cost_kib", "time_cost", "parallelism", "pepper_fingerprint"
        ),
        sa.CheckConstraint("secret_class IN ('ordinary', 'strong')", name="secret_class"),
        sa.CheckConstraint("length(key_salt) = 16", name="key_salt"),
    )


def _create_operations() -> None:
    op.create_table(
        "operations",
        sa.Column("id", _SERIAL_ID, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("idempotency_key_hash", sa.LargeBinary, unique=True),
        sa.Column("inputs_count", sa.Integer, nullable=False),
        sa.Column("outputs_count", sa.Integer, nullable=False),
        sa.Column("created_at_ms", sa.BigInteger, nullable=False),
        sa.CheckConstraint(
            "kind = 'mint' AND inputs_count = 0 OR kind = 'swap' AND inputs_count > 0", name="kind"
        ),
        sa.CheckConstraint("outputs_count > 0", name="outputs_count"),
        sa.CheckConstraint("length(idempotency_key_hash) = 32", name="idempotency_key_hash"),
    )


def _create_items() -> None:
    op.create_table(
        "items",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("total", sa.BigInteger, nullable=False),
        sa.Column("metadata", sa.Text),
        sa.Column("salt", sa.LargeBinary, nullable=False),
        sa.Column(
            "created_by", _SERIAL_ID, sa.ForeignKey("operations.id"), nullable=False, unique=True
        ),
        sa.CheckConstraint(f"total BETWEEN 1 AND {_AMOUNT_MAX}", name="total"),
        sa.CheckConstraint("length(salt) = 16", name="salt"),
    )


def _create_item_schemes() -> None:
    op.create_table(
        "item_schemes",
        sa.Column("item_id", sa.Text, sa.ForeignKey("items.id"), primary_key=True),
        sa.Column("scheme_id", _SERIAL_ID, sa.ForeignKey("hash_schemes.id"), primary_key=True),
        sqlite_with_rowid=False,
    )


def _create_outputs() -> None:
    op.create_table(
        "outputs",
        sa.Column("item_id", sa.Text, sa.ForeignKey("items.id"), primary_key=True),
        sa.Column("digest", sa.LargeBinary, primary_key=True),
        sa.Column("scheme_id", _SERIAL_ID, sa.ForeignKey("hash_schemes.id"), nullable=False),
        sa.Column("amount", sa.BigInteger, nullable=False),
        sa.Column("created_by", _SERIAL_ID, sa.ForeignKey("operations.id"), nullable=False),
        sa.Column("spent_by", _SERIAL_ID, sa.ForeignKey("operations.id")),
        sa.CheckConstraint("length(digest) = 32", name="digest"),
        sa.CheckConstraint(f"amount BETWEEN 1 AND {_AMOUNT_MAX}", name="amount"),
        sa.CheckConstraint("spent_by > created_by", name="spent_by"),
        sqlite_with_rowid=False,
    )
