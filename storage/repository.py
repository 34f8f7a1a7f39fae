"""The repository: all queries and writes of the core, in SQL for every database.

Row counts decide whether units move, never a read before the write. Rows are never
deleted; spending sets `spent_by`.
"""

from collections.abc import Collection, Sequence

from deeds import errors
from deeds.model import (
    FoundOutput,
    HashPolicy,
    IdempotencyKey,
    Item,
    ItemHashing,
    MintRecord,
    Operation,
    Output,
    SwapRecord,
)
from deeds.raw_output import (
    BASE32_ALPHABET,
    ITEM_ID_PREFIX,
    RANDOM_LENGTH,
    is_id,
)
from deeds.rules import check_balance
from storage.database import NO_OPERATION, ConflictError, Database, Transaction

# Cached values of ItemHashing, which are immutable, about 600 bytes each: 6 MB.
HASHINGS_CACHED_MAX = 10_000

# Records with more outputs are checked before anything is written. Without the check, a
# refused request of 267 bytes made PostgreSQL write 84 KB to its WAL. For fewer outputs
# the check costs more than it saves.
OUTPUTS_UNSEEN_MAX = 8

_READ_POLICIES = """
    SELECT memory_cost_kib, time_cost, parallelism, pepper_fingerprint
    FROM hash_policies ORDER BY id
"""
_INSERT_FIRST_POLICY = """
    INSERT INTO hash_policies
        (id, memory_cost_kib, time_cost, parallelism, pepper_fingerprint)
    VALUES (0, ?, ?, ?, ?) ON CONFLICT DO NOTHING
"""
_INSERT_POLICY = """
    INSERT INTO hash_policies
        (memory_cost_kib, time_cost, parallelism, pepper_fingerprint)
    VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING
"""
_READ_ITEM = "SELECT id, total, metadata FROM items WHERE id = ?"
_READ_HASHING = """
    SELECT salt, total, memory_cost_kib, time_cost, parallelism, pepper_fingerprint
    FROM items JOIN hash_policies ON hash_policies.id = hash_policy_id
    WHERE items.id = ?
"""
_READ_MINTED = """
    SELECT items.id, total, metadata
    FROM items JOIN operations ON operations.id = created_by
    WHERE idempotency_key_hash = ?
"""
_READ_OUTPUT = "SELECT amount, spent_by FROM outputs WHERE item_id = ? AND digest = ?"
_READ_CREATED_BY = "SELECT created_by FROM outputs WHERE item_id = ? AND digest = ?"

# Returns no row if the key is taken.
_INSERT_OPERATION = """
    INSERT INTO operations (kind, idempotency_key_hash, fingerprint, created_at_ms)
    VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id
"""
_READ_OPERATION_AT = "SELECT id FROM operations WHERE id = ? AND created_at_ms = ?"

_READ_OPERATION = """
    SELECT id, created_at_ms, fingerprint FROM operations
    WHERE idempotency_key_hash = ?
"""

_READ_LAST_OPERATION = """
    SELECT id, created_at_ms FROM operations ORDER BY id DESC LIMIT 1
"""

# Changes no row if the policy is not recorded.
_INSERT_ITEM = """
    INSERT INTO items (id, total, metadata, salt, created_by, hash_policy_id)
    SELECT ?, ?, CAST(? AS TEXT), ?, ?, id FROM hash_policies
    WHERE memory_cost_kib = ? AND time_cost = ? AND parallelism = ?
        AND pepper_fingerprint = ?
"""

# Changes no row if the item has or had an output with this secret.
_INSERT_OUTPUT = """
    INSERT INTO outputs (item_id, digest, amount, created_by)
    VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING
"""

# Prevents double spends: of two swaps that spend the same output, only one changes a
# row. Comparing the amount makes sure that a swap names the recorded amounts.
_SPEND_OUTPUT = """
    UPDATE outputs SET spent_by = ?
    WHERE item_id = ? AND digest = ? AND amount = ? AND spent_by IS NULL
"""


