"""Carries out verbs: records operations, sends them, and repeats them if needed."""

import hashlib
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from deeds_client.checking import Checker
from deeds_client.errors import (
    InvalidInputError,
    ProblemError,
    WalletError,
)
from deeds_client.record_format import compact
from deeds_client.records import Operation, keys_of
from deeds_client.settling import SURE, begin_again
from deeds_client.store import Reader, Records
from deeds_client.values import (
    Kind,
    OperationState,
    Output,
    OutputState,
    Secret,
)

log = logging.getLogger("deeds_client")

# Maximum attempts of a verb if other copies of the wallet keep changing its units.
_TRIES_MAX = 4
# Codes of a refusal because another copy of the wallet has used the same secret, maybe
# in the offer to be completed.
_USED = ("used_secret", "duplicate_secret")
# The wallet chooses the inputs of these, so it can choose again.
_CHOOSING = (Kind.SEND, Kind.SPLIT, Kind.MERGE, Kind.TRADE, Kind.COMPLETE)

Begin = Callable[[Records], Operation]


class About(TypedDict, total=False):
    """Optional arguments of every verb."""

    reference: str | None  # Unique in the wallet; identifies the operation.
    note: str | None


class UnderWayError(Exception):
    """The verb must wait for the operation with this key, whose change it may need."""

    def __init__(self, key: str) -> None:
        self.key = key


class SplitFirstError(Exception):
    """The units to be offered must be split off first."""


@dataclass(frozen=True, slots=True)
class Order:
    """A verb with its arguments, and the caller's reference and note."""

    kind: Kind
    arguments: Sequence[object]
    reference: str | None = None
    note: str | None = None

    def __post_init__(self) -> None:
        reference = self.reference
        if reference is not None and not (reference and str(reference).isprintable()):
            raise InvalidInputError("A reference is a text of one line.")

    @property
    def asked(self) -> Secret[str]:
        """A hash of the order, which all uses of a reference must share.

        It is secret because a secret chosen by a person could be guessed from it.
        """
        text = compact([self.kind, *self.arguments])
        return Secret(hashlib.sha256(text.encode()).hexdigest())


def carry_out(checker: Checker, order: Order, begin: Begin) -> Operation:
    """Begin or resume an operation, send it, and return it.

    `begin` is called in a transaction, and called again if another copy of the wallet
    has changed the units meanwhile. Raise the errors of the wallet's verbs.
    """
    # Fail before anything is recorded if there is no service.
    room = checker.deeds.info().array_length_max
    refusals: list[ProblemError] = []
    while True:
        try:
            with checker.store.transaction() as records:
                begun, is_new = _record(records, order, begin, room)
            operation = checker.finish(begun.key, is_first=is_new)
            _check_not_refused(operation)
            return operation
        except UnderWayError as error:
            finish_first(checker, error.key)
        except WalletError:
            # The earlier refusal explains why too few units are left.
            if not refusals:
                raise
            raise refusals[-1] from None
        except ProblemError as problem:
            refusals.append(problem)
            is_last = len(refusals) == _TRIES_MAX
            if is_last or not _was_overtaken(checker.store, problem):
                raise
            log.info("Another copy of the wallet was faster: retrying %s.", order.kind)


def finish_first(checker: Checker, key: str) -> None:
    """Send an operation that was begun. Ignore a refusal that settles it."""
    try:
        checker.finish(key)
    except ProblemError:
        if checker.store.operation(key).state == OperationState.BEGUN:
            raise


def _record(
    records: Records, order: Order, begin: Begin, room: int
) -> tuple[Operation, bool]:
    """Record the operation of an order; return it, and whether it is new."""
    known = find(records, order.reference) if order.reference else None
    if known and known.asked != order.asked:
        raise WalletError(
            "reference_used", f"“{order.reference}” was begun with something else."
        )
    resumed = _resume(records, known) if known else None
    if resumed:
        return resumed
    begun = begin(records)
    is_new = records.get(Operation, begun.key) is None
    if order.reference:
        if begun.reference not in (None, order.reference):
            raise WalletError(
                "reference_used", f"This was begun as “{begun.reference}”."
            )
        begun = replace(begun, reference=order.reference, asked=order.asked)
    if is_new:
        # Do not record a request that exceeds the service's limits.
        if max(len(begun.inputs), len(begun.outputs)) > room:
            message = "It is in too many parts. Take fewer at a time."
            raise WalletError("too_many", message)
        begun = replace(begun, note=order.note)
    return records.put(begun), is_new


def wait_for(records: Reader, outputs: Iterable[Output]) -> None:
    """Raise UnderWayError if an operation under way takes one of these."""
    for output in outputs:
        if output.state == OutputState.LEAVING:
            operation = records.operation(output.operation)
            if not operation.is_at_door:
                raise UnderWayError(operation.key)


def _resume(records: Records, known: Operation) -> tuple[Operation, bool] | None:
    """Return the known operation of an order, and whether it counts as never sent.

    A refused operation is begun again. Return None if it can never be carried out.
    """
    if not known.is_refused:
        return known, False
    inputs = records.outputs_with(keys_of(known.inputs))
    is_spent = any(output.state == OutputState.SPENT for output in inputs)
    if is_spent or known.code in SURE:
        return None
    wait_for(records, inputs)
    is_held = all(output.state == OutputState.HELD for output in inputs)
    # A claim's input is not held, so check only the kinds that choose.
    if known.kind in _CHOOSING and not is_held:
        raise WalletError("busy", "What this takes was handed out or offered since.")
    # A mint is only marked as refused if its first request was, so it was not carried
    # out and counts as never sent.
    return begin_again(records, known), known.kind == Kind.MINT


def find(records: Reader, reference: str) -> Operation | None:
    """Return the operation with this reference, or None."""
    operations = records.operations("reference", reference)
    # Two copies of a wallet may both have used it. Prefer one that was not refused.
    operations.sort(key=lambda operation: operation.state != OperationState.REFUSED)
    return operations[-1] if operations else None


def _check_not_refused(operation: Operation) -> None:
    """Raise ProblemError if an operation was refused.

    Only the code is known if another process received the refusal. An offer that was
    open and has ended was not refused.
    """
    if not operation.is_refused:
        return
    code = operation.code or ""
    raise ProblemError(
        key=operation.key,
        title="Refused by the service",
        code=code,
        detail=code,
        is_final=True,
    )


def _was_overtaken(store: Reader, problem: ProblemError) -> bool:
    """Return whether the refusal is due to another copy of this wallet."""
    operation = store.get(Operation, problem.key or "")
    if not operation:
        return False
    outputs = store.outputs_with(keys_of(operation.outputs))
    is_own = all(output.operation == operation.key for output in outputs)
    if operation.kind == Kind.CANCEL and not is_own:
        # The request to be cancelled was paid meanwhile.
        return False
    # Some of the links to take back may have been claimed.
    can_choose = operation.kind in (*_CHOOSING, Kind.TAKE_BACK)
    is_choosing = can_choose and operation.code == "spent_input"
    return is_choosing or operation.code in _USED
