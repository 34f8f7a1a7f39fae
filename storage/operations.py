"""Mint and swap inside their transaction. Judges by row counts, never by a read before a write.

No hashing and no input or output but the database happens here.
"""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from deeds.domain.errors import (
    IdempotencyKeyTakenError,
    ItemSchemesChangedError,
    SpentInputError,
    UnknownInputError,
    UsedSecretError,
)
from deeds.domain.model import (
    MintRecord,
    OperationKind,
    Output,
    OutputKey,
    RecordedOutput,
    SwapRecord,
)
from storage import statements
from storage.failures import ConflictError
from storage.mark import check_present
from storage.mark_file import Mark

_MS_PER_S = 1000

# Advisory locks of PostgreSQL have 64-bit names.
_LOCK_BYTES = 8


class Writer:
    """Writes one operation on the connection of its transaction."""

    def __init__(
        self, connection: Connection, writes: statements.Writes, predecessors: Sequence[Mark]
    ) -> None:
        """Take the connection, in a write transaction, and what is written with.

        Nothing is written unless the predecessors are in the ledger.
        """
        self._connection = connection
        self._writes = writes
        self._predecessors = predecessors

    def mint(self, record: MintRecord) -> Mark:
        """Write an item and its outputs; return the operation."""
        mark = self._add_operation(
            self._writes.operation,
            record.idempotency_key_hashes,
            {
                "kind": OperationKind.MINT,
                "inputs_count": 0,
                "outputs_count": len(record.outputs),
            },
        )
        operation_id = mark.operation_id
        self._writes.item.execute(
            self._connection,
            {
                "id": record.item.id,
                "total": record.item.total,
                "metadata": record.item.metadata,
                "salt": record.salt,
                "created_by": operation_id,
            },
        )
        self._add_schemes({(record.item.id, output.scheme_id) for output in record.outputs})
        used = self._add_outputs(operation_id, record.outputs)
        if used is not None:
            raise UsedSecretError(index=used)
        return mark

    def swap(self, record: SwapRecord) -> Mark:
        """Spend the inputs and write the outputs; return the operation."""
        mark = self._add_operation(
            self._writes.widening_swap if record.schemes_added else self._writes.swap,
            record.idempotency_key_hashes,
            {
                "kind": OperationKind.SWAP,
                "inputs_count": len(record.inputs),
                "outputs_count": len(record.outputs),
            },
        )
        operation_id = mark.operation_id
        self._lock_items({key.item_id for each in record.outputs_forbidden for key in each})
        # Outputs first: who has spent an input waits for nobody who has not, so that on PostgreSQL
        # no two swaps can wait for each other.
        used = self._add_outputs(operation_id, record.outputs)
        if used is None:
            used = self._first_known(record.outputs_forbidden)
        if used is not None:
            # Who cannot spend the inputs is not told which secrets the item knows.
            self._refuse_inputs(operation_id, record)
            raise UsedSecretError(index=used)
        self._spend(operation_id, record)
        if record.schemes_added:
            self._add_schemes(record.schemes_added)
        return mark

    def _add_operation(
        self,
        insert: statements.OperationInsert,
        key_hashes: tuple[bytes, ...],
        values: dict[str, Any],
    ) -> Mark:
        key_hash, *others = key_hashes or (None,)
        if others:
            self._refuse_taken(key_hashes, others)
        created_at_ms = int(time.time() * _MS_PER_S)
        row = insert.execute(
            self._connection,
            values | {"idempotency_key_hash": key_hash, "created_at_ms": created_at_ms},
            self._predecessors,
        ).one_or_none()
        if row is None:
            check_present(self._connection, self._predecessors)
            raise IdempotencyKeyTakenError
        return Mark(row.id, created_at_ms)

    def _refuse_taken(self, key_hashes: Sequence[bytes], others: Sequence[bytes]) -> None:
        """Refuse a key that a process with other settings has recorded under another hash."""
        if self._connection.dialect.name == "postgresql":
            # The same lock for every process, whichever of the hashes is its own.
            lock = int.from_bytes(min(key_hashes)[:_LOCK_BYTES], signed=True)
            self._connection.execute(statements.LOCK_KEY, {"lock": lock})
        taken = self._connection.execute(statements.READ_OPERATION, {"key_hashes": list(others)})
        if taken.first() is not None:
            raise IdempotencyKeyTakenError

    def _lock_items(self, item_ids: Collection[str]) -> None:
        """Wait for swaps that look for keys of these items which this one writes, and the reverse.

        Under READ COMMITTED neither would see what the other one has not committed yet.
        """
        if item_ids and self._connection.dialect.name == "postgresql":
            self._connection.execute(statements.LOCK_ITEMS, {"item_ids": list(item_ids)})

    def _spend(self, operation_id: int, record: SwapRecord) -> None:
        rows = rows_to_spend(operation_id, record)
        if self._writes.spend.execute_all(self._connection, rows) != len(rows):
            self._refuse_inputs(operation_id, record)
            # All are there, so one was created meanwhile by an operation with a later id.
            raise ConflictError

    def _refuse_changed(self, schemes_counts: Mapping[str, int]) -> None:
        rows = self._connection.execute(
            statements.READ_SCHEMES_COUNTS, {"item_ids": list(schemes_counts)}
        )
        if {row.item_id: row.schemes_count for row in rows} != schemes_counts:
            raise ItemSchemesChangedError

    def _refuse_inputs(self, operation_id: int, record: SwapRecord) -> None:
        """Raise the error of the first input that cannot be spent, if there is one."""
        self._refuse_changed(record.schemes_counts)
        found = read_outputs(self._connection, [each.key for each in record.inputs])
        unknown = {
            index
            for index, each in enumerate(record.inputs)
            if each.key not in found or found[each.key].output.amount != each.amount
        }
        for index, each in enumerate(record.inputs):
            if index in unknown:
                raise UnknownInputError(index=index, failed_secrets_count=len(unknown))
            if found[each.key].spent_by not in {None, operation_id}:
                raise SpentInputError(index=index, failed_secrets_count=len(unknown))

    def _first_known(self, forbidden: Sequence[Sequence[OutputKey]]) -> int | None:
        """Return the place of the first output of whose forbidden keys one exists, or None."""
        found = read_outputs(self._connection, {key for each in forbidden for key in each})
        return next(
            (index for index, each in enumerate(forbidden) if not found.keys().isdisjoint(each)),
            None,
        )

    def _add_schemes(self, pairs: Iterable[tuple[str, int]]) -> None:
        rows = [{"item_id": item_id, "scheme_id": scheme_id} for item_id, scheme_id in pairs]
        self._writes.item_scheme.execute_all(
            self._connection, sorted(rows, key=lambda row: tuple(row.values()))
        )

    def _add_outputs(self, operation_id: int, outputs: Sequence[Output]) -> int | None:
        """Write the outputs; return the place of the first whose key was there already, or None."""
        rows = rows_to_add(operation_id, outputs)
        if self._writes.output.execute_all(self._connection, rows) == len(rows):
            return None
        found = read_outputs(self._connection, [each.key for each in outputs])
        # Where all are of this operation, two outputs have one key: the rules let no such one pass.
        return next(
            (
                index
                for index, each in enumerate(outputs)
                if found[each.key].created_by != operation_id
            ),
            0,
        )


