"""The tables, queries and writes of offers, which use the core's transactions."""

from collections.abc import Sequence
from dataclasses import dataclass

from deeds.model import AMOUNT_MAX, IdempotencyKey, Operation, Output
from parts.offers.errors import OfferNotOpenError, UnknownOfferError
from storage.database import ConflictError, Database, Transaction
from storage.repository import (
    add_operation,
    is_not_id_sql,
    move_units,
    refuse_inputs,
    refuse_outputs,
)
from storage.schema import Schema, Version

OFFER_ID_PREFIX = "offer_"

# The kind of the operation that makes an offer. A completion has the kind "swap".
KIND = "offer"

# Seconds for which an offer can be completed (contract 4.7): a minute to 30 days, by
# default a week.
EXPIRES_IN_S_MIN, EXPIRES_IN_S_MAX = 60, 2_592_000
EXPIRES_IN_S_DEFAULT = 604_800


@dataclass(frozen=True, slots=True)
class Offer:
    """An offer as stored in the ledger: its state, and the maker's half.

    The state is "open", "completed", "void" or "expired". `expires_at_s` is in seconds
    since 1970-01-01 UTC.
    """

    id: str
    state: str
    expires_at_s: int
    inputs: tuple[Output, ...]
    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class OfferRecord:
    """Everything that making an offer writes."""

    id: str
    inputs: tuple[Output, ...]
    outputs: tuple[Output, ...]
    expires_in_s: int
    idempotency_key: IdempotencyKey | None


@dataclass(frozen=True, slots=True)
class CompletionRecord:
    """All that a completion writes: the completer's half followed by the maker's.

    Before they are joined, and for a repetition, it is the completer's half alone.
    """

    offer_id: str
    inputs: tuple[Output, ...]
    outputs: tuple[Output, ...]
    idempotency_key: IdempotencyKey | None


# Rows never change, except that `completed_by` is set once.
_TABLES = (
    """
    CREATE TABLE offers (
        id TEXT NOT NULL PRIMARY KEY,
        created_by INTEGER NOT NULL UNIQUE REFERENCES operations (id),
        completed_by INTEGER UNIQUE REFERENCES operations (id)
            CHECK (completed_by <> created_by),
        expires_at_s INTEGER NOT NULL
    ) STRICT
    """,
    f"""
    CREATE TABLE offer_inputs (
        offer_id TEXT NOT NULL REFERENCES offers (id),
        item_id TEXT NOT NULL,
        digest BLOB NOT NULL,
        amount INTEGER NOT NULL CHECK (amount BETWEEN 1 AND {AMOUNT_MAX}),
        PRIMARY KEY (offer_id, item_id, digest),
        FOREIGN KEY (item_id, digest) REFERENCES outputs (item_id, digest)
    ) WITHOUT ROWID, STRICT
    """,
    f"""
    CREATE TABLE offer_outputs (
        offer_id TEXT NOT NULL REFERENCES offers (id),
        item_id TEXT NOT NULL REFERENCES items (id),
        digest BLOB NOT NULL CHECK (length(digest) = 32),
        amount INTEGER NOT NULL CHECK (amount BETWEEN 1 AND {AMOUNT_MAX}),
        PRIMARY KEY (offer_id, item_id, digest)
    ) WITHOUT ROWID, STRICT
    """,
)


def create_tables(transaction: Transaction) -> None:
    """Create the tables of version 1."""
    for statement in _TABLES:
        transaction.execute(statement)


def add_index_of_outputs(transaction: Transaction) -> None:
    """Index the outputs of offers by secret; the primary key begins with the offer."""
    transaction.execute(
        "CREATE INDEX offer_outputs_item_id_digest ON offer_outputs (item_id, digest)"
    )


SCHEMA = Schema(
    "offers",
    (
        Version(create_tables, serves_from=1),
        Version(add_index_of_outputs, serves_from=1),
    ),
)

