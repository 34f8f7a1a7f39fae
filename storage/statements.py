"""The SQL of the ledger, the same for SQLite and PostgreSQL but where a comment says so.

What operations write is plain text, which `storage.operations` gives to the driver; the
rest is SQLAlchemy's `text`.
"""

import re

from sqlalchemy import TextClause, bindparam, text


def _reading(sql: str) -> TextClause:
    """Return a query in which `IN :name` takes a list of any length."""
    lists = re.findall(r"IN :(\w+)", sql)
    return text(sql).bindparams(*(bindparam(name, expanding=True) for name in lists))


# No `*`: PostgreSQL refuses a prepared one after a migration that adds a column.
READ_SCHEMES = text("""
    SELECT id, secret_class, memory_cost_kib, time_cost, parallelism, pepper_fingerprint, key_salt
    FROM hash_schemes ORDER BY id
""")

READ_SCHEME_USE = text("""
    SELECT CASE
        WHEN EXISTS (SELECT 1 FROM outputs WHERE scheme_id = :scheme_id AND spent_by IS NULL)
            THEN 'unspent'
        WHEN EXISTS (SELECT 1 FROM item_schemes WHERE scheme_id = :scheme_id) THEN 'spent'
        ELSE 'nothing'
    END
""")

READ_ITEM = text("SELECT id, total, metadata FROM items WHERE id = :item_id")

READ_ITEM_SCHEMES = _reading("""
    SELECT items.id, items.salt, items.total, item_schemes.scheme_id
    FROM items JOIN item_schemes ON item_schemes.item_id = items.id
    WHERE items.id IN :item_ids
""")

# Of one item: for a list of pairs of item and digest SQLite reads the whole table.
READ_OUTPUTS = _reading("""
    SELECT digest, scheme_id, amount, created_by, spent_by FROM outputs
    WHERE item_id = :item_id AND digest IN :digests
""")

READ_OPERATION = _reading("""
    SELECT operations.id, kind, inputs_count, outputs_count, items.id AS item_id,
        offers.id AS offer_id
    FROM operations LEFT JOIN items ON items.created_by = operations.id
    LEFT JOIN offers
        ON offers.created_by = operations.id OR offers.completed_by = operations.id
    WHERE idempotency_key_hash IN :key_hashes
""")

READ_NEWEST_OPERATION = text(
    "SELECT id, created_at_ms FROM operations ORDER BY id DESC LIMIT 1"
)

READ_OPERATION_TIMES = _reading(
    "SELECT id, created_at_ms FROM operations WHERE id IN :operation_ids"
)

# How many strong schemes but its own the items of an offer's outputs have by now.
_OTHER_SCHEMES_COUNT = """(
    SELECT count(*) FROM item_schemes JOIN hash_schemes ON hash_schemes.id = scheme_id
    WHERE secret_class = 'strong' AND scheme_id <> offers.scheme_id
        AND item_id IN (SELECT item_id FROM offer_outputs WHERE offer_id = offers.id)
)"""

# The offer itself with its state, then a row for each input and each output. Void: an
# input is spent, a new secret is used, or could be used under another strong scheme:
# that of the process that asks, or one that an item has got since the making.
READ_OFFER = text(f"""
    SELECT CASE
        WHEN completed_by IS NOT NULL THEN 'completed'
        WHEN expires_at * 1000 <= :now_ms THEN 'expired'
        WHEN scheme_id <> :scheme_id OR EXISTS (
            SELECT 1 FROM offer_inputs JOIN outputs USING (item_id, digest)
            WHERE offer_id = offers.id AND spent_by IS NOT NULL
        ) OR EXISTS (
            SELECT 1 FROM offer_outputs JOIN outputs USING (item_id, digest)
            WHERE offer_id = offers.id
        ) OR other_schemes_count < {_OTHER_SCHEMES_COUNT} THEN 'void'
        ELSE 'open'
    END AS what, scheme_id, expires_in, expires_at,
        NULL AS item_id, NULL AS digest, NULL AS amount
    FROM offers WHERE id = :offer_id
    UNION ALL
    SELECT 'input', outputs.scheme_id, NULL, NULL, item_id, digest, amount
    FROM offer_inputs JOIN outputs USING (item_id, digest) WHERE offer_id = :offer_id
    UNION ALL
    SELECT 'output', NULL, NULL, NULL, item_id, digest, amount
    FROM offer_outputs WHERE offer_id = :offer_id
""")  # noqa: S608 - made of constants

