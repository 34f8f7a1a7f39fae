"""Begins operations: chooses the inputs and outputs of each verb of the wallet.

Before anything is sent, one transaction reserves the inputs and records the new secrets
and the whole request. Sends nothing: carrying_out.py does.
"""

import uuid
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from operator import attrgetter
from typing import Any

from deeds_client.carrying_out import SplitFirstError, wait_for
from deeds_client.choosing import choose, free_of, is_set_aside, sum_of
from deeds_client.errors import InvalidInputError, WalletError
from deeds_client.records import NAMES, Operation, keys_of, moment, names_of, now
from deeds_client.seeds import Part, take_secret
from deeds_client.service import Metadata
from deeds_client.store import Records
from deeds_client.values import (
    Kind,
    Offer,
    OfferState,
    OperationState,
    Output,
    OutputState,
    Secret,
    Units,
    mint_body,
    parse_amount,
    parse_id,
    swap_body,
)

_EXPIRES_IN_S = range(60, 30 * 24 * 60 * 60 + 1)  # Contract 4.7.
_ORDINALS = {1: "st", 2: "nd", 3: "rd"}
_NOTE_LENGTH_MAX = 80  # The same as the page's limit.


def mint(amounts: Sequence[int], metadata: Metadata) -> Operation:
    """Begin to mint an item in outputs of these amounts."""
    if not amounts:
        raise InvalidInputError("Say how many units to make.")
    outputs = [Output.fresh(amount) for amount in amounts]
    return _begin(Kind.MINT, [], outputs, mint_body(outputs, metadata), item_id="")


def links(
    records: Records, minting: Operation, count: int, each: int, room: int
) -> Operation:
    """Begin to make the next links of a series, in at most `room` outputs.

    The series has `count` links of `each` units. Return `minting` if all are made.
    """
    item_id = minting.item_id
    outputs = records.outputs(item_id)
    existing = [output for output in outputs if output.state != OutputState.VOID]
    for output in existing:
        if output.of not in (None, count) and output.found_at:
            # A search found this link and guessed the length of the series: correct it.
            records.change(output, of=count)
        if output.state == OutputState.COMING and output.number:
            return records.operation(output.operation)
    first = 1 + max(output.number or 0 for output in existing)
    if first > count:
        return minting
    # One place is for the change.
    last = min(count, first + room - 2)
    # Choose the oldest outputs, as a batch that was refused did. If that batch is
    # carried out late, it has the same inputs as this one, so only one of them
    # succeeds.
    amount = (last - first + 1) * each
    inputs, change = choose(records, item_id, amount, are_oldest=True)
    links = [
        Part(each, item_id, is_given=True, number=number, of=count)
        for number in range(first, last + 1)
    ]
    return swap(records, Kind.SPLIT, inputs, [*links, *change])


def send(records: Records, item_id: str, amount: int) -> Operation:
    """Begin to make a link; it is the first output, followed by the change.

    A link made of a whole numbered link keeps its number. Otherwise its note names the
    numbered links that it was made from.
    """
    inputs, change = choose(records, item_id, amount)
    link = Part(amount, item_id, is_given=True)
    if inputs[0].amount == amount:
        link = replace(link, **names_of(inputs[0]))
    else:
        note = ", ".join(filter(None, map(_ticket_text, inputs)))
        link = replace(link, note=note[:_NOTE_LENGTH_MAX] or None)
    return swap(records, Kind.SEND, inputs, [link, *change], amount=amount)


def _ticket_text(output: Output) -> str:
    """Return a link's number and note, as in "17 of 200, 3rd link · table 4".

    The web page uses the same words.
    """
    number = f"{output.number} of {output.of}" if output.number else ""
    if output.issue:
        number += f", {_ordinal(output.issue)} link"
    return " · ".join(filter(None, (number, output.note)))


def _ordinal(number: int) -> str:
    is_teen = number % 100 in range(11, 14)
    ending = "th" if is_teen else _ORDINALS.get(number % 10, "th")
    return f"{number}{ending}"


def split(records: Records, item_id: str, amounts: Sequence[int]) -> Operation:
    """Begin to make parts of these amounts, followed by the change."""
    parts = [Part(parse_amount(amount), item_id) for amount in amounts]
    inputs, change = choose(records, item_id, sum_of(parts))
    return swap(records, Kind.SPLIT, inputs, [*parts, *change])


