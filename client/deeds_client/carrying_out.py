"""Carries verbs out: writes operations down, sends them, begins them again at need.

And waits for offers to end.
"""

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from threading import Event
from time import monotonic
from typing import TypedDict

from deeds_client import beginning
from deeds_client.beginning import SplitFirstError, UnderWayError, wait_for
from deeds_client.checking import Checker
from deeds_client.errors import (
    CallError,
    InvalidInputError,
    ProblemError,
    WalletError,
)
from deeds_client.record_format import compact
from deeds_client.records import ENDED, Operation, keys_of
from deeds_client.service import Metadata
from deeds_client.settling import SURE, begin_again
from deeds_client.store import Reader, Records
from deeds_client.values import (
    Kind,
    OperationState,
    Output,
    OutputState,
    Secret,
    Units,
    check_amount,
)

log = logging.getLogger("deeds_client")

# How often a verb is begun while another copy of the wallet is faster.
_TRIES_MAX = 4
# A number that a copy has used, or has put into the offer that is completed.
_USED = ("used_secret", "duplicate_secret")
# What these take, the wallet has chosen: it can choose again.
_CHOOSING = (Kind.SEND, Kind.SPLIT, Kind.MERGE, Kind.TRADE, Kind.COMPLETE)

Begin = Callable[[Records], Operation]

_WAIT_S = 2.0  # Before it is asked for again at first, and at most.
_WAIT_S_MAX = 15.0
_BACK_OFF = 1.25


class About(TypedDict, total=False):
    """What any verb may be told of its operation."""

    reference: str | None  # Unique in the wallet: how its caller finds it again.
    note: str | None


@dataclass(frozen=True, slots=True)
class Order:
    """What a verb was asked for, and how its caller finds it again."""

    kind: Kind
    arguments: tuple[object, ...]
    reference: str | None = None
    note: str | None = None

    def __post_init__(self) -> None:
        if self.reference is None:
            return
        if not self.reference or not str(self.reference).isprintable():
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
            begun, is_new = _begun(checker, order, begin, room)
            return _ended(checker.finish(begun.key, is_first=is_new))
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


def issue(
    checker: Checker, order: Order, count: int, each: int, metadata: Metadata
) -> list[Output]:
    """Mint an item and make its numbered links: see `Wallet.issue`."""
    total = check_amount(check_amount(count) * check_amount(each))
    minting = carry_out(checker, order, lambda _: beginning.mint([total], metadata))
    store, room = checker.store, checker.deeds.info().array_length_max
    batch = Order(Kind.SPLIT, ())
    while True:
        made = carry_out(
            checker,
            batch,
            lambda records: beginning.links(records, minting, count, each, room),
        )
        # When all are made, the mint is returned.
        if made.kind == Kind.MINT:
            break
    links = store.outputs(minting.item_id, OutputState.GIVEN)
    return [output for output in links if output.number]


def trade(
    checker: Checker, order: Order, gives: Units, wants: Units, expires_in: int
) -> Operation:
    """Offer units for others: see `Wallet.trade`. What it gives is split off first."""
    while True:
        try:
            return carry_out(
                checker,
                order,
                lambda records: beginning.trade(records, gives, wants, expires_in),
            )
        except SplitFirstError:
            carry_out(
                checker,
                Order(Kind.SPLIT, ()),
                lambda records: beginning.split(records, gives.item_id, [gives.amount]),
            )


def cancel(checker: Checker, key: str) -> Operation:
    """End an offer of ours that is open: see `Wallet.cancel`."""
    store = checker.store
    for begun in store.operations("state", OperationState.BEGUN):
        if begun.kind == Kind.CANCEL:
            _finish_first(checker, begun.key)
    if checker.finish(key).state == OperationState.OPEN:
        order = Order(Kind.CANCEL, ())
        try:
            carry_out(checker, order, lambda records: beginning.cancel(records, key))
        except (ProblemError, WalletError):
            # It may have been paid in this moment.
            if checker.finish(key).state == OperationState.OPEN:
                raise
    return checker.finish(key)