class Repository:
    """The ledger on a database. Thread-safe."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._hashings: dict[str, ItemHashing] = {}

    def open_policies(self, policy: HashPolicy) -> list[HashPolicy]:
        """Return all hash policies of the ledger, oldest first.

        On a new ledger, record `policy` as the first.
        """
        rows = self.database.read(_READ_POLICIES)
        if not rows:
            self.database.write(_write_first_policy, policy)
            rows = self.database.read(_READ_POLICIES)
        return [HashPolicy(*row) for row in rows]

    def read_item(self, item_id: str) -> Item:
        """Return the item; raise ItemNotFoundError."""
        for row in self.database.read(_READ_ITEM, (item_id,)):
            return Item(*row)
        raise errors.ItemNotFoundError

    def read_hashings(self, item_ids: Collection[str]) -> dict[str, ItemHashing]:
        """Return the hashing of each item that exists, by item id."""
        # Other threads may replace the dictionary, but never remove its entries.
        cache = self._hashings
        hashings = {item_id: cache[item_id] for item_id in item_ids if item_id in cache}
        if len(hashings) == len(item_ids):
            return hashings
        new_ids = [
            item_id
            for item_id in item_ids
            if item_id not in hashings and is_id(ITEM_ID_PREFIX, item_id)
        ]
        rows = self.database.read_each(_READ_HASHING, [(each,) for each in new_ids])
        new = {
            item_id: ItemHashing(row[0], HashPolicy(*row[2:]), row[1])
            for item_id, row in zip(new_ids, rows, strict=True)
            if row
        }
        if len(cache) + len(new) > HASHINGS_CACHED_MAX:
            self._hashings = new
        else:
            cache.update(new)
        return hashings | new

    def read_minted(self, key_hash: bytes) -> Item | None:
        """Return the item that was minted with this key, or None."""
        for row in self.database.read(_READ_MINTED, (key_hash,)):
            return Item(*row)
        return None

    def is_key_known(self, key_hash: bytes) -> bool:
        """Return whether an operation was recorded with this key."""
        return bool(self.database.read(_READ_OPERATION, (key_hash,)))

    def read_outputs(self, outputs: Sequence[Output]) -> list[FoundOutput | None]:
        """Return the output recorded under each key, whatever its amount, or None."""
        return _find_outputs(self.database, outputs)

    def mint(self, record: MintRecord) -> Operation:
        """Create an item and its outputs; raise IdempotencyKeyReusedError."""
        return self.database.write(write_mint, record)

    def swap(self, record: SwapRecord) -> Operation:
        """Spend the inputs and create the outputs; raise the errors of `write_swap`."""
        return self.database.write(write_swap, record)


def read_last_operation(database: Database) -> Operation:
    """Return the operation with the highest id, or `NO_OPERATION`."""
    for row in database.read(_READ_LAST_OPERATION):
        return Operation(*row)
    return NO_OPERATION


def find_missing(
    database: Database, operations: Sequence[Operation]
) -> list[Operation]:
    """Return the operations that are not recorded with the same id and time."""
    keys = [(each.id, each.created_at_ms) for each in operations]
    rows = database.read_each(_READ_OPERATION_AT, keys)
    pairs = zip(operations, rows, strict=True)
    return [operation for operation, row in pairs if row is None]


def write_mint(transaction: Transaction, record: MintRecord) -> Operation:
    """Write an item and its outputs; raise IdempotencyKeyReusedError."""
    operation = add_operation(transaction, "mint", record.idempotency_key)
    if operation.replayed:
        return operation
    item, policy = record.item, record.hashing.policy
    values = (item.id, item.total, item.metadata, record.hashing.salt, operation.id)
    if transaction.execute(_INSERT_ITEM, (*values, *policy)).rowcount == 0:
        # The first mint under this policy.
        transaction.execute(_INSERT_POLICY, policy)
        transaction.execute(_INSERT_ITEM, (*values, *policy))
    if not _create_outputs(transaction, operation, record.outputs):
        refuse_outputs(transaction, operation, record.outputs)
        raise ConflictError
    return operation


def write_swap(transaction: Transaction, record: SwapRecord) -> Operation:
    """Spend the inputs and write the outputs.

    Raises IdempotencyKeyReusedError, or the errors of `move_units`.
    """
    operation = add_operation(transaction, "swap", record.idempotency_key)
    if operation.replayed:
        return operation
    move_units(transaction, operation, record.inputs, record.outputs)
    return operation


def add_operation(
    transaction: Transaction, kind: str, key: IdempotencyKey | None
) -> Operation:
    """Write an operation, or return the one that is recorded with its key.

    Raises IdempotencyKeyReusedError if another request made the recorded operation.
    Every transaction that changes the ledger must begin with this call.
    """
    values = (kind, *(key or (None, None)), transaction.now_ms)
    row = transaction.execute(_INSERT_OPERATION, values).fetchone()
    if row is not None:
        return Operation(row[0], transaction.now_ms)
    key_hash, fingerprint = key or (None, None)
    row = transaction.execute(_READ_OPERATION, (key_hash,)).fetchone()
    if row is None:
        raise ConflictError
    operation_id, created_at_ms, recorded_fingerprint = row
    if recorded_fingerprint != fingerprint:
        raise errors.IdempotencyKeyReusedError
    return Operation(operation_id, created_at_ms, replayed=True)


def move_units(
    transaction: Transaction,
    operation: Operation,
    inputs: Sequence[Output],
    outputs: Sequence[Output],
) -> None:
    """Create the outputs and spend the inputs.

    Raises UnbalancedError, UnknownInputError, SpentInputError, or, if the secret of an
    output was used in its item before, UsedSecretError. The latter comes last, so only
    owners of the inputs can learn which secrets were used.
    """
    check_balance(inputs, outputs)
    if len(outputs) > OUTPUTS_UNSEEN_MAX:
        refuse_inputs(transaction, operation, inputs)
        refuse_outputs(transaction, operation, outputs)
    # Insert outputs before spending inputs, each in the order of their keys: swaps then
    # cannot deadlock. An INSERT that conflicts with a row which an open transaction has
    # created or spent waits for that transaction. If inputs were spent first, and each
    # of two swaps created an output with a secret that the other one spends, each would
    # lock its input and then wait for the other. In this order, a transaction that
    # waits in an INSERT holds only rows that it has created, and in ascending order.
    if not _create_outputs(transaction, operation, outputs):
        refuse_inputs(transaction, operation, inputs)
        refuse_outputs(transaction, operation, outputs)
        raise ConflictError
    spent = [(operation.id, *output) for output in sorted(inputs)]
    if transaction.executemany(_SPEND_OUTPUT, spent).rowcount != len(spent):
        refuse_inputs(transaction, operation, inputs)
        # No input is unknown or spent: one of them was created after the UPDATE began,
        # so another try may succeed.
        raise ConflictError


def _create_outputs(
    transaction: Transaction, operation: Operation, outputs: Sequence[Output]
) -> bool:
    """Insert the outputs; return whether all were new."""
    created = [(*output, operation.id) for output in sorted(outputs)]
    return transaction.executemany(_INSERT_OUTPUT, created).rowcount == len(created)


def refuse_inputs(
    transaction: Transaction, operation: Operation, inputs: Sequence[Output]
) -> None:
    """Raise UnknownInputError for the first unknown input, else SpentInputError."""
    records = _find_outputs(transaction, inputs)
    unknown = [
        index
        for index, (output, record) in enumerate(zip(inputs, records, strict=True))
        if record is None or record.amount != output.amount
    ]
    if unknown:
        raise errors.UnknownInputError(index=unknown[0], wrong_secrets=len(unknown))
    for index, record in enumerate(records):
        if record and record.spent_by not in {None, operation.id}:
            raise errors.SpentInputError(index=index)


def refuse_outputs(
    transaction: Transaction, operation: Operation, outputs: Sequence[Output]
) -> None:
    """Raise UsedSecretError for the first output that another operation created."""
    rows = transaction.read_each(_READ_CREATED_BY, [each.key for each in outputs])
    for index, row in enumerate(rows):
        if row is not None and row[0] != operation.id:
            raise errors.UsedSecretError(index=index)


def is_not_id_sql(column: str, prefix: str) -> str:
    """Return an SQL condition, true if `is_id` would be false for a column's value."""
    # SQLite's string functions stop at a NUL character, its comparisons do not.
    start, length = len(prefix) + 1, len(prefix) + RANDOM_LENGTH
    return (
        f"({column} <> '{prefix}' || substr({column}, {start}, {RANDOM_LENGTH})"
        f" OR length({column}) <> {length}"
        f" OR ltrim(substr({column}, {start}), '{BASE32_ALPHABET}') <> '')"
    )


def _find_outputs(
    reader: Database | Transaction, outputs: Sequence[Output]
) -> list[FoundOutput | None]:
    rows = reader.read_each(_READ_OUTPUT, [each.key for each in outputs])
    return [FoundOutput(*row) if row else None for row in rows]


def _write_first_policy(transaction: Transaction, policy: HashPolicy) -> Operation:
    transaction.execute(_INSERT_FIRST_POLICY, policy)
    return NO_OPERATION
