"""What a verb may spend of an item, and which parts of that it takes."""

from collections.abc import Iterable, Sequence
from operator import attrgetter

from deeds_client.carrying_out import wait_for
from deeds_client.errors import WalletError
from deeds_client.records import now
from deeds_client.seeds import Part
from deeds_client.store import Reader
from deeds_client.values import Output, OutputState, check_amount, check_id


def free_of(records: Reader, item_id: str) -> list[Output]:
    """Return what a verb may spend of an item."""
    held = records.outputs(check_id("deed", item_id), OutputState.HELD)
    # What the service does not know would spoil a swap.
    return [each for each in held if not each.unknown and not is_set_aside(each)]


def is_set_aside(output: Output) -> bool:
    """Return whether an output is to become links, or came in at a door of the page."""
    is_undone = output.undone_at and output.undone_at >= (output.collected_at or now())
    return bool(output.each or (output.collected_at and not is_undone))


def sum_of(parts: Iterable[Output | Part]) -> int:
    """Return the units of outputs."""
    return sum(part.amount for part in parts)


def choose(
    records: Reader, item_id: str, amount: int, *, are_oldest: bool = False
) -> tuple[list[Output], list[Part]]:
    """Return the outputs to spend for an amount, and the change that they leave.

    One of just that amount, else the fewest, or the oldest; links with numbers only at
    need.
    """
    free = free_of(records, item_id)
    free.sort(key=lambda output: output.number or 0)
    if sum_of(free) < check_amount(amount):
        raise _too_little(records, item_id, amount, free)
    plain = [output for output in free if not output.number]
    pool = plain if sum_of(plain) >= amount else free
    if not are_oldest:
        # Nothing reaches a sum with fewer parts than the largest do.
        pool.sort(key=attrgetter("amount"), reverse=True)
        pool.sort(key=lambda output: output.amount != amount)
    inputs: list[Output] = []
    missing = amount
    while missing > 0:
        inputs.append(pool[len(inputs)])
        missing -= inputs[-1].amount
    return inputs, [Part(-missing, item_id)] if missing else []


def _too_little(
    records: Reader, item_id: str, amount: int, free: Sequence[Output]
) -> WalletError:
    """Return what to say where more may be here that is not free."""
    wait_for(records, records.outputs(item_id, OutputState.LEAVING))
    held = records.outputs(item_id, OutputState.HELD)
    if sum_of([*free, *(part for part in held if part.each)]) >= amount:
        return WalletError("busy", "It is being made into links, by the page.")
    if sum_of([*free, *records.outputs(item_id, OutputState.OFFERED)]) >= amount:
        return WalletError("offered", "It is in an open offer.")
    return WalletError("not_enough", f"You have {sum_of(free)} of {amount} units.")
