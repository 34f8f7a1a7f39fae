"""How operations begin: in one transaction their inputs are reserved.

Their new secrets and the whole request are written down with them, before anything is
sent.
"""

import uuid
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any

from deeds_client import file
from deeds_client.errors import InvalidInputError, WalletError
from deeds_client.records import Record, Store, key_of, now_ms, output_of
from deeds_client.seeds import take_secret
from deeds_client.settling import is_at_door
from deeds_client.values import WRONG_FORM, check_amount, check_id

Chosen = tuple[list[Record], list[Record]]
amount_of: Callable[[Record], int] = itemgetter("amount")


class UnderWayError(Exception):
    """An operation has to end first, of which this is the key.

    Its change may be enough.
    """


def choose(
    records: Store, item_id: str, amount: int, *, are_oldest: bool = False
) -> Chosen:
    """Return the outputs to spend for an amount, and the change that they leave.

    One of just that amount, else the fewest, or the oldest; links with numbers only at
    need.
    """
    free = free_of(records, item_id)
    if sum_of(free) < check_amount(amount):
        for part in records.outputs(item_id, "leaving"):
            if not is_at_door(records.get("operations", part["operation"])):
                raise UnderWayError(part["operation"])
        raise WalletError("not_enough", f"You have {sum_of(free)} of {amount} units.")
    plain = [part for part in free if "number" not in part]
    pool = plain if sum_of(plain) >= amount else free
    if not are_oldest:
        # Nothing reaches a sum with fewer parts than the largest do.
        pool.sort(
            key=lambda part: (part["amount"] == amount, part["amount"]), reverse=True
        )
    inputs: list[Record] = []
    missing = amount
    while missing > 0:
        inputs.append(pool[len(inputs)])
        missing -= inputs[-1]["amount"]
    return inputs, [{"itemId": item_id, "amount": -missing}] if missing else []


def join(records: Store, kind: str, inputs: list[Record]) -> Record:
    """Begin a swap of these inputs for one output."""
    return swap(records, kind, inputs, [{"amount": sum_of(inputs)}])


def swap(
    records: Store,
    kind: str,
    inputs: list[Record],
    made: list[Record],
    terms: Any = None,
    **about: Any,
) -> Record:
    """Begin a swap, or half of one.

    Reserve its inputs and write down what it makes.
    """
    item_id = [*inputs, *made][0]["itemId"]
    outputs, ends = [], []
    for each in made:
        part = {"itemId": item_id, **each}
        part["secret"] = take_secret(records, part)
        outputs.append(part)
        records.change(key_of(part), **part)
        state = "given" if "givenAt" in part else "held"
        ends.append({"key": key_of(part), "state": state})
    body = {"inputs": _raws(inputs), **(terms or {}), "outputs": _raws(outputs)}
    about = {"itemId": item_id, "amount": sum_of(inputs or made), **about, "body": body}
    keys = [each["key"] for each in inputs]
    return begin(records, kind, inputs=keys, outputs=ends, **about)


def begin(records: Store, kind: str, **about: Any) -> Record:
    """Write down an operation whole, and return it."""
    new = {"key": str(uuid.uuid4()), "kind": kind, **about, "state": "begun"}
    begun = records.put("operations", {**new, "begunAt": now_ms()})
    # What no backup can hold would make all backups worthless.
    try:
        file.check_operation(begun)
    except WRONG_FORM:
        raise InvalidInputError("A text or a number in this is not valid.") from None
    return {**begun, "isNew": True}


def free_of(records: Store, item_id: str) -> list[Record]:
    """Return what a verb may spend of an item."""
    # What the service does not know would spoil a swap.
    held = records.outputs(check_id("deed", item_id), "held")
    return [part for part in held if not part.get("unknown")]


def number_of(part: Record) -> int:
    """Return the number of a link, 0 of what has none."""
    return int(part.get("number", 0))


def sum_of(parts: Iterable[Record]) -> int:
    """Return the units of outputs."""
    return sum(map(amount_of, parts))


def _raws(outputs: Iterable[Record]) -> list[str]:
    return [output_of(each).raw for each in outputs]