def read_outputs(
    connection: Connection, keys: Iterable[OutputKey]
) -> dict[OutputKey, RecordedOutput]:
    """Return those of the outputs that exist, spent or not; one statement for each item."""
    digests: dict[str, list[bytes]] = {}
    for key in keys:
        digests.setdefault(key.item_id, []).append(key.digest)
    found = {}
    for item_id, of_item in digests.items():
        values = {"of_item_id": item_id, "digests": of_item}
        for row in connection.execute(statements.READ_OUTPUTS, values):
            output = Output(OutputKey(item_id, row.digest), row.scheme_id, row.amount)
            found[output.key] = RecordedOutput(output, row.created_by, row.spent_by)
    return found


def rows_to_spend(operation_id: int, record: SwapRecord) -> list[dict[str, Any]]:
    """Return what is bound to spend each input of a swap."""
    return [
        {
            "at_item_id": each.item_id,
            "at_digest": each.key.digest,
            "at_amount": each.amount,
            "at_schemes_count": record.schemes_counts[each.item_id],
            "by_operation": operation_id,
        }
        for each in sorted(record.inputs, key=lambda each: each.key)
    ]


def rows_to_add(operation_id: int, outputs: Sequence[Output]) -> list[dict[str, Any]]:
    """Return the rows of new outputs."""
    return [
        {
            "item_id": each.item_id,
            "digest": each.key.digest,
            "scheme_id": each.scheme_id,
            "amount": each.amount,
            "created_by": operation_id,
        }
        for each in sorted(outputs, key=lambda each: each.key)
    ]
