"""The records of a wallet (docs/wallet-file.md), and its holdings."""

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
    member,
    parse_id,
)

MAKINGS = (Kind.ASK, Kind.TRADE)
ENDED = (OperationState.DONE, OperationState.REFUSED)
NUMBER_MAX = 2**48 - 1  # Exact in JavaScript, with room to count further.
NAMES = ("number", "of", "issue", "note")  # Fields that identify a link to a person.
SEEDS_MAX = 8  # More wallets than anybody merges; each seed costs a search.

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_MS_MAX = (datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH) // _MS
_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SEED = re.compile("[0-9a-f]{64}")
ABSENT = (None, False, (), "")  # Values that are not written.

Number = NewType("Number", int)
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operation of the wallet and its state. Its repr shows no secret.

    `amount` is in units of the item `item_id`. An offer of this wallet has `offer_id`
    and `expires_at` once the service has accepted it. `code` says why an operation was
    refused: a code listed at the service's /problems, or "offer_expired", "offer_void",
    "offer_withdrawn" or "cancelled".
    """

    key: str  # The Idempotency-Key, a UUID.
    kind: Kind
    state: OperationState
    amount: int
    begun_at: datetime
    item_id: str = ""  # Empty for a mint without an answer.
    reference: str | None = None
    note: str | None = None
    offer_id: str = ""
    expires_at: datetime | None = None
    ended_at: datetime | None = None
    code: str | None = None
    body: Secret[dict[str, Any]]  # The body of the request.
    ends: tuple[OutputState, ...] = ()
    unit: str | None = None
    own: tuple[int, ...] = ()  # Indexes of a mint's secrets chosen by a person.
    asked: Secret[str] | None = None  # Hash of the order that has the reference.
    at_door: bool = False
    is_unsent: bool = False
    is_cancelled: bool = False
    is_sent_again: bool = False
    more: More = None

    def __post_init__(self) -> None:
        if not _UUID.fullmatch(self.key):
            raise InvalidInputError("The key of an operation is a UUID.")
        if self.offer_id:
            parse_id("offer", self.offer_id)
        is_whole = self.kind in MAKINGS and self.offer_id and self.expires_at
        if self.state == OperationState.OPEN and not is_whole:
            raise InvalidInputError("An offer that is open has an id and an end.")
        if self.state == OperationState.REFUSED and not self.code:
            raise InvalidInputError("What was refused has a code.")

    @property
    def inputs(self) -> tuple[Output, ...]:
        """The outputs that it spends, in the order of the request."""
        if self.kind == Kind.MINT:
            return ()
        return tuple(map(Output.parse, member(self.body.reveal(), "inputs", list)))

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The outputs that it makes, in the order of the request, each HELD or GIVEN.

        A mint's outputs have the item id `deed_` until the mint is answered.
        """
        entries = member(self.body.reveal(), "outputs", list)
        ends = self.ends or [OutputState.HELD] * len(entries)
        parse = self._parse_minted if self.kind == Kind.MINT else Output.parse
        outputs = zip(map(parse, entries), ends, strict=False)
        return tuple(replace(output, state=state) for output, state in outputs)

    @property
    def is_refused(self) -> bool:
        """Whether the service refused it. An offer that was open counts as ended."""
        return self.state == OperationState.REFUSED and not self.expires_at

    @property
    def is_at_door(self) -> bool:
        """Whether only a person at a door of the web page may send it."""
        return self.at_door and not self.is_cancelled

    def _parse_minted(self, entry: Any) -> Output:
        amount, secret = member(entry, "amount", int), member(entry, "secret", str)
        return Output(amount, self.item_id or "deed_", Secret(secret))


@dataclass(frozen=True, slots=True)
class Seed:
    """A seed that new secrets are derived from: 32 bytes in hexadecimal."""

    key: str = field(repr=False)
    created_at: datetime
    is_own: bool = False
    is_unused: bool = False  # Never used; left out of backups.
    more: More = None

    def __post_init__(self) -> None:
        if not _SEED.fullmatch(self.key):
            raise InvalidInputError("A seed is 64 hexadecimal digits.")


@dataclass(frozen=True, slots=True)
class Numbers:
    """The next number of each branch, for one seed and item (contract 8).

    `key` is `<seed>.<item id>`.
    """

    key: str = field(repr=False)
    kept: Number = Number(0)
    given: Number = Number(0)
    series: Number = Number(0)
    more: More = None

    def __post_init__(self) -> None:
        parse_id("deed", self.item_id)

    @property
    def seed(self) -> str:
        """The seed, a secret."""
        return self.key.partition(".")[0]

    @property
    def item_id(self) -> str:
        """The item id."""
        return self.key.partition(".")[2]


@dataclass(frozen=True, slots=True)
class Contents:
    """All records of a wallet, and the address of its service."""

    outputs: Sequence[Output]
    operations: Sequence[Operation]
    items: Sequence[Item]
    seeds: Sequence[Seed]
    numbers: Sequence[Numbers]
    service: str | None = None


@dataclass(frozen=True, slots=True)
class Holding:
    """A wallet's units of one item, by state."""

    item_id: str
    held: int = 0  # Can be spent.
    given: int = 0  # In links that nobody has claimed.
    offered: int = 0  # In open offers of this wallet.
    coming: int = 0  # From operations under way and open offers.
    unknown: int = 0  # Unknown to the service.
    in_backup: bool = False  # A restore of the last `export` brings them back.


def now() -> datetime:
    """Return the current time in UTC, in whole milliseconds."""
    return moment(time.time_ns() // 1_000_000)


def moment(ms: Any) -> datetime:
    """Return the UTC time of `ms` milliseconds since 1970.

    Raise InvalidInputError unless `ms` is an int from 0 to 9999-12-31.
    """
    if type(ms) is not int or not 0 <= ms <= _MS_MAX:
        raise InvalidInputError("A time is in milliseconds since 1970.")
    return _EPOCH + ms * _MS


def milliseconds(at: datetime) -> int:
    """Return a time as milliseconds since 1970."""
    return (at - _EPOCH) // _MS


def filled(mine: R, theirs: R) -> R:
    """Return `mine` with its empty fields filled in from `theirs`."""
    values = {}
    for attribute in fields(mine):  # type: ignore[arg-type]
        if getattr(mine, attribute.name) in ABSENT:
            values[attribute.name] = getattr(theirs, attribute.name)
    return replace(mine, **values)  # type: ignore[type-var]


def named_by(operation: Operation) -> list[str]:
    """Return the keys of the outputs that an operation takes and makes."""
    return keys_of(operation.inputs) + made_by(operation)


def names_of(output: Output) -> dict[str, Any]:
    """Return the fields in NAMES of a numbered link; empty if it has no number."""
    return {name: getattr(output, name) for name in NAMES if output.number}


def keys_of(outputs: Iterable[Output]) -> list[str]:
    """Return the keys of outputs."""
    return [output.key for output in outputs]


def made_by(operation: Operation) -> list[str]:
    """Return the keys of an operation's outputs; empty for a mint without an answer."""
    is_minting = operation.kind == Kind.MINT and not operation.item_id
    return [] if is_minting else keys_of(operation.outputs)
