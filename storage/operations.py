"""Mint, swap and offer inside their transaction.

What moves units is judged by row counts, never by a read before a write.
"""

import re
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

from sqlalchemy import Connection, CursorResult, Row

from deeds.domain import errors
from deeds.domain.model import (
    MintRecord,
    OfferRecord,
    OperationKind,
    Output,
    OutputKey,
    RecordedOutput,
    SwapRecord,
)
from deeds.domain.rules import expires_at_s
from storage import statements
from storage.failures import ConflictError
from storage.mark import Mark, check_present

Values = Mapping[str, Any]
Value = TypeVar("Value")

_NS_PER_MS = 1_000_000

# Advisory locks of PostgreSQL have 64-bit names.
_LOCK_BYTES = 8

# Of what one statement looks for. SQLite binds 32,766 values in one, and a completion
# may name four times DEEDS_MAX_ARRAY.
_LIST_MAX = 30_000

# What outputs are sorted by: crossing transactions then lock rows in one order.
_key = attrgetter("key")


class Writer:
    """Writes one operation on the connection of its transaction.

    Nothing is written unless the predecessors are in the ledger.
    """

    def __init__(self, connection: Connection, predecessors: Sequence[Mark]) -> None:
        self._connection = connection
        self._predecessors = predecessors
        self._is_postgresql = connection.dialect.name == "postgresql"

    def mint(self, record: MintRecord) -> Mark:
        """Write an item and its outputs; return the operation."""
        mark = self._add_operation(OperationKind.MINT, record)
        values = {"salt": record.salt, "created_by": mark.operation_id}
        self._execute(statements.INSERT_ITEM, values | asdict(record.item))
        self._add_schemes(
            {(record.item.id, output.scheme_id) for output in record.outputs}
        )
        used = self._add_outputs(mark.operation_id, record.outputs)
        if used is not None:
            raise errors.UsedSecretError(index=used)
        return mark

    def swap(self, record: SwapRecord) -> Mark:
        """Spend the inputs and write the outputs; return the operation."""
        lock = ""
        if self._is_postgresql:
            lock = (
                statements.EXCLUSIVE_LOCK
                if record.schemes_added
                else statements.SHARED_LOCK
            )
        mark = self._add_operation(OperationKind.SWAP, record, len(record.inputs), lock)
        if record.offer_id is not None:
            # Before any output, as every transaction that touches an offer.
            self._complete(record.offer_id, mark)
        forbidden = record.outputs_forbidden
        if forbidden and self._is_postgresql:
            # Under READ COMMITTED two swaps of an item would not see each other's
            # outputs.
            item_ids = {key.item_id for key in forbidden}
            self._connection.execute(
                statements.LOCK_ITEMS, {"item_ids": list(item_ids)}
            )
        # Insert outputs before spending inputs: a transaction that has spent an input
        # then waits for no other, so that on PostgreSQL no two swaps can wait for each
        # other.
        used = self._add_outputs(mark.operation_id, record.outputs)
        if used is None:
            known = read_outputs(self._connection, forbidden)
            used = min((forbidden[key] for key in known), default=None)
        if used is not None:
            # A client that cannot spend the inputs is not told which secrets the item
            # knows.
            self._refuse_inputs(mark.operation_id, record)
            raise errors.UsedSecretError(index=used)
        self._spend(mark.operation_id, record)
        if record.schemes_added:
            self._add_schemes(record.schemes_added)
        return mark

    def offer(self, record: OfferRecord) -> Mark:
        """Write an offer, which reserves nothing; return the operation."""
        half = record.half
        lock = statements.SHARED_LOCK if self._is_postgresql else ""
        mark = self._add_operation(OperationKind.OFFER, half, len(half.inputs), lock)
        self._refuse_inputs(mark.operation_id, half)
        places = {output.key: index for index, output in enumerate(half.outputs)}
        known = read_outputs(self._connection, places | dict(half.outputs_forbidden))
        if known:
            places |= half.outputs_forbidden
            raise errors.UsedSecretError(index=min(places[key] for key in known))
        items = {"item_ids": list({output.item_id for output in half.outputs})}
        scheme = {"scheme_id": record.scheme_id}
        counted = self._connection.scalar(
            statements.COUNT_OTHER_SCHEMES, scheme | items
        )
        values = {
            "id": record.id,
            "created_by": mark.operation_id,
            "expires_in": record.expires_in_s,
            "expires_at": expires_at_s(mark.created_at_ms, record.expires_in_s),
            "other_schemes_count": counted,
        }
        self._execute(statements.INSERT_OFFER, values | scheme)
        self._add_half(record.id, half)
        return mark

    def _add_half(self, offer_id: str, half: SwapRecord) -> None:
        amounts = dict.fromkeys(half.outputs_forbidden) | {
            output.key: output.amount for output in half.outputs
        }
        rows = [
            {"offer_id": offer_id, "amount": amount, **asdict(key)}
            for key, amount in amounts.items()
        ]
        self._execute(statements.INSERT_OFFER_OUTPUT, rows)
        if half.inputs:
            rows = [
                {"offer_id": offer_id, **asdict(output.key)} for output in half.inputs
            ]
            self._execute(statements.INSERT_OFFER_INPUT, rows)

    def _complete(self, offer_id: str, mark: Mark) -> None:
        values = {"offer_id": offer_id} | asdict(mark)
        if self._execute(statements.COMPLETE_OFFER, values).rowcount != 1:
            raise errors.OfferNotOpenError

    def _add_operation(
        self,
        kind: OperationKind,
        record: MintRecord | SwapRecord,
        inputs_count: int = 0,
        lock: str = "",
    ) -> Mark:
        key_hash, *others = record.idempotency_key_hashes or (None,)
        if others:
            self._refuse_taken(record.idempotency_key_hashes, others)
        created_at_ms = time.time_ns() // _NS_PER_MS
        values = {
            "kind": kind,
            "idempotency_key_hash": key_hash,
            "inputs_count": inputs_count,
            "outputs_count": len(record.outputs),
            "created_at_ms": created_at_ms,
        }
        for number, mark in enumerate(self._predecessors):
            values[f"before_id_{number}"] = mark.operation_id
            values[f"before_ms_{number}"] = mark.created_at_ms
        conditions = map(
            statements.IF_PREDECESSOR.format, range(len(self._predecessors))
        )
        parts = [
            statements.INSERT_OPERATION,
            *conditions,
            statements.RETURNING_OPERATION,
            lock,
        ]
        row = self._execute("".join(parts), values).one_or_none()
        if row is None:
            check_present(self._connection, self._predecessors)
            raise errors.IdempotencyKeyTakenError
        return Mark(row.id, created_at_ms)

    def _execute(
        self, sql: str, values: Values | Sequence[Values]
    ) -> CursorResult[Any]:
        # Past SQLAlchemy's compiler: its cache would cost a sixth of the transaction of
        # a swap.
        sql = _with_psycopg_names(sql) if self._is_postgresql else sql
        return self._connection.exec_driver_sql(sql, values)

    def _refuse_taken(
        self, key_hashes: Sequence[bytes], others: Sequence[bytes]
    ) -> None:
        """Refuse a key that a process with other settings has recorded under another hash."""
        if self._is_postgresql:
            # The same lock for every process, whichever of the hashes is its own.
            lock = int.from_bytes(min(key_hashes)[:_LOCK_BYTES], signed=True)
            self._connection.execute(statements.LOCK_KEY, {"lock": lock})
        taken = self._connection.execute(
            statements.READ_OPERATION, {"key_hashes": list(others)}
        )
        if taken.first() is not None:
            raise errors.IdempotencyKeyTakenError

    def _add_schemes(self, pairs: Collection[tuple[str, int]]) -> None:
        rows = [
            {"item_id": item_id, "scheme_id": scheme_id}
            for item_id, scheme_id in sorted(pairs)
        ]
        self._execute(statements.INSERT_ITEM_SCHEME, rows)

    def _add_outputs(self, operation_id: int, outputs: Sequence[Output]) -> int | None:
        """Write the outputs.

        Return the index of the first whose key was there, or None.
        """
        rows = [
            {
                "item_id": each.item_id,
                "digest": each.key.digest,
                "scheme_id": each.scheme_id,
                "amount": each.amount,
                "created_by": operation_id,
            }
            for each in sorted(outputs, key=_key)
        ]
        if self._execute(statements.INSERT_OUTPUT, rows).rowcount == len(rows):
            return None
        found = read_outputs(self._connection, map(_key, outputs))
        # Where all are of this operation, two outputs have one key, which the rules
        # refuse.
        used = (
            n
            for n, each in enumerate(outputs)
            if found[each.key].created_by != operation_id
        )
        return next(used, 0)

    def _spend(self, operation_id: int, record: SwapRecord) -> None:
        rows = [
            {
                "item_id": each.item_id,
                "digest": each.key.digest,
                "amount": each.amount,
                "schemes_count": record.schemes_counts[each.item_id],
                "operation_id": operation_id,
            }
            for each in sorted(record.inputs, key=_key)
        ]
        if self._execute(statements.SPEND_OUTPUT, rows).rowcount != len(rows):
            self._refuse_inputs(operation_id, record)
            # All are there, so one was created meanwhile by an operation with a later
            # id.
            raise ConflictError

    def _refuse_inputs(self, operation_id: int, record: SwapRecord) -> None:
        """Raise the error of the first unknown input, else of the first spent one, if any is."""
        rows = read_item_schemes(self._connection, record.schemes_counts)
        if Counter(row.id for row in rows) != Counter(record.schemes_counts):
            raise errors.ItemSchemesChangedError
        found = read_outputs(self._connection, map(_key, record.inputs))
        unknown = [
            index
            for index, each in enumerate(record.inputs)
            if each.key not in found or found[each.key].output.amount != each.amount
        ]
        if unknown:
            raise errors.UnknownInputError(
                index=unknown[0], failed_secrets_count=len(unknown)
            )
        for index, each in enumerate(record.inputs):
            if found[each.key].spent_by not in {None, operation_id}:
                raise errors.SpentInputError(index=index)


