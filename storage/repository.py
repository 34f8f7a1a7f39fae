"""The repository: every question to the ledger and every change of it, in SQL.

The SQL is the same on every database. What moves units is judged by row counts, never
by a read before a write. Rows are never deleted; spending sets `spent_by`.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

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
from deeds.raw_output import ITEM_ID_PREFIX, is_id
from deeds.rules import check_balance

# Items whose hashing is kept in memory, about 600 bytes each: 6 MB. It never changes.
HASHINGS_KEPT_MAX = 10_000

# A record of more outputs is looked at before anything of it is written: a refusal of
# it would otherwise make PostgreSQL log all of them first, 84 KB for 267 bytes sent.
# Fewer cost less than the look.
OUTPUTS_UNSEEN_MAX = 8

Values = Sequence[Any]
Rows = list[Any]
Record = TypeVar("Record")


class ConflictError(errors.LedgerUnavailableError):
    """The work met a concurrent transaction, and may succeed when it is run again."""


class Cursor(Protocol):
    """What a statement did."""

    @property
    def rowcount(self) -> int:
        """Return how many rows it has inserted or changed.

        After `executemany` that is the sum of all times: a statement that may change
        one row each time has always done so if and only if this is their number.
        """

    def fetchone(self) -> Any:
        """Return the next row that it returned, or None."""

    def fetchall(self) -> Rows:
        """Return the rows that it returned."""


class Transaction(Protocol):
    """An open write transaction. In SQL `?` stands for a value.

    `now_ms` is when it began, in milliseconds since 1970-01-01 UTC.
    """

    now_ms: int

    def execute(self, sql: str, values: Values = ()) -> Cursor:
        """Run a statement once."""

    def executemany(self, sql: str, rows: Iterable[Values]) -> Cursor:
        """Run a statement for each of the rows."""

    def read_each(self, sql: str, keys: Sequence[Values]) -> Rows:
        """Return one row, or None, for each key, in order."""


class Reader(Protocol):
    """Reads one state of the ledger."""

    def __call__(self, sql: str, values: Values = ()) -> Rows:
        """Return the rows of a query."""


# Writes a record in a transaction, and returns the operation.
Work = Callable[[Transaction, Record], Operation]


class Database(Protocol):
    """Where the ledger is. Any thread may call it.

    Nothing is opened and no thread started before it is used. Each method is one
    transaction. All raise LedgerUnavailableError where the database does not answer,
    and LedgerRolledBackError where it lacks operations that were committed.

    `definitions_sql` is a query for every table, column, constraint, index and trigger:
    the name of the table, and the SQL of its definition.
    """

    definitions_sql: str

    def create(self, work: Callable[[Transaction], None]) -> None:
        """Run the work that creates or changes tables, alone, in one transaction.

        Creates an SQLite file that is not there. Raises StartError.
        """

    def table_names(self) -> set[str]:
        """Return the tables that there are, none in a file that is not there.

        Changes nothing. Raises StartError.
        """

    def check_start(self, *, thorough: bool = False) -> None:
        """Raise StartError where the ledger must not be served.

        `thorough` looks at what takes longer, once for all processes of a service.
        """

    def read(self, sql: str, values: Values = ()) -> Rows:
        """Return the rows of a query."""

    def read_each(self, sql: str, keys: Sequence[Values]) -> Rows:
        """Return one row, or None, for each key, in order, all of one state."""

    def write(self, work: Work[Record], record: Record) -> Operation:
        """Run the work in one transaction and commit it, or nothing of it.

        The work may be run more than once, so it is nothing but database statements.
        Raises what the work does, and LedgerInDoubtError where COMMIT broke off.
        """

    def probe(self, sql: str) -> Rows:
        """Return the rows of a query, for a monitor: no request is waited for.

        Raises where writes would fail.
        """

    def snapshot(self) -> AbstractContextManager[Reader]:
        """Return a context with a reader of one state; it keeps no writer waiting."""

    def run_in_scratch(self, work: Callable[[Transaction], Rows]) -> Rows:
        """Run the work where there is no table and nothing of it is left behind.

        Returns what it returns. Raises StartError, or LedgerUnavailableError where
        there is no such place.
        """

    def find_damage(self) -> list[str]:
        """Return what the database finds wrong with itself, where it can tell."""

    def bytes_on_disk(self) -> int:
        """Return the size of the ledger, indexes and write-ahead log included."""

    def close(self) -> None:
        """Close what is open. The next use opens it again: a fork may lie between."""


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
_READ_OPERATION = """
    SELECT id, created_at_ms, fingerprint FROM operations
    WHERE idempotency_key_hash = ?
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

# The arbiter of a double spend: of two swaps that spend one output, this changes a row
# for one of them only. The amount is compared here too, so what a swap says of its
# inputs is what the ledger holds.
_SPEND_OUTPUT = """
    UPDATE outputs SET spent_by = ?
    WHERE item_id = ? AND digest = ? AND amount = ? AND spent_by IS NULL
"""