def merge(records: Records, item_id: str, room: int) -> Operation:
    """Begin to join free parts without a number, the smallest first.

    `room` is the maximum number of inputs.
    """
    free = free_of(records, item_id)
    loose = [output for output in free if output.number is None]
    loose.sort(key=attrgetter("amount"))
    if len(loose) <= 1:
        raise WalletError("nothing_to_merge", "There is nothing to merge.")
    return join(records, Kind.MERGE, loose[:room])


def give(records: Records, output: Output) -> Output:
    """Mark a held output as handed out, and return it."""
    known = records.output(output.key)
    ours = (OutputState.HELD, OutputState.GIVEN)
    if not known or known.state not in ours or known.unknown or is_set_aside(known):
        raise WalletError("not_held", "This is not held here, or was set aside.")
    if known.state == OutputState.HELD:
        records.change(known, given_at=now())
    return replace(known, state=OutputState.GIVEN)


def show(records: Records, item_id: str, number: int | None) -> Output:
    """Return a held output to show at a door, and note the time.

    With several outputs, repeated calls take turns.
    """
    parts = [
        part
        for part in records.outputs(item_id, OutputState.HELD, OutputState.GIVEN)
        if not part.unknown and number in (None, _number(part))
    ]
    held = [part for part in parts if part.state == OutputState.HELD]
    if not parts:
        missing = f"No number {number}" if number else "Nothing"
        raise WalletError("nothing_here", f"{missing} of this deed is here.")
    if not held:
        raise WalletError("nothing_held", "Its link was handed out.")
    # Outputs that were never shown come first, then the least recently shown ones. Ties
    # are broken by the lowest number.
    held.sort(key=lambda part: (part.shown_at or moment(0), _number(part) or inf))
    records.change(held[0], shown_at=now())
    return held[0]


def _number(part: Output) -> int | None:
    """Return the number of a link; None for a part that is to be split into links."""
    return None if part.each else part.number


def claim(records: Records, output: Output) -> Operation:
    """Begin to claim an output, or return the operation that already takes it."""
    # Use our own record: the caller's output may come from another wallet.
    known = records.output(output.key)
    if not known or known.state == OutputState.SEEN:
        # An earlier link may have named another amount.
        records.change(output, amount=output.amount)
        return join(records, Kind.CLAIM, [output])
    # Return the operation even if the service says that the output is spent: the
    # operation may have spent it.
    operation = known.operation and records.operation(known.operation)
    is_begun = operation and operation.state == OperationState.BEGUN
    if operation and (is_begun or known.state == OutputState.COMING):
        if operation.is_at_door:
            raise WalletError("busy", "It was scanned at a door. Claim it there.")
        return operation
    if known.state == OutputState.GIVEN:
        return take_back(records, [known])
    if known.state == OutputState.VOID:
        return join(records, Kind.CLAIM, [known])
    if known.state in (OutputState.HELD, OutputState.OFFERED):
        raise WalletError("already_held", "You have this already.")
    message = "Already claimed. If it wasn't you, ask the sender."
    raise WalletError("already_claimed", message)


def take_back(records: Records, outputs: Sequence[Output]) -> Operation:
    """Begin to take links back, or return the operation that already does.

    Each numbered link becomes the next issue of its number. All other links become one
    part.
    """
    known = records.outputs_with(keys_of(outputs))
    if len({output.item_id for output in known}) > 1:
        raise InvalidInputError("Take back links of one deed at a time.")
    given = [output for output in known if output.state == OutputState.GIVEN]
    if given:
        numbered = [output for output in given if output.number]
        loose = [output for output in given if not output.number]
        parts = []
        for link in numbered:
            part = Part(link.amount, link.item_id, **names_of(link))
            parts.append(replace(part, issue=(link.issue or 1) + 1))
        if loose:
            parts.append(Part(sum_of(loose), loose[0].item_id))
        return swap(records, Kind.TAKE_BACK, given, parts)
    for output in known:
        if output.state == OutputState.LEAVING:
            return records.operation(output.operation)
    message = "Nothing to take back: it was claimed or never handed out."
    raise WalletError("not_given", message)


def ask(records: Records, item_id: str, amount: int, expires_in: int) -> Operation:
    """Begin a payment request, an offer that gives nothing."""
    _check_expiry(expires_in)
    wanted = Part(amount, item_id)
    return swap(records, Kind.ASK, [], [wanted], expires_in=expires_in)