@cache
def _with_psycopg_names(sql: str) -> str:
    return re.sub(r":(\w+)", r"%(\1)s", sql)


def read_outputs(
    connection: Connection, keys: Iterable[OutputKey]
) -> dict[OutputKey, RecordedOutput]:
    """Return those of the outputs that exist, spent or not.

    Statements of one item each.
    """
    digests: dict[str, list[bytes]] = {}
    for key in keys:
        digests.setdefault(key.item_id, []).append(key.digest)
    found = {}
    for item_id, of_item in digests.items():
        for digests_part in _parts(of_item):
            values = {"item_id": item_id, "digests": digests_part}
            for row in connection.execute(statements.READ_OUTPUTS, values):
                output = Output(
                    OutputKey(item_id, row.digest), row.scheme_id, row.amount
                )
                found[output.key] = RecordedOutput(output, row.created_by, row.spent_by)
    return found


def read_item_schemes(
    connection: Connection, item_ids: Iterable[str]
) -> list[Row[Any]]:
    """Return a row for each scheme of each of the items that exist."""
    return [
        row
        for part in _parts(list(item_ids))
        for row in connection.execute(statements.READ_ITEM_SCHEMES, {"item_ids": part})
    ]


def _parts(values: Sequence[Value]) -> Iterator[Sequence[Value]]:
    return (
        values[start : start + _LIST_MAX] for start in range(0, len(values), _LIST_MAX)
    )
