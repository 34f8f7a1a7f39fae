"""The tables of the ledger, from which a new database is made.

An older one is upgraded by `migrations`. Rows are never deleted. The constraints carry
the invariants: amounts are positive, a secret is used once in an item (primary key of
`outputs`), an output is spent by a later operation than created it.
"""

from sqlalchemy import Connection

from deeds.domain.model import AMOUNT_MAX, OFFER_EXPIRES_IN_S
from storage.driver import execute

# SQLite gives out ascending row ids only for a column of the type INTEGER. Without row
# ids a table is one b-tree, ordered by its key: a probe finds the row itself.
_TYPES = {
    "sqlite": {
        "serial": "INTEGER",
        "id": "INTEGER",
        "bytes": "BLOB",
        "ordered": "WITHOUT ROWID",
    },
    "postgresql": {
        "serial": "BIGSERIAL",
        "id": "BIGINT",
        "bytes": "BYTEA",
        "ordered": "",
    },
}

# What the settings asked for at some mint; the first one is that of the first start.
# The fingerprint is empty where there is no pepper: NULLs would not be unique.
_HASH_POLICIES = """
    CREATE TABLE hash_policies (
        id {serial} NOT NULL,
        memory_cost_kib INTEGER NOT NULL,
        time_cost INTEGER NOT NULL,
        parallelism INTEGER NOT NULL,
        pepper_fingerprint TEXT NOT NULL,
        CONSTRAINT pk_hash_policies PRIMARY KEY (id),
        CONSTRAINT uq_hash_policies_memory_cost_kib
            UNIQUE (memory_cost_kib, time_cost, parallelism, pepper_fingerprint)
    )
"""

# The time is in milliseconds since 1970-01-01 UTC.
_OPERATIONS = """
    CREATE TABLE operations (
        id {serial} NOT NULL,
        kind TEXT NOT NULL,
        idempotency_key_hash {bytes},
        inputs_count INTEGER NOT NULL,
        outputs_count INTEGER NOT NULL,
        created_at_ms BIGINT NOT NULL,
        CONSTRAINT pk_operations PRIMARY KEY (id),
        CONSTRAINT ck_operations_kind CHECK (
            kind = 'mint' AND inputs_count = 0 OR kind = 'swap' AND inputs_count > 0
            OR kind = 'offer' AND inputs_count >= 0
        ),
        CONSTRAINT ck_operations_outputs_count CHECK (outputs_count > 0),
        CONSTRAINT ck_operations_idempotency_key_hash
            CHECK (length(idempotency_key_hash) = 32)
    )
"""

# Most operations have no key: they add nothing to this index, which spares each of them
# a page of the log.
_OPERATIONS_KEYS = """
    CREATE UNIQUE INDEX uq_operations_idempotency_key_hash
    ON operations (idempotency_key_hash) WHERE idempotency_key_hash IS NOT NULL
"""

_ITEMS = """
    CREATE TABLE items (
        id TEXT NOT NULL,
        total BIGINT NOT NULL,
        metadata TEXT,
        salt {bytes} NOT NULL,
        hash_policy_id {id} NOT NULL,
        created_by {id} NOT NULL,
        CONSTRAINT pk_items PRIMARY KEY (id),
        CONSTRAINT ck_items_total CHECK (total BETWEEN 1 AND {amount_max}),
        CONSTRAINT ck_items_salt CHECK (length(salt) = 16),
        CONSTRAINT fk_items_hash_policy_id
            FOREIGN KEY (hash_policy_id) REFERENCES hash_policies (id),
        CONSTRAINT uq_items_created_by UNIQUE (created_by),
        CONSTRAINT fk_items_created_by
            FOREIGN KEY (created_by) REFERENCES operations (id)
    )
"""

