"""Chooses which outputs of an item a verb spends. Reads records and changes none."""

from collections.abc import Iterable, Sequence
from operator import attrgetter

from deeds_client.carrying_out import wait_for
from deeds_client.errors import WalletError
from deeds_client.records import now
from deeds_client.seeds import Part
from deeds_client.store import Reader
from deeds_client.values import Output, OutputState, parse_amount, parse_id


def free_of(records: Reader, item_id: str) -> list[Output]:
    """Return the outputs of an item that a verb may spend."""
    held = records.outputs(parse_id("deed", item_id), OutputState.HELD)
    # The service would refuse a swap of an output that it does not know.
    return [part for part in held if not part.unknown and not is_set_aside(part)]


def is_set_aside(output: Output) -> bool:
    """Return whether an output is to be split into links or was admitted at a door."""
    is_undone = output.undone_at and output.undone_at >= (output.collected_at or now())
    return bool(output.each or (output.collected_at and not is_undone))


def sum_of(parts: Iterable[Output | Part]) -> int:
    """Return the sum of the amounts."""
    return sum(part.amount for part in parts)


def choose(
    records: Reader, item_id: str, amount: int, *, are_oldest: bool = False
) -> tuple[list[Output], list[Part]]:
    """Return the outputs to spend for an amount, and the change as parts.

    An output of exactly this amount is preferred, then the fewest outputs; with
    `are_oldest`, the oldest are taken. Numbered links are only spent if the others are
    not enough. Raise WalletError if too few units are free, and UnderWayError if an
    operation under way may return some.
    """
    free = free_of(records, item_id)
    free.sort(key=lambda output: output.number or 0)
    if sum_of(free) < parse_amount(amount):
        raise _shortage(records, item_id, amount, free)
    plain = [output for output in free if not output.number]
    pool = plain if sum_of(plain) >= amount else free
    if not are_oldest:
        # Taking the largest first needs the fewest.
        pool.sort(key=attrgetter("amount"), reverse=True)
        pool.sort(key=lambda output: output.amount != amount)
    inputs: list[Output] = []
    missing = amount
    while missing > 0:
        inputs.append(pool[len(inputs)])
        missing -= inputs[-1].amount
    return inputs, [Part(-missing, item_id)] if missing else []


def _shortage(
    records: Reader, item_id: str, amount: int, free: Sequence[Output]
) -> WalletError:
    """Return the error for too few free units.

    Raise UnderWayError if an operation under way may return some.
    """
    wait_for(records, records.outputs(item_id, OutputState.LEAVING))
    held = records.outputs(item_id, OutputState.HELD)
    if sum_of([*free, *(part for part in held if part.each)]) >= amount:
        return WalletError("busy", "It is being made into links, by the page.")
    if sum_of([*free, *records.outputs(item_id, OutputState.OFFERED)]) >= amount:
        return WalletError("offered", "It is in an open offer.")
    return WalletError("not_enough", f"You have {sum_of(free)} of {amount} units.")
