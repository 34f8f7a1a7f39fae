"""Carries verbs out: writes operations down, sends them, begins them again at need."""

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

# How often a verb is begun while another copy of the wallet is faster.
_TRIES_MAX = 4
# A number that a copy has used, or has put into the offer that is completed.
_USED = ("used_secret", "duplicate_secret")
# What these take, the wallet has chosen: it can choose again.
_CHOOSING = (Kind.SEND, Kind.SPLIT, Kind.MERGE, Kind.TRADE, Kind.COMPLETE)

Begin = Callable[[Records], Operation]


class About(TypedDict, total=False):
    """What any verb may be told of its operation."""

    reference: str | None  # Unique in the wallet: how its caller finds it again.
    note: str | None


class UnderWayError(Exception):
    """The operation of this key has to end first: its change may be enough."""

    def __init__(self, key: str) -> None:
        self.key = key


class SplitFirstError(Exception):
    """What is to be offered has to be split off first."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a verb was asked for, and how its caller finds it again."""

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
        """A hash: the same reference must be of the same order.

        It is secret because a secret that a person made could be guessed from it.
        """
        text = compact([self.kind, *self.arguments])
        return Secret(hashlib.sha256(text.encode()).hexdigest())


def carry_out(checker: Checker, order: Order, begin: Begin) -> Operation:
    """Begin an operation, or go on with one, and return what became of it.

    `begin` is called in a transaction, and again where a copy of the wallet was faster.
    Raise as the verbs of the wallet do.
    """
    # Where no service is, nothing is begun.
    room = checker.deeds.info().array_length_max
    overtaken: list[ProblemError] = []
    while True:
        try:
            with checker.store.transaction() as records:
                begun, is_new = _write_down(records, order, begin, room)
            return _ended(checker.finish(begun.key, is_first=is_new))
        except UnderWayError as other:
            finish_first(checker, other.key)
        except WalletError:
            # Where what is left is not enough, the refusal says why.
            if not overtaken:
                raise
            raise overtaken[-1] from None
        except ProblemError as problem:
            overtaken.append(problem)
            if len(overtaken) == _TRIES_MAX or not _was_overtaken(
                checker.store, problem
            ):
                raise
            log.info("Another copy of the wallet was faster: %s again.", order.kind)


def finish_first(checker: Checker, key: str) -> None:
    """Send an operation that was begun, whatever becomes of it."""
    try:
        checker.finish(key)
    except ProblemError:
        if checker.store.operation(key).state == OperationState.BEGUN:
            raise


def _write_down(
    records: Records, order: Order, begin: Begin, room: int
) -> tuple[Operation, bool]:
    """Return the operation of an order, written down, and whether it is new."""
    known = find(records, order.reference) if order.reference else None
    if known and known.asked != order.asked:
        raise WalletError(
            "reference_used", f"“{order.reference}” was begun with something else."
        )
    again = _go_on(records, known) if known else None
    if again:
        return again
    begun = begin(records)
    is_new = records.get(Operation, begun.key) is None
    if order.reference:
        if begun.reference not in (None, order.reference):
            raise WalletError(
                "reference_used", f"This was begun as “{begun.reference}”."
            )
        begun = replace(begun, reference=order.reference, asked=order.asked)
    if is_new:
        # What the service does not take at once is not written down.
        if max(len(begun.inputs), len(begun.outputs)) > room:
            said = "It is in too many parts. Take fewer at a time."
            raise WalletError("too_many", said)
        begun = replace(begun, note=order.note)
    return records.put(begun), is_new


def wait_for(records: Reader, outputs: Iterable[Output]) -> None:
    """Raise UnderWayError where an operation takes one of these, which has to end."""
    for output in outputs:
        if output.state == OutputState.LEAVING:
            taking = records.operation(output.operation)
            if not taking.is_at_door:
                raise UnderWayError(taking.key)


def _go_on(records: Records, known: Operation) -> tuple[Operation, bool] | None:
    """Return what is known of an order, to be sent again where it was refused.

    With it, whether it was never sent so that it may have been carried out. Return None
    where it can never be carried out any more.
    """
    if not known.is_refused:
        return known, False
    taken = records.known(keys_of(known.inputs))
    is_spent = any(output.state == OutputState.SPENT for output in taken)
    if is_spent or known.code in SURE:
        return None
    wait_for(records, taken)
    # A claim takes what is not ours yet.
    is_choosing = known.kind in _CHOOSING
    if is_choosing and any(output.state != OutputState.HELD for output in taken):
        raise WalletError("busy", "What this takes was handed out or offered since.")
    # A mint was refused the first time it was sent, or never.
    return begin_again(records, known), known.kind == Kind.MINT


def find(records: Reader, reference: str) -> Operation | None:
    """Return the operation of a reference."""
    found = records.operations("reference", reference)
    # Of two copies of a wallet that used it each may have one.
    found.sort(key=lambda operation: operation.state != OperationState.REFUSED)
    return found[-1] if found else None


def _ended(operation: Operation) -> Operation:
    """Return an operation. Raise ProblemError for one that was refused.

    Another process was told why. An offer that has ended was not refused.
    """
    if not operation.is_refused:
        return operation
    code = operation.code or ""
    raise ProblemError(
        key=operation.key,
        title="Refused by the service",
        code=code,
        detail=code,
        is_final=True,
    )


def _was_overtaken(store: Reader, problem: ProblemError) -> bool:
    """Return whether another copy of this wallet has been faster."""
    operation = store.get(Operation, problem.key or "")
    if not operation:
        return False
    made = store.known(keys_of(operation.outputs))
    if operation.kind == Kind.CANCEL and any(
        output.operation != operation.key for output in made
    ):
        # The request that was to be ended was paid meanwhile.
        return False
    # Of links that are taken back some may have been claimed.
    can_choose = operation.kind in (*_CHOOSING, Kind.TAKE_BACK)
    is_choosing = can_choose and operation.code == "spent_input"
    return is_choosing or operation.code in _USED