_OUTPUTS = """
    CREATE TABLE outputs (
        item_id TEXT NOT NULL,
        digest {bytes} NOT NULL,
        amount BIGINT NOT NULL,
        created_by {id} NOT NULL,
        spent_by {id},
        CONSTRAINT pk_outputs PRIMARY KEY (item_id, digest),
        CONSTRAINT ck_outputs_digest CHECK (length(digest) = 32),
        CONSTRAINT ck_outputs_amount CHECK (amount BETWEEN 1 AND {amount_max}),
        CONSTRAINT ck_outputs_spent_by CHECK (spent_by > created_by),
        CONSTRAINT fk_outputs_item_id FOREIGN KEY (item_id) REFERENCES items (id),
        CONSTRAINT fk_outputs_created_by
            FOREIGN KEY (created_by) REFERENCES operations (id),
        CONSTRAINT fk_outputs_spent_by FOREIGN KEY (spent_by) REFERENCES operations (id)
    ) {ordered}
"""

# Half a swap each. Nothing in them ever changes but `completed_by`, once. Times are in
# seconds, and in seconds since 1970-01-01 UTC.
_OFFERS = """
    CREATE TABLE offers (
        id TEXT NOT NULL,
        created_by {id} NOT NULL,
        completed_by {id},
        expires_in INTEGER NOT NULL,
        expires_at BIGINT NOT NULL,
        CONSTRAINT pk_offers PRIMARY KEY (id),
        CONSTRAINT ck_offers_completed_by CHECK (completed_by > created_by),
        CONSTRAINT ck_offers_expires_in
            CHECK (expires_in BETWEEN {expires_in[0]} AND {expires_in[1]}),
        CONSTRAINT uq_offers_created_by UNIQUE (created_by),
        CONSTRAINT fk_offers_created_by
            FOREIGN KEY (created_by) REFERENCES operations (id),
        CONSTRAINT uq_offers_completed_by UNIQUE (completed_by),
        CONSTRAINT fk_offers_completed_by
            FOREIGN KEY (completed_by) REFERENCES operations (id)
    )
"""

_OFFER_INPUTS = """
    CREATE TABLE offer_inputs (
        offer_id TEXT NOT NULL,
        item_id TEXT NOT NULL,
        digest {bytes} NOT NULL,
        CONSTRAINT pk_offer_inputs PRIMARY KEY (offer_id, item_id, digest),
        CONSTRAINT fk_offer_inputs_item_id
            FOREIGN KEY (item_id, digest) REFERENCES outputs (item_id, digest),
        CONSTRAINT fk_offer_inputs_offer_id
            FOREIGN KEY (offer_id) REFERENCES offers (id)
    ) {ordered}
"""

_OFFER_OUTPUTS = """
    CREATE TABLE offer_outputs (
        offer_id TEXT NOT NULL,
        item_id TEXT NOT NULL,
        digest {bytes} NOT NULL,
        amount BIGINT NOT NULL,
        CONSTRAINT pk_offer_outputs PRIMARY KEY (offer_id, item_id, digest),
        CONSTRAINT ck_offer_outputs_digest CHECK (length(digest) = 32),
        CONSTRAINT ck_offer_outputs_amount CHECK (amount BETWEEN 1 AND {amount_max}),
        CONSTRAINT fk_offer_outputs_offer_id
            FOREIGN KEY (offer_id) REFERENCES offers (id),
        CONSTRAINT fk_offer_outputs_item_id FOREIGN KEY (item_id) REFERENCES items (id)
    ) {ordered}
"""


def create_tables(connection: Connection) -> None:
    """Create the tables and the index in a database that has none of them."""
    types = _TYPES[connection.dialect.name]
    for statement in (
        _HASH_POLICIES,
        _OPERATIONS,
        _OPERATIONS_KEYS,
        _ITEMS,
        _OUTPUTS,
        _OFFERS,
        _OFFER_INPUTS,
        _OFFER_OUTPUTS,
    ):
        written = statement.format(
            **types, amount_max=AMOUNT_MAX, expires_in=OFFER_EXPIRES_IN_S
        )
        execute(connection, written)
