"""The tables of the ledger, for the statements of `repository`. The schema is made by `migrations`.

Rows are never deleted. The constraints carry the invariants: amounts are positive, a secret is used
once in an item (primary key of `outputs`), an output is spent by a later operation than created it.
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

from deeds.domain.model import AMOUNT_MAX, OFFER_EXPIRES_IN_S

# SQLite gives out ascending row ids only for a column of the type INTEGER.
SerialId = BigInteger().with_variant(Integer, "sqlite")

metadata = MetaData(
    naming_convention={
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
    }
)

hash_schemes = Table(
    "hash_schemes",
    metadata,
    Column("id", SerialId, primary_key=True),
    Column("secret_class", Text, nullable=False),
    Column("memory_cost_kib", Integer, nullable=False),
    Column("time_cost", Integer, nullable=False),
    Column("parallelism", Integer, nullable=False),
    # Empty where there is no pepper: NULLs would not be unique.
    Column("pepper_fingerprint", Text, nullable=False),
    Column("key_salt", LargeBinary, nullable=False),
    UniqueConstraint(
        "secret_class", "memory_cost_kib", "time_cost", "parallelism", "pepper_fingerprint"
    ),
    CheckConstraint("secret_class IN ('ordinary', 'strong')", name="secret_class"),
    CheckConstraint("length(key_salt) = 16", name="key_salt"),
)

operations = Table(
    "operations",
    metadata,
    Column("id", SerialId, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("idempotency_key_hash", LargeBinary, unique=True),
    Column("inputs_count", Integer, nullable=False),
    Column("outputs_count", Integer, nullable=False),
    # Milliseconds since 1970-01-01 UTC.
    Column("created_at_ms", BigInteger, nullable=False),
    CheckConstraint(
        "kind = 'mint' AND inputs_count = 0 OR kind = 'swap' AND inputs_count > 0"
        " OR kind = 'offer' AND inputs_count >= 0",
        name="kind",
    ),
    CheckConstraint("outputs_count > 0", name="outputs_count"),
    CheckConstraint("length(idempotency_key_hash) = 32", name="idempotency_key_hash"),
)

items = Table(
    "items",
    metadata,
    Column("id", Text, primary_key=True),
    Column("total", BigInteger, nullable=False),
    Column("metadata", Text),
    Column("salt", LargeBinary, nullable=False),
    Column("created_by", SerialId, ForeignKey("operations.id"), nullable=False, unique=True),
    CheckConstraint(f"total BETWEEN 1 AND {AMOUNT_MAX}", name="total"),
    CheckConstraint("length(salt) = 16", name="salt"),
)

# Which schemes an item's outputs were hashed under: one row, or a few after a change of settings.
item_schemes = Table(
    "item_schemes",
    metadata,
    Column("item_id", Text, ForeignKey("items.id"), primary_key=True),
    Column("scheme_id", SerialId, ForeignKey("hash_schemes.id"), primary_key=True),
    sqlite_with_rowid=False,
)

outputs = Table(
    "outputs",
    metadata,
    Column("item_id", Text, ForeignKey("items.id"), primary_key=True),
    Column("digest", LargeBinary, primary_key=True),
    Column("scheme_id", SerialId, ForeignKey("hash_schemes.id"), nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("created_by", SerialId, ForeignKey("operations.id"), nullable=False),
    Column("spent_by", SerialId, ForeignKey("operations.id")),
    CheckConstraint("length(digest) = 32", name="digest"),
    CheckConstraint(f"amount BETWEEN 1 AND {AMOUNT_MAX}", name="amount"),
    CheckConstraint("spent_by > created_by", name="spent_by"),
    # One b-tree, ordered by item: a probe finds the row itself.
    sqlite_with_rowid=False,
)

# Half a swap each. Nothing in them ever changes but `completed_by`, once.
offers = Table(
    "offers",
    metadata,
    Column("id", Text, primary_key=True),
    Column("created_by", SerialId, ForeignKey("operations.id"), nullable=False, unique=True),
    Column("completed_by", SerialId, ForeignKey("operations.id"), unique=True),
    # Seconds, and seconds since 1970-01-01 UTC.
    Column("expires_in", Integer, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    # The strong scheme of its outputs, and how many others their items had in all at the making.
    Column("scheme_id", SerialId, ForeignKey("hash_schemes.id"), nullable=False),
    Column("other_schemes_count", Integer, nullable=False),
    CheckConstraint("completed_by > created_by", name="completed_by"),
    CheckConstraint("expires_in BETWEEN {} AND {}".format(*OFFER_EXPIRES_IN_S), name="expires_in"),
)

offer_inputs = Table(
    "offer_inputs",
    metadata,
    Column("offer_id", Text, ForeignKey("offers.id"), primary_key=True),
    Column("item_id", Text, primary_key=True),
    Column("digest", LargeBinary, primary_key=True),
    ForeignKeyConstraint(["item_id", "digest"], ["outputs.item_id", "outputs.digest"]),
    sqlite_with_rowid=False,
)

offer_outputs = Table(
    "offer_outputs",
    metadata,
    Column("offer_id", Text, ForeignKey("offers.id"), primary_key=True),
    Column("item_id", Text, ForeignKey("items.id"), primary_key=True),
    Column("digest", LargeBinary, primary_key=True),
    # None where the key is what the secret of an output would have under an older scheme.
    Column("amount", BigInteger),
    CheckConstraint("length(digest) = 32", name="digest"),
    CheckConstraint(f"amount BETWEEN 1 AND {AMOUNT_MAX}", name="amount"),
    sqlite_with_rowid=False,
)
