"""How operations end. Changes records only.

Two processes may settle one operation, and a request may be carried out long after it
was given up. So that both are told the truth, "done" may follow "refused", and nothing
follows "done".
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
# It was not carried out, and never is: the key was looked up first, or no key matters.
SURE = ("spent_input", "used_secret", "duplicate_secret")
_METADATA_NAMES = ("name", "description", "image")

States = Mapping[str, CheckState]


def note_states(
    records: Records, states: States, gathered: Gathered, refused: str = ""
) -> None:
    """Add what was found, and note what the service says of outputs by their keys.

    Operations that may have been carried out after their refusal
    are begun again, but the one of the key `refused`.
    """
    found = [
        output
        for item_id, finding in gathered.items()
        if finding
        for output in add_found(records, item_id, finding)
    ]
    news: dict[str, str] = {output.key: output.state for output in found}
    # What was found before the last check explains nothing that is missed since.
    checked_at = moment(records.note("check").get("at", 0))

    @cache
    def last_found(item_id: str) -> datetime:
        known = records.outputs(item_id)
        return max(output.found_at or moment(0) for output in known)

    # What was never made is asked for often; what was to be claimed is gone for good.
    taken = keys_of(records.operation(refused).inputs) if refused else []
    for output in records.known(states.keys() - news.keys()):
        state = states[output.key]
        if is_lost(output, state):
            news[output.key] = state
        # What is under way may be spent by its own operation.
        is_taken = output.state == OutputState.VOID and output.key in taken
        if output.state not in (OutputState.SEEN, *AT_REST) and not is_taken:
            continue
        # A copy may have spent it, if it moved something since.
        since = max(output.found_at or output.created_at or checked_at, checked_at)
        item_id = output.item_id
        is_wrong = gathered.get(item_id, Finding()) is None
        is_moved = is_wrong or last_found(item_id) > since
        is_spent = state == CheckState.SPENT
        records.change(
            output,
            spent_elsewhere=is_spent,
            is_unclear=is_spent and is_moved,
            unknown=state == CheckState.UNKNOWN,
        )
    _begin_again(records, news, refused)


def is_lost(output: Output, state: CheckState) -> bool:
    """Return whether something has spent or made an output, and is not known here."""
    if output.state in AT_REST:
        return state == CheckState.SPENT
    return output.state == OutputState.VOID and state != CheckState.UNKNOWN


def _begin_again(records: Records, news: Mapping[str, str], refused: str) -> None:
    """Begin operations again of which an input is spent, or something made is there.

    That is never carried out now: the answer is that of the time when it was, or a
    refusal for good.
    """
    if not news:
        return
    for operation in records.operations("state", OperationState.REFUSED):
        # Somebody may have completed an offer just before it expired.
        is_refused = operation.key == refused and operation.code != "offer_expired"
        is_sure = operation.code in SURE or is_refused
        taken = keys_of(operation.inputs)
        is_spent = any(news.get(key) == CheckState.SPENT for key in taken)
        is_there = not news.keys().isdisjoint(made_by(operation))
        if not is_sure and (is_spent or is_there):
            begin_again(records, operation)


def begin_again(records: Records, operation: Operation) -> Operation:
    """Have an operation sent again that was refused, and return it.

    Nobody stands at the door any more: it is only asked what became of it.
    """
    state, is_cancelled = OperationState.BEGUN, operation.at_door
    again = replace(operation, state=state, code=None, is_cancelled=is_cancelled)
    return records.put(again)


def code_of(records: Reader, offer: Operation, code: str) -> str:
    """Return why an operation was refused."""
    if offer.state != OperationState.OPEN:
        return code
    taken = records.known(keys_of(offer.inputs))
    ours = {output.state for output in taken if not output.spent_elsewhere}
    # We have spent what the offer put in, or are about to.
    is_spent = ours & {OutputState.SPENT, OutputState.LEAVING}
    # Only this wallet or a copy of it can use the secret that a request waits for.
    is_void_ask = offer.kind == Kind.ASK and code == "offer_void"
    return "offer_withdrawn" if is_spent or is_void_ask else code


def settle_done(records: Records, key: str, item_id: str | None = None) -> Operation:
    """The service has carried the operation out.

    `item_id` is what a mint has made.
    """
    operation = records.operation(key)
    if operation.state == OperationState.DONE:
        return operation
    if item_id:
        operation = _add_minted(records, operation, item_id)
    else:
        records.spend(operation)
        for output in operation.outputs:
            # Another copy may have meant to use the number for another amount, and a
            # look may have been the first to see it, but no other copy has made it.
            amount = output.amount
            records.change(output, amount=amount, unknown=False, found_at=None)
            records.change(output, may_be_given=False)
    if operation.kind == Kind.CANCEL and len(operation.inputs) == 1:
        # Nobody has seen it: it comes back as the same link.
        [taken] = records.known(keys_of(operation.inputs))
        records.change(operation.outputs[0], **names_of(taken))
    done = replace(operation, state=OperationState.DONE, code=None, ended_at=now())
    return records.put(done)


def _add_minted(records: Records, minting: Operation, item_id: str) -> Operation:
    """Add what the mint has made, and what is known of the item.

    Its name is there offline.
    """
    metadata = minting.body.reveal().get("metadata") or {}
    # As the registry writes it.
    ordered = {name: metadata[name] for name in _METADATA_NAMES if name in metadata}
    text = compact(ordered) if ordered else None
    records.put(Item(item_id, minting.amount, text, minting.unit, is_minted=True))
    states = []
    for place, part in enumerate(minting.outputs):
        # A secret that a person made may have been told to others by now.
        is_given = place in minting.own
        state = OutputState.GIVEN if is_given else OutputState.HELD
        output = replace(part, item_id=item_id)
        given_at = now() if is_given else None
        # A link may have named another amount, which the service did not know.
        records.change(output, amount=part.amount, given_at=given_at, unknown=False)
        states.append(state)
    return replace(minting, item_id=item_id, ends=tuple(states))
