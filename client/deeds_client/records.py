"""What a wallet writes down, docs/wallet-file.md, and what it holds by that."""

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, NewType, TypeVar

from deeds_client.errors import InvalidInputError
from deeds_client.values import (
    Item,
    Kind,
    More,
    OperationState,
    Output,
    OutputState,
    Secret,
    check_id,
    member,
)

MAKINGS = (Kind.ASK, Kind.TRADE)
ENDED = (OperationState.DONE, OperationState.REFUSED)
NUMBER_MAX = 2**48 - 1  # What is counted on from here stays exact in JavaScript.
NAMES = ("number", "of", "issue", "note")  # What a person tells a link by.
SEEDS_MAX = 8  # More wallets than anybody joins; each is looked for.

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_MS_MAX = (datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH) // _MS
_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SEED = re.compile("[0-9a-f]{64}")
ABSENT = (None, False, (), "")  # What is not written.

Number = NewType("Number", int)
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What was begun, and how far it is. Nothing shows its outputs' secrets.

    `amount` is in units of the item `item_id`. Of an offer of ours `offer_id` and
    `expires_at` are there once the service has it. `code` says why one was refused: a
    code that the service lists at /problems, or "offer_expired", "offer_void",
    "offer_withdrawn" or "cancelled".
    """

    key: str  # Its Idempotency-Key, a UUID.
    kind: Kind
    state: OperationState
    amount: int
    begun_at: datetime
    item_id: str = ""  # Of a mint, once it has its answer.
    reference: str | None = None
    note: str | None = None
    offer_id: str = ""
    expires_at: datetime | None = None
    ended_at: datetime | None = None
    code: str | None = None
    body: Secret[dict[str, Any]]  # Of its request.
    ends: tuple[OutputState, ...] = ()
    unit: str | None = None
    own: tuple[int, ...] = ()  # Places of a mint's secrets that a person made.
    asked: Secret[str] | None = None  # A hash of what the reference is for.
    at_door: bool = False
    is_unsent: bool = False
    is_cancelled: bool = False
    is_sent_again: bool = False
    more: More = None

    def __post_init__(self) -> None:
        if not _UUID.fullmatch(self.key):
            raise InvalidInputError("The key of an operation is a UUID.")
        if self.offer_id:
            check_id("offer", self.offer_id)
        is_whole = self.kind in MAKINGS and self.offer_id and self.expires_at
        if self.state == OperationState.OPEN and not is_whole:
            raise InvalidInputError("An offer that is open has an id and an end.")
        if self.state == OperationState.REFUSED and not self.code:
            raise InvalidInputError("What was refused has a code.")

    @property
    def inputs(self) -> tuple[Output, ...]:
        """What it takes, in the order of its request."""
        if self.kind == Kind.MINT:
            return ()
        return tuple(map(Output.parse, member(self.body.reveal(), "inputs", list)))

    @property
    def outputs(self) -> tuple[Output, ...]:
        """What it makes, in the order of its request, held or given as it becomes.

        The item of a mint is missing before its answer.
        """
        made = member(self.body.reveal(), "outputs", list)
        ends = self.ends or [OutputState.HELD] * len(made)
        parse = self._parse_minted if self.kind == Kind.MINT else Output.parse
        parts = zip(map(parse, made), ends, strict=False)
        return tuple(replace(part, state=state) for part, state in parts)

    @property
    def is_refused(self) -> bool:
        """Whether the service refused it. An offer that was open has ended instead."""
        return self.state == OperationState.REFUSED and not self.expires_at

    @property
    def is_at_door(self) -> bool:
        """Whether only a person at a door of the page may have it sent."""
        return self.at_door and not self.is_cancelled

    def _parse_minted(self, asked: Any) -> Output:
        amount, secret = member(asked, "amount", int), member(asked, "secret", str)
        return Output(amount, self.item_id or "deed_", Secret(secret))


@dataclass(frozen=True, slots=True)
class Seed:
    """What new secrets are made from, 32 bytes as hexadecimal digits."""

    key: str = field(repr=False)
    created_at: datetime
    is_own: bool = False
    is_unused: bool = False  # No backup needs it.
    more: More = None

    def __post_init__(self) -> None:
        if not _SEED.fullmatch(self.key):
            raise InvalidInputError("A seed is 64 hexadecimal digits.")


@dataclass(frozen=True, slots=True)
class Numbers:
    """The next numbers of a seed and an item: its key is `<seed>.<item id>`."""

    key: str = field(repr=False)
    kept: Number = Number(0)
    given: Number = Number(0)
    series: Number = Number(0)
    more: More = None

    def __post_init__(self) -> None:
        check_id("deed", self.item_id)

    @property
    def seed(self) -> str:
        """The seed, a secret."""
        return self.key.partition(".")[0]

    @property
    def item_id(self) -> str:
        """The item."""
        return self.key.partition(".")[2]


@dataclass(frozen=True, slots=True)
class Contents:
    """All that a wallet knows, and the address of its service."""

    outputs: Sequence[Output]
    operations: Sequence[Operation]
    items: Sequence[Item]
    seeds: Sequence[Seed]
    numbers: Sequence[Numbers]
    service: str | None = None


IN_A_HOLDING = (
    OutputState.HELD,
    OutputState.GIVEN,
    OutputState.OFFERED,
    OutputState.COMING,
)


@dataclass(frozen=True, slots=True)
class Holding:
    """The units of an item that a wallet knows of, by what can be done with them."""

    item_id: str
    held: int = 0  # They can be spent.
    given: int = 0  # In links that nobody has claimed.
    offered: int = 0  # In open offers of ours.
    coming: int = 0  # Under way, or what an open offer gets.
    unknown: int = 0  # The service says that it never had them.
    in_backup: bool = False  # A restore of the last `export` brings them back.


def now() -> datetime:
    """Return the time, in whole milliseconds."""
    return moment(time.time_ns() // 1_000_000)


def moment(ms: Any) -> datetime:
    """Return the time of so many milliseconds since 1970.

    Raise InvalidInputError for others than 0 to the year 9999.
    """
    if type(ms) is not int or not 0 <= ms <= _MS_MAX:
        raise InvalidInputError("A time is in milliseconds since 1970.")
    return _EPOCH + ms * _MS


def milliseconds(at: datetime) -> int:
    """Return the milliseconds since 1970."""
    return (at - _EPOCH) // _MS


def filled(mine: R, theirs: R) -> R:
    """Return a record with what another one of it knows besides."""
    facts = {}
    for each in fields(mine):  # type: ignore[arg-type]
        if getattr(mine, each.name) in ABSENT:
            facts[each.name] = getattr(theirs, each.name)
    return replace(mine, **facts)  # type: ignore[type-var]


def named_by(operation: Operation) -> list[str]:
    """Return the keys of the outputs that an operation takes and makes."""
    return keys_of(operation.inputs) + made_by(operation)


def names_of(output: Output) -> dict[str, Any]:
    """Return what a person tells a numbered link by."""
    return {name: getattr(output, name) for name in NAMES if output.number}


def keys_of(outputs: Iterable[Output]) -> list[str]:
    """Return the keys of outputs."""
    return [each.key for each in outputs]


def made_by(operation: Operation) -> list[str]:
    """Return the keys of what an operation makes; a mint has none before its answer."""
    is_minting = operation.kind == Kind.MINT and not operation.item_id
    return [] if is_minting else keys_of(operation.outputs)
