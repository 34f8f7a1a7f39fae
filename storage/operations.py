"""Writes a mint, a swap or an offer, inside the transaction of its caller.

The SQL is the same for SQLite and PostgreSQL. What moves units is judged by row counts,
never by a read before a write.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection

from deeds.domain import errors
from deeds.domain.model import (
    HashPolicy,
    MintRecord,
    OfferRecord,
    Operation,
    OperationKind,
    Output,
    SwapRecord,
)
from deeds.domain.rules import expires_at_s
from storage.checkpoint import NO_OPERATION, Checkpoint
from storage.driver import ConflictError, execute
from storage.lookups import read_operation, read_outputs

_NS_PER_MS = 1_000_000

# What outputs are sorted by: crossing transactions then lock rows in one order.
_key = attrgetter("key")

# No row if the key is taken.
_INSERT_OPERATION = """
    INSERT INTO operations (
        kind, idempotency_key_hash, inputs_count, outputs_count, created_at_ms
    ) VALUES (
        :kind, :idempotency_key_hash, :inputs_count, :outputs_count, :created_at_ms
    ) ON CONFLICT DO NOTHING RETURNING id
"""

# No row if the policy is not recorded.
_INSERT_ITEM = """
    INSERT INTO items (id, total, metadata, salt, created_by, hash_policy_id)
    SELECT :id, :total, CAST(:metadata AS TEXT), :salt, :created_by, hash_policies.id
    FROM hash_policies
    WHERE memory_cost_kib = :memory_cost_kib AND time_cost = :time_cost
        AND parallelism = :parallelism AND pepper_fingerprint = :pepper_fingerprint
"""

_INSERT_POLICY = """
    INSERT INTO hash_policies (
        memory_cost_kib, time_cost, parallelism, pepper_fingerprint
    ) VALUES (:memory_cost_kib, :time_cost, :parallelism, :pepper_fingerprint)
    ON CONFLICT DO NOTHING
"""

_INSERT_OUTPUT = """
    INSERT INTO outputs (item_id, digest, amount, created_by)
    VALUES (:item_id, :digest, :amount, :operation_id)
    ON CONFLICT DO NOTHING
"""

# The arbiter of a double spend. The amount is compared here too, so what a swap says of
# its inputs is what the ledger holds; and nothing is spent by an operation that began
# before it was created.
_SPEND_OUTPUT = """
    UPDATE outputs SET spent_by = :operation_id
    WHERE item_id = :item_id AND digest = :digest AND amount = :amount
        AND created_by < :operation_id AND spent_by IS NULL
"""

_INSERT_OFFER = """
    INSERT INTO offers (id, created_by, expires_in, expires_at)
    VALUES (:id, :created_by, :expires_in, :expires_at)
"""

_INSERT_OFFER_INPUT = """
    INSERT INTO offer_inputs (offer_id, item_id, digest)
    VALUES (:offer_id, :item_id, :digest)
"""

_INSERT_OFFER_OUTPUT = """
    INSERT INTO offer_outputs (offer_id, item_id, digest, amount)
    VALUES (:offer_id, :item_id, :digest, :amount)
"""

# The arbiter of two completions, and of one that comes too late. Once completed, its
# new secrets could not be created again; but a client that sends one completion twice
# at once would be told that its own are used, not that the offer is completed.
_COMPLETE_OFFER = """
    UPDATE offers SET completed_by = :operation_id
    WHERE id = :offer_id AND completed_by IS NULL
        AND expires_at * 1000 > :created_at_ms
"""


# Later ones are numbered from 1. Where two processes start on a new ledger at once, the
# second one waits for the first, and finds this row.
_INSERT_FIRST_POLICY = """
    INSERT INTO hash_policies (
        id, memory_cost_kib, time_cost, parallelism, pepper_fingerprint
    ) VALUES (0, :memory_cost_kib, :time_cost, :parallelism, :pepper_fingerprint)
    ON CONFLICT DO NOTHING
"""

# Writes a page and changes nothing.
_WRITE_NOTHING = "UPDATE alembic_version SET version_num = version_num"

# Both for PostgreSQL. The message makes COMMIT wait until a synchronous standby has it,
# and with it all that was written before.
CONFIRM = "SELECT pg_logical_emit_message(TRUE, 'deeds', '')"
_CONFIRM_OPERATION = """
    SELECT id, created_at_ms, pg_logical_emit_message(TRUE, 'deeds', '')
    FROM operations WHERE id = :id
