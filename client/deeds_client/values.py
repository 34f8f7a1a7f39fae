"""What a deed service takes and answers, and what a wallet knows of it.

No repr, log record or JSON of these values holds a secret.
"""

import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from enum import StrEnum
from re import compile as pattern
from typing import Any, Generic, Self, TypeVar

from deeds_client.errors import InvalidInputError

AMOUNT_MAX = 2**53 - 1  # In units: every reader of JSON sees it exactly.
BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's, in lower case.

# Surrogates have no UTF-8 form. Split at the first two dots, the secret is all that
# remains.
_IDS = {"deed": "deed_[^.\ud800-\udfff]{0,250}", "offer": f"offer_[{BASE32}]{{26}}"}
_ID = {kind: pattern(text) for kind, text in _IDS.items()}
_MINT_TOKEN = pattern("[!-~]+")  # What a header can carry.
_SECRET = pattern("[^\ud800-\udfff]{1,32}")
_RAW_OUTPUT = pattern(rf"\+([1-9][0-9]{{0,15}})\.({_IDS['deed']})\.((?s:.+))")

T = TypeVar("T")


class Secret(Generic[T]):
    """A value that nothing shows: no repr, no log record, no `jsonify`.

    `reveal` returns it.
    """

    __slots__ = ("_value",)

    def __init__(self, value: T) -> None:
        self._value = value

    def reveal(self) -> T:
        """Return the value."""
        return self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return "Secret(…)"

    __html__ = __repr__  # What `flask.jsonify` asks for.


More = Secret[dict[str, Any]] | None  # What a record has besides.


class Kind(StrEnum):
    """What an operation does."""

    MINT = "mint"
    CLAIM = "claim"
    SEND = "send"
    SPLIT = "split"
    MERGE = "merge"
    TAKE_BACK = "takeBack"
    CANCEL = "withdraw"  # The end of an offer of ours.
    ASK = "ask"
    TRADE = "trade"
    COMPLETE = "complete"


class OperationState(StrEnum):
    """How far an operation is. An offer of ours is open until it ends."""

    BEGUN = "begun"  # Written down; it may have reached the service.
    OPEN = "open"  # An offer that waits to be completed.
    DONE = "done"
    REFUSED = "refused"  # It moved nothing, and `code` says why.


class OutputState(StrEnum):
    """Where an output is. SEEN and VOID ones are not ours."""

    SEEN = "seen"  # In a link that was read.
    VOID = "void"  # Of an operation that was refused.
    COMING = "coming"  # Of an operation that is under way, or an open offer.
    HELD = "held"
    OFFERED = "offered"  # Put into an open offer.
    GIVEN = "given"  # Its link was handed out.
    LEAVING = "leaving"  # Taken by an operation that is under way.
    SPENT = "spent"


NOT_OURS = (OutputState.SEEN, OutputState.VOID)


class CheckState(StrEnum):
    """What the service says of an output."""

    UNSPENT = "unspent"
    SPENT = "spent"
    UNKNOWN = "unknown"


class OfferState(StrEnum):
    """What the service says of an offer."""

    OPEN = "open"
    COMPLETED = "completed"
    VOID = "void"  # One of its inputs was spent, or one of its new secrets used.
    EXPIRED = "expired"


def make_secret() -> str:
    """Return a new strong secret."""
    return strong_secret(secrets.token_bytes(17))


def strong_secret(random_bytes: bytes) -> str:
    """Return the strong secret of the first 130 of these bits.

    And 30 of a labelled SHA-256 as a checksum.
    """
    body = _base32(int.from_bytes(random_bytes[:17], "big") >> 6, 26)
    digest = hashlib.sha256(b"deeds strong secret v1:" + body.encode()).digest()
    return body + _base32(int.from_bytes(digest[:4], "big") >> 2, 6)


def _base32(bits: int, length: int) -> str:
    return "".join(BASE32[bits >> 5 * place & 31] for place in reversed(range(length)))


def check_amount(value: Any) -> int:
    """Return the value if it is an int from 1 to AMOUNT_MAX.

    Raise InvalidInputError for others.
    """
    if type(value) is not int or not 1 <= value <= AMOUNT_MAX:
        raise InvalidInputError(f"An amount is a whole number from 1 to {AMOUNT_MAX}.")
    return value


def check_id(kind: str, value: Any) -> str:
    """Return the value if it is the id of a "deed" or an "offer", a part of addresses.

    Raise InvalidInputError for others.
    """
    if not isinstance(value, str) or not _ID[kind].fullmatch(value):
        raise InvalidInputError(f"The id of this {kind} is not valid.")
    return value