# Invariants, each with a query for the places where it is violated.
CHECKS = {
    # `offer_id >= ''` holds for every row. It makes SQLite read offer_outputs in the
    # order of offers: by its other index this takes ten times as long.
    "an offer names what exists, and was completed in time by a swap that holds its"
    " half": """
        SELECT id FROM offers WHERE completed_by IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM operations
            WHERE operations.id = completed_by AND operations.id > created_by
                AND kind = 'swap' AND created_at_ms < expires_at_s * 1000
        )
        UNION SELECT offer_id
        FROM offer_inputs LEFT JOIN offers ON offers.id = offer_id
        LEFT JOIN outputs ON outputs.item_id = offer_inputs.item_id
            AND outputs.digest = offer_inputs.digest
            AND outputs.amount = offer_inputs.amount
        WHERE offers.id IS NULL OR outputs.amount IS NULL
            OR coalesce(spent_by, 0) <> completed_by
        UNION SELECT offer_id
        FROM offer_outputs LEFT JOIN offers ON offers.id = offer_id
        LEFT JOIN items ON items.id = offer_outputs.item_id
        LEFT JOIN outputs ON outputs.item_id = offer_outputs.item_id
            AND outputs.digest = offer_outputs.digest
            AND outputs.amount = offer_outputs.amount
        WHERE offer_id >= '' AND (offers.id IS NULL OR items.id IS NULL
            OR coalesce(outputs.created_by, 0) <> completed_by)
    """,
    "the making of an offer has an offer, and no other operation has one": f"""
        SELECT operations.id FROM operations
        LEFT JOIN offers ON offers.created_by = operations.id
        WHERE (kind = '{KIND}') <> (offers.id IS NOT NULL)
    """,  # noqa: S608
    # If the operation that made an offer is missing, its time is NULL.
    "an offer has the form of an id, and expires in time after its making": f"""
        SELECT offers.id FROM offers
        LEFT JOIN operations ON operations.id = created_by
        WHERE {is_not_id_sql("offers.id", OFFER_ID_PREFIX)} OR coalesce(
            expires_at_s - (created_at_ms + 999) / 1000
            NOT BETWEEN {EXPIRES_IN_S_MIN} AND {EXPIRES_IN_S_MAX}, TRUE
        )
    """,  # noqa: S608
    "an offer wants something, and of no item more than there is": """
        SELECT offer_id FROM (
            SELECT offer_id, item_id, SUM(gets) AS gets, SUM(gets - gives) AS wants
            FROM (
                SELECT id AS offer_id, '' AS item_id, 0 AS gets, 0 AS gives FROM offers
                UNION ALL SELECT offer_id, item_id, amount, 0 FROM offer_outputs
                UNION ALL SELECT offer_id, item_id, 0, amount FROM offer_inputs
            ) AS halves
            GROUP BY offer_id, item_id
        ) AS amounts
        LEFT JOIN items ON items.id = item_id
        GROUP BY offer_id HAVING MAX(wants) <= 0 OR MAX(gets - total) > 0
    """,
}
COUNTS = {
    "offers_made": "SELECT count(*) FROM offers",
    "offers_completed": "SELECT count(completed_by) FROM offers",
}

_INSERT_OFFER = "INSERT INTO offers (id, created_by, expires_at_s) VALUES (?, ?, ?)"
_INSERT_INPUT = """
    INSERT INTO offer_inputs (offer_id, item_id, digest, amount) VALUES (?, ?, ?, ?)
"""
_INSERT_OUTPUT = """
    INSERT INTO offer_outputs (offer_id, item_id, digest, amount) VALUES (?, ?, ?, ?)
"""

# Prevents late and second completions. A second one would fail anyway, because its new
# secrets are used. But if a client sends a completion twice at once, the error should
# be that the offer is completed, not that the client's own secrets are used.
_COMPLETE_OFFER = """
    UPDATE offers SET completed_by = ?
    WHERE id = ? AND completed_by IS NULL AND expires_at_s * 1000 > ?
"""
_READ_OFFER_ID = "SELECT id FROM offers WHERE created_by = ?"

# Several offers may name one secret.
_READ_OFFERED = """
    SELECT 1 FROM offer_outputs WHERE item_id = ? AND digest = ? LIMIT 1
"""