COUNT_OTHER_SCHEMES = _reading("""
    SELECT count(*) FROM item_schemes JOIN hash_schemes ON hash_schemes.id = scheme_id
    WHERE secret_class = 'strong' AND scheme_id <> :scheme_id AND item_id IN :item_ids
""")

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

# On PostgreSQL: transactions that may bring an item one secret under different schemes
# wait for each other. Rows that refer to an item can be written meanwhile.
LOCK_ITEMS = _reading(
    "SELECT id FROM items WHERE id IN :item_ids ORDER BY id FOR NO KEY UPDATE"
)

# On PostgreSQL: transactions that may record one key under different hashes wait for
# each other.
LOCK_KEY = text("SELECT pg_advisory_xact_lock(:lock)")

INSERT_SCHEME = text("""
    INSERT INTO hash_schemes (
        secret_class, memory_cost_kib, time_cost, parallelism, pepper_fingerprint, key_salt
    ) VALUES (
        :secret_class, :memory_cost_kib, :time_cost, :parallelism, :pepper_fingerprint, :key_salt
    ) ON CONFLICT DO NOTHING
""")

INSERT_ITEM = """
    INSERT INTO items (id, total, metadata, salt, created_by)
    VALUES (:id, :total, :metadata, :salt, :created_by)
"""

INSERT_ITEM_SCHEME = """
    INSERT INTO item_schemes (item_id, scheme_id) VALUES (:item_id, :scheme_id)
    ON CONFLICT DO NOTHING
"""

INSERT_OUTPUT = """
    INSERT INTO outputs (item_id, digest, scheme_id, amount, created_by)
    VALUES (:item_id, :digest, :scheme_id, :amount, :created_by)
    ON CONFLICT DO NOTHING
"""

# The arbiter of a double spend. The amount is compared here too, so what a swap says of
# its inputs is what the ledger holds; and nothing is spent by an operation that began
# before it was created. The count makes sure that the item has no scheme under which
# the outputs were not looked for.
SPEND_OUTPUT = """
    UPDATE outputs SET spent_by = :operation_id
    WHERE item_id = :item_id AND digest = :digest AND amount = :amount
        AND created_by < :operation_id AND spent_by IS NULL
        AND :schemes_count = (SELECT count(*) FROM item_schemes WHERE item_id = :item_id)
"""

INSERT_OFFER = """
    INSERT INTO offers (id, created_by, expires_in, expires_at, scheme_id, other_schemes_count)
    VALUES (:id, :created_by, :expires_in, :expires_at, :scheme_id, :other_schemes_count)
"""

INSERT_OFFER_INPUT = """
    INSERT INTO offer_inputs (offer_id, item_id, digest) VALUES (:offer_id, :item_id, :digest)
"""

INSERT_OFFER_OUTPUT = """
    INSERT INTO offer_outputs (offer_id, item_id, digest, amount)
    VALUES (:offer_id, :item_id, :digest, :amount)
"""

# The arbiter of two completions, of one that comes too late, and of one that has missed
# a scheme. Once completed, its new secrets could not be created again; but a client
# that sends one completion twice at once would be told that its own are used, not that
# the offer is completed.
COMPLETE_OFFER = f"""
    UPDATE offers SET completed_by = :operation_id
    WHERE id = :offer_id AND completed_by IS NULL AND expires_at * 1000 > :created_at_ms
        AND other_schemes_count >= {_OTHER_SCHEMES_COUNT}
"""  # noqa: S608 - made of constants

# A condition for each predecessor follows, then what is returned: no row if the key is
# taken or a predecessor is missing. Without a WHERE SQLite would take ON CONFLICT for a
# part of the SELECT.
INSERT_OPERATION = """
    INSERT INTO operations (
        kind, idempotency_key_hash, inputs_count, outputs_count, created_at_ms
    ) SELECT :kind, :idempotency_key_hash, :inputs_count, :outputs_count, :created_at_ms WHERE TRUE
"""
IF_PREDECESSOR = """
    AND EXISTS (
        SELECT 1 FROM operations WHERE id = :before_id_{0} AND created_at_ms = :before_ms_{0}
    )
"""
RETURNING_OPERATION = "ON CONFLICT DO NOTHING RETURNING id"

# On PostgreSQL a swap that brings an item its first output under a scheme runs while no
# other swap
# does: the others were hashed without that scheme. This happens after a change of settings only.
# On SQLite writers take turns anyway.
_SCHEMES_LOCK = 0x736368656D6573
SHARED_LOCK = f", pg_advisory_xact_lock_shared({_SCHEMES_LOCK})"
EXCLUSIVE_LOCK = f", pg_advisory_xact_lock({_SCHEMES_LOCK})"
