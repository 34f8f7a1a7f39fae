"""How operations end. Changes records; sends nothing.

Two processes may settle one operation, and a request may be carried out long after it
was given up. Therefore "done" may replace "refused", but nothing replaces "done".
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache

from deeds_client.record_format import compact
from deeds_client.records import (
    Operation,
    keys_of,
    made_by,
    moment,
    names_of,
    now,
)
from deeds_client.seeds import Finding, Gathered, add_found
from deeds_client.store import Reader, Records
from deeds_client.values import (
    CheckState,
    Item,
    Kind,
    OperationState,
    Output,
    OutputState,
)

AT_REST = (OutputState.HELD, OutputState.OFFERED, OutputState.GIVEN)
UNMADE = (OutputState.COMING, OutputState.VOID)
# With these codes an operation was never carried out and never will be: the service
# looks up the key before it checks inputs and outputs, and a request that names a
# secret twice is never valid.
SURE = ("spent_input", "used_secret", "duplicate_secret")
_METADATA_NAMES = ("name", "description", "image")

States = Mapping[str, CheckState]


def note_states(
    records: Records, states: States, gathered: Gathered, refused: str = ""
) -> None:
    """Add what was found, and record the service's states of outputs by key.

    Refused operations that may have been carried out since are begun again. The one
    with the key `refused` is left alone, unless it is an offer that has expired.
    """
    found = [
        output
        for item_id, finding in gathered.items()
        if finding
        for output in add_found(records, item_id, finding)
    ]
    new_states: dict[str, str] = {output.key: output.state for output in found}
    # Blame a copy of this wallet for an output spent since the last check only if
    # outputs of the copy were found since then, too.
    checked_at = moment(records.note("check").get("at", 0))

    @cache
    def last_found_at(item_id: str) -> datetime:
        outputs = records.outputs(item_id)
        return max(output.found_at or moment(0) for output in outputs)

    # Record a VOID output only if the refused operation tried to claim it.
    claimed = keys_of(records.operation(refused).inputs) if refused else []
    for output in records.outputs_with(states.keys() - new_states.keys()):
        state = states[output.key]
        if is_lost(output, state):
            new_states[output.key] = state
        # An output under way may be spent by its own operation.
        is_claimed = output.state == OutputState.VOID and output.key in claimed
        if output.state not in (OutputState.SEEN, *AT_REST) and not is_claimed:
            continue
        # If a copy has moved other units since, it may have spent this output, too.
        since = max(output.found_at or output.created_at or checked_at, checked_at)
        item_id = output.item_id
        is_wrong = gathered.get(item_id, Finding()) is None
        is_moved = is_wrong or last_found_at(item_id) > since
        is_spent = state == CheckState.SPENT
        records.change(
            output,
            spent_elsewhere=is_spent,
            is_unclear=is_spent and is_moved,
            unknown=state == CheckState.UNKNOWN,
        )
    _begin_refused_again(records, new_states, refused)


def is_lost(output: Output, state: CheckState) -> bool:
    """Return whether an unknown operation has spent or made an output."""
    if output.state in AT_REST:
        return state == CheckState.SPENT
    return output.state == OutputState.VOID and state != CheckState.UNKNOWN


def _begin_refused_again(
    records: Records, new_states: Mapping[str, str], refused: str
) -> None:
    """Begin refused operations again if an input is spent or an output exists.

    Sending them again changes nothing: the service repeats its first answer if they
    were carried out, and otherwise refuses them for good.
    """
    if not new_states:
        return
    for operation in records.operations("state", OperationState.REFUSED):
        # It may have been completed just before it expired.
        is_refused = operation.key == refused and operation.code != "offer_expired"
        is_sure = operation.code in SURE or is_refused
        inputs = keys_of(operation.inputs)
        is_spent = any(new_states.get(key) == CheckState.SPENT for key in inputs)
        has_output = not new_states.keys().isdisjoint(made_by(operation))
        if not is_sure and (is_spent or has_output):
            begin_again(records, operation)


def begin_again(records: Records, operation: Operation) -> Operation:
    """Mark a refused operation as begun, so that it is sent again; return it.

    A claim at a door is only queried, because its guest is no longer there.
    """
    state, is_cancelled = OperationState.BEGUN, operation.at_door
    begun = replace(operation, state=state, code=None, is_cancelled=is_cancelled)
    return records.put(begun)


def code_of(records: Reader, offer: Operation, code: str) -> str:
    """Return the code to record for a refused operation.

    It is "offer_withdrawn" for an open offer that this wallet or a copy has cancelled.
    """
    if offer.state != OperationState.OPEN:
        return code
    inputs = records.outputs_with(keys_of(offer.inputs))
    states = {output.state for output in inputs if not output.spent_elsewhere}
    # This wallet has spent the offer's inputs, or is about to.
    is_spent = states & {OutputState.SPENT, OutputState.LEAVING}
    # Only this wallet and its copies know the secret that a request waits for.
    is_void_ask = offer.kind == Kind.ASK and code == "offer_void"
    return "offer_withdrawn" if is_spent or is_void_ask else code


def settle_done(records: Records, key: str, item_id: str | None = None) -> Operation:
    """Mark an operation as done, and update its inputs and outputs.

    `item_id` is the id of the item that a mint has made.
    """
    operation = records.operation(key)
    if operation.state == OperationState.DONE:
        return operation
    if item_id:
        operation = _add_minted(records, operation, item_id)
    else:
        records.spend(operation)
        for output in operation.outputs:
            # Another copy may have planned another amount for the number, and a search
            # may have found the output first. But this operation has made it.
            records.change(
                output,
                amount=output.amount,
                unknown=False,
                found_at=None,
                may_be_given=False,
            )
    if operation.kind == Kind.CANCEL and len(operation.inputs) == 1:
        # Its secret was not handed out, so it keeps its number.
        [offered] = records.outputs_with(keys_of(operation.inputs))
        records.change(operation.outputs[0], **names_of(offered))
    done = replace(operation, state=OperationState.DONE, code=None, ended_at=now())
    return records.put(done)


def _add_minted(records: Records, minting: Operation, item_id: str) -> Operation:
    """Add the outputs of a mint, and its item, so that its name is known offline."""
    metadata = minting.body.reveal().get("metadata") or {}
    # In the registry's order (contract 2.4).
    ordered = {name: metadata[name] for name in _METADATA_NAMES if name in metadata}
    text = compact(ordered) if ordered else None
    records.put(Item(item_id, minting.amount, text, minting.unit, is_minted=True))
    states = []
    for place, part in enumerate(minting.outputs):
        # Others may know a secret that a person chose.
        is_given = place in minting.own
        state = OutputState.GIVEN if is_given else OutputState.HELD
        output = replace(part, item_id=item_id)
        given_at = now() if is_given else None
        # A link may have named another amount, so that the service called it unknown.
        records.change(output, amount=part.amount, given_at=given_at, unknown=False)
        states.append(state)
    return replace(minting, item_id=item_id, ends=tuple(states))