# The state and both halves. An offer is void if an input is spent or a new secret is
# used. MATERIALIZED, so that the state is not computed again for each row.
_READ_OFFER = """
    WITH offer AS MATERIALIZED (
        SELECT CASE
            WHEN completed_by IS NOT NULL THEN 'completed'
            WHEN expires_at_s * 1000 <= ? THEN 'expired'
            WHEN EXISTS (
                SELECT 1 FROM offer_inputs JOIN outputs USING (item_id, digest)
                WHERE offer_id = offers.id AND spent_by IS NOT NULL
            ) OR EXISTS (
                SELECT 1 FROM offer_outputs JOIN outputs USING (item_id, digest)
                WHERE offer_id = offers.id
            ) THEN 'void'
            ELSE 'open'
        END AS state, expires_at_s
        FROM offers WHERE id = ?
    )
    SELECT state, expires_at_s, half, item_id, digest, amount FROM offer, (
        SELECT 'input' AS half, item_id, digest, amount
        FROM offer_inputs WHERE offer_id = ?
        UNION ALL
        SELECT 'output', item_id, digest, amount
        FROM offer_outputs WHERE offer_id = ?
    ) AS halves
"""


def read_offer(database: Database, offer_id: str, now_ms: int) -> Offer:
    """Return the offer with its state at `now_ms`; raise UnknownOfferError."""
    rows = database.read(_READ_OFFER, (now_ms, offer_id, offer_id, offer_id))
    if not rows:
        raise UnknownOfferError
    halves: dict[str, list[Output]] = {"input": [], "output": []}
    for _, _, half, *output in rows:
        halves[half].append(Output(*output))
    state, expires_at_s, *_ = rows[0]
    inputs, outputs = tuple(halves["input"]), tuple(halves["output"])
    return Offer(offer_id, state, expires_at_s, inputs, outputs)


def read_offer_id(database: Database, operation: Operation) -> str:
    """Return the id of the offer that an operation made."""
    [(offer_id,)] = database.read(_READ_OFFER_ID, (operation.id,))
    return str(offer_id)


def find_offered(database: Database, outputs: Sequence[Output]) -> list[bool]:
    """Return for each output whether an offer, in any state, wants its secret."""
    rows = database.read_each(_READ_OFFERED, [output.key for output in outputs])
    return [row is not None for row in rows]


def expires_at_s(operation: Operation, expires_in_s: int) -> int:
    """Return when an offer made by the operation expires, rounded up to a second."""
    return -(-operation.created_at_ms // 1000) + expires_in_s


def write_offer(transaction: Transaction, record: OfferRecord) -> Operation:
    """Write an offer, which reserves nothing."""
    operation = add_operation(transaction, KIND, record.idempotency_key)
    if operation.replayed:
        return operation
    refuse_inputs(transaction, operation, record.inputs)
    refuse_outputs(transaction, operation, record.outputs)
    at_s = expires_at_s(operation, record.expires_in_s)
    transaction.execute(_INSERT_OFFER, (record.id, operation.id, at_s))
    for sql, half in ((_INSERT_INPUT, record.inputs), (_INSERT_OUTPUT, record.outputs)):
        transaction.executemany(sql, [(record.id, *output) for output in half])
    return operation


def write_completion(transaction: Transaction, record: CompletionRecord) -> Operation:
    """Write the swap of both halves.

    Raises IdempotencyKeyReusedError, OfferNotOpenError, or the errors of `move_units`.
    """
    operation = add_operation(transaction, "swap", record.idempotency_key)
    if operation.replayed:
        return operation
    # Lock the offer before any output, as all transactions do, to prevent deadlocks.
    values = (operation.id, record.offer_id, operation.created_at_ms)
    if transaction.execute(_COMPLETE_OFFER, values).rowcount != 1:
        raise OfferNotOpenError
    move_units(transaction, operation, record.inputs, record.outputs)
    return operation


def write_repetition(transaction: Transaction, record: CompletionRecord) -> Operation:
    """Return the completion that is recorded with this key.

    The record has only the completer's half. Raises IdempotencyKeyReusedError if the
    key belongs to another request.
    """
    operation = add_operation(transaction, "swap", record.idempotency_key)
    if not operation.replayed:
        # The caller has found an operation with this key, so another try may find it.
        raise ConflictError
    return operation