def _begun(
    checker: Checker, order: Order, begin: Begin, room: int
) -> tuple[Operation, bool]:
    """Return the operation of an order, written down, and whether it is new."""
    while True:
        try:
            with checker.store.transaction() as records:
                begun, is_new = _write_down(records, order, begin)
                if is_new:
                    _check_room(begun, room)
                return begun, is_new
        except UnderWayError as other:
            _finish_first(checker, other.key)


def _check_room(operation: Operation, room: int) -> None:
    """Check that the service takes so many outputs at once, before it is written."""
    if max(map(len, (operation.inputs, operation.outputs))) > room:
        said = "It is in too many parts. Take fewer at a time."
        raise WalletError("too_many", said)


def _finish_first(checker: Checker, key: str) -> None:
    try:
        checker.finish(key)
    except ProblemError:
        if checker.store.operation(key).state == OperationState.BEGUN:
            raise


def _write_down(records: Records, order: Order, begin: Begin) -> tuple[Operation, bool]:
    known = find(records, order.reference) if order.reference else None
    if known and known.asked != order.asked:
        raise WalletError(
            "reference_used", f"“{order.reference}” was begun with something else."
        )
    if known and not _is_over(records, known):
        return _go_on(records, known)
    begun = begin(records)
    is_new = records.get(Operation, begun.key) is None
    if order.reference:
        if begun.reference not in (None, order.reference):
            raise WalletError(
                "reference_used", f"This was begun as “{begun.reference}”."
            )
        begun = replace(begun, reference=order.reference, asked=order.asked)
    if is_new:
        begun = replace(begun, note=order.note)
    return records.put(begun), is_new


def _go_on(records: Records, known: Operation) -> tuple[Operation, bool]:
    """Return what is known of an order, to be sent again where it was refused."""
    if not known.is_refused:
        return known, False
    for output in records.known(keys_of(known.inputs)):
        wait_for(records, output)
        # A claim takes what is not ours yet.
        if known.kind in _CHOOSING and output.state != OutputState.HELD:
            raise WalletError(
                "busy", "What this takes was handed out or offered since."
            )
    return begin_again(records, known), True


def _is_over(records: Reader, operation: Operation) -> bool:
    """Return whether what was refused can never be carried out any more."""
    taken = records.known(keys_of(operation.inputs))
    is_spent = any(output.state == OutputState.SPENT for output in taken)
    return operation.is_refused and (operation.code in (*SURE, *_USED) or is_spent)


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
    if not operation or _is_paid(store, operation):
        return False
    # Of links that are taken back some may have been claimed.
    can_choose = operation.kind in (*_CHOOSING, Kind.TAKE_BACK)
    is_choosing = can_choose and operation.code == "spent_input"
    return is_choosing or operation.code in _USED


def _is_paid(store: Reader, operation: Operation) -> bool:
    """Return whether a request of ours is to be ended, and was paid meanwhile."""
    if operation.kind != Kind.CANCEL:
        return False
    made = store.known(keys_of(operation.outputs))
    return any(output.operation != operation.key for output in made)


def wait(
    finish: Callable[[Operation], Operation],
    operation: Operation,
    timeout_s: float | None,
    stop: Event | None,
) -> Operation:
    """Call `finish` until the operation has ended: see `Wallet.wait_paid`."""
    stop = stop or Event()
    gives_up_at = monotonic() + (inf if timeout_s is None else timeout_s)
    wait_s = _WAIT_S
    while True:
        lost, told_s = None, 0.0
        try:
            operation = finish(operation)
        except CallError as error:
            if isinstance(error, ProblemError) and error.is_final:
                raise
            lost, told_s = error, error.retry_after_s
        left_s = gives_up_at - monotonic()
        if operation.state in ENDED or left_s <= 0 or stop.is_set():
            break
        stop.wait(min(max(wait_s, told_s), left_s))
        wait_s = min(wait_s * _BACK_OFF, _WAIT_S_MAX)
    if lost:
        raise lost
    return operation