def trade(records: Records, gives: Units, wants: Units, expires_in: int) -> Operation:
    """Begin a trade. Raise SplitFirstError if the chosen parts exceed what it gives."""
    if gives.item_id == wants.item_id:
        raise InvalidInputError("Choose another deed to trade for.")
    wanted = Part(parse_amount(wants.amount), parse_id("deed", wants.item_id))
    _check_expiry(expires_in)
    inputs, change = choose(records, gives.item_id, gives.amount)
    if change:
        raise SplitFirstError
    return swap(records, Kind.TRADE, inputs, [wanted], expires_in=expires_in)


def _check_expiry(expires_in: int) -> None:
    if type(expires_in) is not int or expires_in not in _EXPIRES_IN_S:
        raise InvalidInputError("An offer is open for 60 seconds to 30 days.")


def cancel(records: Records, key: str) -> Operation:
    """Begin to cancel an offer of this wallet.

    A trade is cancelled by spending its inputs, a payment request by using its secret.
    """
    offer = records.operation(key)
    known = records.outputs_with(keys_of(offer.inputs))
    wait_for(records, known)
    offered = [output for output in known if output.state == OutputState.OFFERED]
    if offer.state != OperationState.OPEN or (known and not offered):
        raise WalletError("offer_not_open", "This has ended meanwhile.")
    if offered:
        return join(records, Kind.CANCEL, offered)
    wanted = offer.outputs[0]
    try:
        [part, *_], _ = choose(records, wanted.item_id, 1)
    except WalletError as error:
        if error.code != "not_enough":
            raise
        message = (
            f"It can be paid until {offer.expires_at:%Y-%m-%d %H:%M} UTC. Only a wallet"
            " that holds a part of the deed can end a request before."
        )
        raise WalletError("cannot_cancel", message) from None
    output = replace(wanted, amount=part.amount)
    body = swap_body([part], [output])
    return _begin(Kind.CANCEL, [part], [output], body, amount=offer.amount)


def complete(records: Records, offer: Offer) -> Operation:
    """Begin to complete an offer, or return the operation that already does."""
    for operation in records.operations("offerId", offer.id):
        if operation.kind != Kind.COMPLETE:
            raise WalletError("own_offer", "This is your own offer.")
        if operation.state != OperationState.REFUSED:
            return operation
    if offer.state != OfferState.OPEN:
        raise WalletError("offer_not_open", f"This offer is {offer.state}.")
    inputs: list[Output] = []
    parts = [Part(units.amount, units.item_id) for units in offer.gives]
    for units in offer.wants:
        chosen, change = choose(records, units.item_id, units.amount)
        inputs += chosen
        parts += change
    price = offer.wants[0].amount
    return swap(records, Kind.COMPLETE, inputs, parts, offer_id=offer.id, amount=price)


def join(records: Records, kind: Kind, inputs: Sequence[Output]) -> Operation:
    """Begin a swap of these inputs for one output."""
    part = Part(sum_of(inputs), inputs[0].item_id)
    return swap(records, kind, inputs, [part])


def swap(
    records: Records,
    kind: Kind,
    inputs: Sequence[Output],
    parts: Sequence[Part],
    expires_in: int | None = None,
    **about: Any,
) -> Operation:
    """Begin a swap or one side of an offer, and record the outputs that it makes."""
    outputs = []
    for part in parts:
        output = take_secret(records, part)
        given_at = now() if part.is_given else None
        names = {name: getattr(part, name) for name in NAMES}
        records.change(output, given_at=given_at, **names)
        outputs.append(output)
    body = swap_body(inputs, outputs, expires_in)
    return _begin(kind, inputs, outputs, body, **about)


def _begin(
    kind: Kind,
    inputs: Sequence[Output],
    outputs: Sequence[Output],
    body: dict[str, Any],
    **about: Any,
) -> Operation:
    """Return a new operation; `about` are fields that do not follow from its parts."""
    counted = inputs or outputs
    fields = {"item_id": counted[0].item_id, "amount": sum_of(counted), **about}
    # A mint's states are set when its answer arrives.
    ends = () if kind == Kind.MINT else tuple(output.state for output in outputs)
    return Operation(
        key=str(uuid.uuid4()),
        kind=kind,
        state=OperationState.BEGUN,
        begun_at=now(),
        body=Secret(body),
        ends=ends,
        **fields,
    )