"""

# What a transaction may write: an operation, that one is to be answered again, the
# first policy of a new ledger, nothing.
Record = MintRecord | SwapRecord | OfferRecord | Operation | HashPolicy | None


def write_record(connection: Connection, record: Record) -> Checkpoint:
    """Write what the record says; return the operation, if it is one."""
    match record:
        case MintRecord():
            return write_mint(connection, record)
        case SwapRecord():
            return write_swap(connection, record)
        case OfferRecord():
            return write_offer(connection, record)
        case Operation():
            return confirm_operation(connection, record)
        case HashPolicy():
            execute(connection, _INSERT_FIRST_POLICY, _policy_values(record))
        case None:
            execute(connection, _WRITE_NOTHING)
    return NO_OPERATION


def write_mint(connection: Connection, record: MintRecord) -> Checkpoint:
    """Write an item and its outputs; return the operation."""
    key_hash = record.idempotency_key_hash
    outputs_count = len(record.outputs)
    made = _add_operation(connection, OperationKind.MINT, key_hash, 0, outputs_count)
    policy = _policy_values(record.hashing.policy)
    item = {
        **asdict(record.item),
        **policy,
        "salt": record.hashing.salt,
        "created_by": made.operation_id,
    }
    if execute(connection, _INSERT_ITEM, item).rowcount == 0:
        execute(connection, _INSERT_POLICY, policy)
        execute(connection, _INSERT_ITEM, item)
    used = _add_outputs(connection, made, record.outputs)
    if used is not None:
        raise errors.UsedSecretError(index=used)
    return made


def write_swap(connection: Connection, record: SwapRecord) -> Checkpoint:
    """Spend the inputs and write the outputs; return the operation."""
    key_hash = record.idempotency_key_hash
    counts = (len(record.inputs), len(record.outputs))
    made = _add_operation(connection, OperationKind.SWAP, key_hash, *counts)
    if record.offer_id is not None:
        # Before any output, as every transaction that touches an offer.
        completion = {"offer_id": record.offer_id, **asdict(made)}
        if execute(connection, _COMPLETE_OFFER, completion).rowcount != 1:
            raise errors.OfferNotOpenError
    # Insert outputs before spending inputs: a transaction that has spent an input then
    # waits for no other, so that on PostgreSQL no two swaps can wait for each other.
    used = _add_outputs(connection, made, record.outputs)
    if used is not None:
        # A client that cannot spend the inputs is not told which secrets the item
        # knows.
        _refuse_inputs(connection, made, record.inputs)
        raise errors.UsedSecretError(index=used)
    spent = execute(connection, _SPEND_OUTPUT, _rows(made, record.inputs))
    if spent.rowcount != len(record.inputs):
        _refuse_inputs(connection, made, record.inputs)
        # All are there, so one was created meanwhile by an operation with a later id.
        raise ConflictError
    return made


def write_offer(connection: Connection, record: OfferRecord) -> Checkpoint:
    """Write an offer, which reserves nothing; return the operation."""
    half = record.half
    key_hash = half.idempotency_key_hash
    counts = (len(half.inputs), len(half.outputs))
    made = _add_operation(connection, OperationKind.OFFER, key_hash, *counts)
    _refuse_inputs(connection, made, half.inputs)
    known = read_outputs(connection, map(_key, half.outputs))
    for index, output in enumerate(half.outputs):
        if output.key in known:
            raise errors.UsedSecretError(index=index)
    offer = {
        "id": record.id,
        "created_by": made.operation_id,
        "expires_in": record.expires_in_s,
        "expires_at": expires_at_s(made.created_at_ms, record.expires_in_s),
    }
    execute(connection, _INSERT_OFFER, offer)
    of_offer = {"offer_id": record.id}
    inputs = [of_offer | row for row in _rows(made, half.inputs)]
    if inputs:
        execute(connection, _INSERT_OFFER_INPUT, inputs)
    outputs = [of_offer | row for row in _rows(made, half.outputs)]
    execute(connection, _INSERT_OFFER_OUTPUT, outputs)
    return made


def confirm_operation(connection: Connection, operation: Operation) -> Checkpoint:
    """Make sure, on PostgreSQL, that an operation which is there stays there.

    A primary that crashed shows commits that no standby has received.
    """
    row = execute(connection, _CONFIRM_OPERATION, {"id": operation.id}).first()
    if row is None:
        # It was read from another server.
        raise errors.LedgerUnavailableError
    return Checkpoint(row.id, row.created_at_ms)


def _policy_values(policy: HashPolicy) -> dict[str, Any]:
    """Return the columns of a policy."""
    return {
        **asdict(policy.cost),
        "pepper_fingerprint": policy.pepper_fingerprint,
    }


def _add_operation(
    connection: Connection,
    kind: OperationKind,
    key_hash: bytes | None,
    inputs_count: int,
    outputs_count: int,
) -> Checkpoint:
    created_at_ms = time.time_ns() // _NS_PER_MS
    values = {
        "kind": kind.value,
        "idempotency_key_hash": key_hash,
        "inputs_count": inputs_count,
        "outputs_count": outputs_count,
        "created_at_ms": created_at_ms,
    }
    row = execute(connection, _INSERT_OPERATION, values).first()
    if row is not None:
        return Checkpoint(row.id, created_at_ms)
    operation = read_operation(connection, key_hash or b"")
    if operation is None:
        # The key's operation was there a moment ago, and rows are never deleted.
        raise ConflictError
    raise errors.IdempotencyKeyTakenError(operation)


def _add_outputs(
    connection: Connection, made: Checkpoint, outputs: Sequence[Output]
) -> int | None:
    """Write the outputs; return the index of the first whose key was there, or None."""
    rows = _rows(made, outputs)
    if execute(connection, _INSERT_OUTPUT, rows).rowcount == len(rows):
        return None
    found = read_outputs(connection, map(_key, outputs))
    for index, output in enumerate(outputs):
        if found[output.key].created_by != made.operation_id:
            return index
    # All are of this operation: two outputs have one key, which the rules refuse.
    return 0


def _rows(made: Checkpoint, outputs: Sequence[Output]) -> list[dict[str, Any]]:
    return [
        {
            "item_id": output.item_id,
            "digest": output.key.digest,
            "amount": output.amount,
            "operation_id": made.operation_id,
        }
        for output in sorted(outputs, key=_key)
    ]


def _refuse_inputs(
    connection: Connection, made: Checkpoint, inputs: Sequence[Output]
) -> None:
    """Raise the error of the first unknown input, else of the first spent one."""
    found = read_outputs(connection, map(_key, inputs))
    unknown = [
        index
        for index, each in enumerate(inputs)
        if each.key not in found or found[each.key].output.amount != each.amount
    ]
    if unknown:
        raise errors.UnknownInputError(
            index=unknown[0], failed_secrets_count=len(unknown)
        )
    for index, each in enumerate(inputs):
        if found[each.key].spent_by not in {None, made.operation_id}:
            raise errors.SpentInputError(index=index)
