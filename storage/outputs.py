"""Rows of the table `outputs`: how they are read, and what is bound to write them.

Rows to write are in the order of their keys: transactions that cross take their locks in one order.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection

from deeds.domain.model import Output, OutputKey, RecordedOutput, SwapRecord
from storage import statements


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
