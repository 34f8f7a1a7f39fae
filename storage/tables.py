"""The tables of the ledger, from which a new database is made.

An older one is upgraded by `migrations`. Rows are never deleted. The constraints carry
the invariants: amounts are positive, a secret is used once in an item (primary key of
`outputs`), an output is spent by a later operation than created it.
"""

import sqlalchemy as sa

from deeds.domain.model import AMOUNT_MAX, OFFER_EXPIRES_IN_S

# SQLite gives out ascending row ids only for a column of the type INTEGER.
SerialId = sa.BigInteger().with_variant(sa.Integer, "sqlite")

metadata = sa.MetaData(
    naming_convention={
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
    }
)

# What the settings asked for at some mint; the first one is that of the first start.
hash_policies = sa.Table(
    "hash_policies",
    metadata,
    sa.Column("id", SerialId, primary_key=True),
    sa.Column("memory_cost_kib", sa.Integer, nullable=False),
    sa.Column("time_cost", sa.Integer, nullable=False),
    sa.Column("parallelism", sa.Integer, nullable=False),
    # Empty where there is no pepper: NULLs would not be unique.
    sa.Column("pepper_fingerprint", sa.Text, nullable=False),
    sa.UniqueConstraint(
        "memory_cost_kib", "time_cost", "parallelism", "pepper_fingerprint"
    ),
)

operations = sa.Table(
    "operations",
    metadata,
    sa.Column("id", SerialId, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("idempotency_key_hash", sa.LargeBinary),
    sa.Column("inputs_count", sa.Integer, nullable=False),
    sa.Column("outputs_count", sa.Integer, nullable=False),
    # Milliseconds since 1970-01-01 UTC.
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.CheckConstraint(
        "kind = 'mint' AND inputs_count = 0 OR kind = 'swap' AND inputs_count > 0"
        " OR kind = 'offer' AND inputs_count >= 0",
        name="kind",
    ),
    sa.CheckConstraint("outputs_count > 0", name="outputs_count"),
    sa.CheckConstraint(
        "length(idempotency_key_hash) = 32", name="idempotency_key_hash"
    ),
)

# Most operations have no key: they add nothing to this index, which spares each of them
# a page of the log.
_HAS_KEY = operations.c.idempotency_key_hash.is_not(None)
sa.Index(
    "uq_operations_idempotency_key_hash",
    operations.c.idempotency_key_hash,
    unique=True,
    sqlite_where=_HAS_KEY,
    postgresql_where=_HAS_KEY,
)

items = sa.Table(
    "items",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("total", sa.BigInteger, nullable=False),
    sa.Column("metadata", sa.Text),
    sa.Column("salt", sa.LargeBinary, nullable=False),
    sa.Column(
        "hash_policy_id", SerialId, sa.ForeignKey("hash_policies.id"), nullable=False
    ),
    sa.Column(
        "created_by",
        SerialId,
        sa.ForeignKey("operations.id"),
        nullable=False,
        unique=True,
    ),
    sa.CheckConstraint(f"total BETWEEN 1 AND {AMOUNT_MAX}", name="total"),
    sa.CheckConstraint("length(salt) = 16", name="salt"),
)

outputs = sa.Table(
    "outputs",
    metadata,
    sa.Column("item_id", sa.Text, sa.ForeignKey("items.id"), primary_key=True),
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    sa.Column("amount", sa.BigInteger, nullable=False),
    sa.Column("created_by", SerialId, sa.ForeignKey("operations.id"), nullable=False),
    sa.Column("spent_by", SerialId, sa.ForeignKey("operations.id")),
    sa.CheckConstraint("length(digest) = 32", name="digest"),
    sa.CheckConstraint(f"amount BETWEEN 1 AND {AMOUNT_MAX}", name="amount"),
    sa.CheckConstraint("spent_by > created_by", name="spent_by"),
    # One b-tree, ordered by item: a probe finds the row itself.
    sqlite_with_rowid=False,
)

# Half a swap each. Nothing in them ever changes but `completed_by`, once.
offers = sa.Table(
    "offers",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column(
        "created_by",
        SerialId,
        sa.ForeignKey("operations.id"),
        nullable=False,
        unique=True,
    ),
    sa.Column("completed_by", SerialId, sa.ForeignKey("operations.id"), unique=True),
    # Seconds, and seconds since 1970-01-01 UTC.
    sa.Column("expires_in", sa.Integer, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.CheckConstraint("completed_by > created_by", name="completed_by"),
    sa.CheckConstraint(
        "expires_in BETWEEN {} AND {}".format(*OFFER_EXPIRES_IN_S), name="expires_in"
    ),
)

offer_inputs = sa.Table(
    "offer_inputs",
    metadata,
    sa.Column("offer_id", sa.Text, sa.ForeignKey("offers.id"), primary_key=True),
    sa.Column("item_id", sa.Text, primary_key=True),
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    sa.ForeignKeyConstraint(
        ["item_id", "digest"], ["outputs.item_id", "outputs.digest"]
    ),
    sqlite_with_rowid=False,
)

offer_outputs = sa.Table(
    "offer_outputs",
    metadata,
    sa.Column("offer_id", sa.Text, sa.ForeignKey("offers.id"), primary_key=True),
    sa.Column("item_id", sa.Text, sa.ForeignKey("items.id"), primary_key=True),
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    sa.Column("amount", sa.BigInteger, nullable=False),
    sa.CheckConstraint("length(digest) = 32", name="digest"),
    sa.CheckConstraint(f"amount BETWEEN 1 AND {AMOUNT_MAX}", name="amount"),
    sqlite_with_rowid=False,
)