def parse_json(text: str | bytes) -> Any:
    """Return what a JSON text says. Raise InvalidInputError where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInputError("This is no JSON.") from None


def exactly(kind: type[T], value: Any) -> T:
    """Return the value if it has just this type, or the member of an enumeration.

    Raise InvalidInputError for others.
    """
    if type(value) is kind:
        return value
    with suppress(ValueError):
        if issubclass(kind, StrEnum):
            return kind(value)
    raise InvalidInputError("A value is missing or of another type.")


def member(found: Any, name: str, kind: type[T]) -> T:
    """Return the member of a JSON object that has this name and just this type.

    Raise InvalidInputError where it has not, or this is no object.
    """
    return exactly(kind, exactly(dict, found).get(name))


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """Units of an item, `deed_` until it is minted, and the secret bound to them.

    `raw` has the secret. What follows the secret is what a wallet knows besides; two
    outputs are equal when their amounts, items and secrets are.
    """

    amount: int
    item_id: str
    secret: Secret[str] = field(repr=False)
    _: KW_ONLY
    state: OutputState = OutputState.SEEN
    before: OutputState = OutputState.SEEN  # The state to which a refusal returns it.
    operation: str = ""  # The key of the one that makes or takes it.
    number: int | None = None  # The link's number, from 1.
    of: int | None = None  # How many numbered links there are.
    issue: int | None = None  # Of its number: from 2 after the page took it back.
    each: int | None = None  # To be split into links of so many units.
    note: str | None = None
    created_at: datetime | None = None
    changed_at: datetime | None = None
    given_at: datetime | None = None  # When its link was handed out.
    collected_at: datetime | None = None  # When a door of the page took it.
    admitted_at: datetime | None = None  # When another door let it in.
    undone_at: datetime | None = None  # When either was undone.
    found_at: datetime | None = None  # When a look found it.
    shown_at: datetime | None = None  # When its code was last shown at a door.
    may_be_given: bool = False  # It may have been handed out since a backup.
    spent_elsewhere: bool = False  # By no operation of this wallet.
    is_unclear: bool = False  # Another copy of this wallet may have spent it.
    never_held: bool = False
    unknown: bool = False  # The service says that it never had it.
    more: More = None

    def __post_init__(self) -> None:
        check_amount(self.amount)
        check_id("deed", self.item_id)
        if not _SECRET.fullmatch(self.secret.reveal()):
            raise InvalidInputError("A secret has 1 to 32 characters.")

    @classmethod
    def fresh(cls, amount: int, item_id: str = "deed_") -> Self:
        """Return an output with a new strong secret."""
        return cls(amount, item_id, Secret(make_secret()))

    @classmethod
    def parse(cls, raw: Any) -> Self:
        """Return what `+<amount>.<item_id>.<secret>` says.

        Raise InvalidInputError where it is no raw output.
        """
        match = _RAW_OUTPUT.fullmatch(raw) if isinstance(raw, str) else None
        if not match:
            raise InvalidInputError("This is no raw output: +<amount>.<id>.<secret>")
        return cls(int(match[1]), match[2], Secret(match[3]))

    @property
    def key(self) -> str:
        """What names it in a wallet, with its secret."""
        return f"{self.item_id}.{self.secret.reveal()}"

    @property
    def raw(self) -> str:
        """The raw output, with its secret."""
        return f"+{self.amount}.{self.key}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Output) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(self.raw)


def check_mint_token(text: str) -> Secret[str]:
    """Return the token of mints; raise InvalidInputError if it can be none."""
    if not _MINT_TOKEN.fullmatch(text):
        raise InvalidInputError("A mint token is printable ASCII without spaces.")
    return Secret(text)


def mint_body(
    outputs: Iterable[Output], metadata: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the body of a request that mints these outputs."""
    asked = [
        {"amount": each.amount, "secret": each.secret.reveal()} for each in outputs
    ]
    return {"outputs": asked} | ({"metadata": dict(metadata)} if metadata else {})


def swap_body(
    inputs: Iterable[Output], outputs: Iterable[Output], expires_in: int | None = None
) -> dict[str, Any]:
    """Return the body of a request that swaps outputs, offers or completes that."""
    body: dict[str, Any] = {"inputs": [each.raw for each in inputs]}
    if expires_in is not None:
        body["expiresIn"] = expires_in
    return body | {"outputs": [each.raw for each in outputs]}


@dataclass(frozen=True, slots=True)
class Item:
    """A registry item.

    Anybody may have written its metadata, a JSON text: it is text, never HTML.
    """

    id: str
    total: int
    metadata: str | None = None
    unit: str | None = None  # The issuer's word for one unit.
    is_minted: bool = False  # By this wallet.
    is_cut: bool = False  # A file had less of its metadata than the registry has.
    more: More = None

    def __post_init__(self) -> None:
        check_amount(self.total)
        check_id("deed", self.id)

    @property
    def key(self) -> str:
        """What names it in a wallet: its id."""
        return self.id

    @property
    def name(self) -> str:
        """Its name, empty if it has none. Another item may have the same."""
        try:
            return member(parse_json(self.metadata or ""), "name", str)
        except InvalidInputError:
            return ""


@dataclass(frozen=True, slots=True)
class Units:
    """Units of an item, in an offer."""

    item_id: str
    amount: int


@dataclass(frozen=True, slots=True)
class Offer:
    """An offer: its maker gives `gives` and gets `wants`, each in order of item id."""

    id: str
    state: OfferState
    gives: tuple[Units, ...]
    wants: tuple[Units, ...]
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Info:
    """A service's version, how many outputs it takes at once, and who may mint."""

    version: str
    array_length_max: int
    needs_mint_token: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """An output that a secret of ours has."""

    amount: int
    is_spent: bool