class Repository:
    """The ledger on a database. Any thread may call it."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._hashings: dict[str, ItemHashing] = {}

    def open_policies(self, policy: HashPolicy) -> list[HashPolicy]:
        """Return the policies that items were minted under, the ledger's own first.

        The first start on a new ledger records its own.
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
        """Return the hashing of those of the items that exist."""
        # Other threads may put another dictionary in its place, but remove nothing.
        kept = self._hashings
        found = {item_id: kept[item_id] for item_id in item_ids if item_id in kept}
        if len(found) == len(item_ids):
            return found
        missing = [
            item_id
            for item_id in item_ids
            if item_id not in found and is_id(ITEM_ID_PREFIX, item_id)
        ]
        rows = self.database.read_each(_READ_HASHING, [(each,) for each in missing])
        read = {
            item_id: ItemHashing(row[0], HashPolicy(*row[2:]), row[1])
            for item_id, row in zip(missing, rows, strict=True)
            if row
        }
        if len(kept) + len(read) > HASHINGS_KEPT_MAX:
            self._hashings = read
        else:
            kept.update(read)
        return found | read

    def read_minted(self, key_hash: bytes) -> Item | None:
        """Return the item of the mint that a key was used for, if there is one."""
        for row in self.database.read(_READ_MINTED, (key_hash,)):
            return Item(*row)
        return None

    def is_key_known(self, key_hash: bytes) -> bool:
        """Return whether an operation was recorded under the hash of a key."""
        return bool(self.database.read(_READ_OPERATION, (key_hash,)))

    def read_outputs(self, outputs: Sequence[Output]) -> list[FoundOutput | None]:
        """Return what is recorded under the key of each, of any amount, or None."""
        rows = self.database.read_each(_READ_OUTPUT, [each.key for each in outputs])
        return [FoundOutput(*row) if row else None for row in rows]

    def mint(self, record: MintRecord) -> Operation:
        """Create an item and its outputs; raise IdempotencyKeyReusedError."""
        return self.database.write(write_mint, record)

    def swap(self, record: SwapRecord) -> Operation:
        """Spend the inputs and create the outputs; raise as `write_swap`."""
        return self.database.write(write_swap, record)


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

    Raises IdempotencyKeyReusedError, or as `move_units`.
    """
    operation = add_operation(transaction, "swap", record.idempotency_key)
    if operation.replayed:
        return operation
    move_units(transaction, operation, record.inputs, record.outputs)
    return operation


def add_operation(
    transaction: Transaction, kind: str, key: IdempotencyKey | None
) -> Operation:
    """Write an operation, or return the one that an earlier request with its key made.

    Raises IdempotencyKeyReusedError where that was another request. Comes first in
    every transaction that changes the ledger.
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

    Raises UnbalancedError, UnknownInputError or SpentInputError, or UsedSecretError
    where the item knows the secret of an output: a client that cannot spend the inputs
    is not told that.
    """
    check_balance(inputs, outputs)
    if len(outputs) > OUTPUTS_UNSEEN_MAX:
        refuse_inputs(transaction, operation, inputs)
        refuse_outputs(transaction, operation, outputs)
    # Outputs before inputs, each in the order of their keys. An INSERT that meets a row
    # of an open transaction waits for it. Were inputs spent first, two swaps that
    # create what the other spends would each hold their input and wait for the other's,
    # until PostgreSQL ends one of them. A transaction that inserts first waits while it
    # holds only rows that it has created, in ascending order: nobody waits in a circle.
    if not _create_outputs(transaction, operation, outputs):
        refuse_inputs(transaction, operation, inputs)
        refuse_outputs(transaction, operation, outputs)
        raise ConflictError
    spent = [(operation.id, *output) for output in sorted(inputs)]
    if transaction.executemany(_SPEND_OUTPUT, spent).rowcount != len(spent):
        refuse_inputs(transaction, operation, inputs)
        # All are there by now: one was created since the UPDATE began.
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
    """Raise the error of the first unknown input, else of the first spent one."""
    rows = transaction.read_each(_READ_OUTPUT, [each.key for each in inputs])
    found = [FoundOutput(*row) if row else None for row in rows]
    unknown = [
        index
        for index, (output, each) in enumerate(zip(inputs, found, strict=True))
        if each is None or each.amount != output.amount
    ]
    if unknown:
        raise errors.UnknownInputError(index=unknown[0], wrong_secrets=len(unknown))
    for index, each in enumerate(found):
        if each and each.spent_by not in {None, operation.id}:
            raise errors.SpentInputError(index=index)


def refuse_outputs(
    transaction: Transaction, operation: Operation, outputs: Sequence[Output]
) -> None:
    """Raise UsedSecretError for the first output that another operation created."""
    rows = transaction.read_each(_READ_CREATED_BY, [each.key for each in outputs])
    for index, row in enumerate(rows):
        if row is not None and row[0] != operation.id:
            raise errors.UsedSecretError(index=index)


def _write_first_policy(transaction: Transaction, policy: HashPolicy) -> Operation:
    transaction.execute(_INSERT_FIRST_POLICY, policy)
    return NO_OPERATION


# What a write returns that records no operation.
NO_OPERATION = Operation(0, 0)
