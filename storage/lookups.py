"""Looks operations up by their keys, and outputs by theirs, on any connection."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, Row

from deeds.domain.model import (
    Operation,
    OperationKind,
    Output,
    OutputKey,
    RecordedOutput,
)
from storage.driver import execute

_READ_OPERATION = """
    SELECT operations.id, kind, inputs_count, outputs_count, items.id AS item_id,
        offers.id AS offer_id
    FROM operations LEFT JOIN items ON items.created_by = operations.id
    LEFT JOIN offers
        ON offers.created_by = operations.id OR offers.completed_by = operations.id
    WHERE idempotency_key_hash = :idempotency_key_hash
"""

# Of one item: for a list of pairs of item and digest SQLite reads the whole table.
_READ_OUTPUTS_OF_ITEM = """
    SELECT item_id, digest, amount, created_by, spent_by FROM outputs
    WHERE item_id = :item_id AND digest IN :digests
"""

# For PostgreSQL, which may be a millisecond away: a trade may name a thousand items.
_READ_OUTPUTS = """
    SELECT item_id, digest, amount, created_by, spent_by
    FROM outputs JOIN unnest(CAST(:item_ids AS text[]), CAST(:digests AS bytea[]))
        AS named (item_id, digest) USING (item_id, digest)
"""


def read_operation(connection: Connection, key_hash: bytes) -> Operation | None:
    """Return the operation recorded under the hash of an idempotency key."""
    values = {"idempotency_key_hash": key_hash}
    row = execute(connection, _READ_OPERATION, values).first()
    if row is None:
        return None
    kind = OperationKind(row.kind)
    counts = (row.inputs_count, row.outputs_count)
    return Operation(row.id, kind, *counts, row.item_id, row.offer_id)


def read_outputs(
    connection: Connection, keys: Iterable[OutputKey]
) -> dict[OutputKey, RecordedOutput]:
    """Return those of the outputs that exist."""
    found = {}
    for row in _read_output_rows(connection, list(keys)):
        output = Output(OutputKey(row.item_id, row.digest), row.amount)
        found[output.key] = RecordedOutput(output, row.created_by, row.spent_by)
    return found


def _read_output_rows(
    connection: Connection, keys: Sequence[OutputKey]
) -> Iterator[Row[Any]]:
    if connection.dialect.name == "postgresql":
        item_ids = [key.item_id for key in keys]
        digests = [key.digest for key in keys]
        named = {"item_ids": item_ids, "digests": digests}
        yield from execute(connection, _READ_OUTPUTS, named)
        return
    for item_id, of_item in groupby(sorted(keys), key=attrgetter("item_id")):
        digests = [key.digest for key in of_item]
        values = {"item_id": item_id, "digests": digests}
        yield from execute(connection, _READ_OUTPUTS_OF_ITEM, values)
