"""The values of a Deeds service's API, and a wallet's records of outputs and items.

No repr, log record or JSON of these values contains a secret.
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

AMOUNT_MAX = 2**53 - 1  # In units; exact in every JSON reader.
BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's, in lower case.

# Contract 2.1: a raw output is split at its first two dots; the rest is the secret.
# Lone surrogates are invalid because they have no UTF-8 form.
_IDS = {"deed": "deed_[^.\ud800-\udfff]{0,250}", "offer": f"offer_[{BASE32}]{{26}}"}
_ID = {kind: pattern(text) for kind, text in _IDS.items()}
_MINT_TOKEN = pattern("[!-~]+")  # Printable ASCII without spaces.
_SECRET = pattern("[^\ud800-\udfff]{1,32}")
_RAW_OUTPUT = pattern(rf"\+([1-9][0-9]{{0,15}})\.({_IDS['deed']})\.((?s:.+))")

T = TypeVar("T")


class Secret(Generic[T]):
    """A wrapper that hides its value from reprs, log records and `flask.jsonify`.

    `reveal` returns the value.
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

    __html__ = __repr__  # Used by `flask.jsonify`.


More = Secret[dict[str, Any]] | None  # Fields unknown to this version.


class Kind(StrEnum):
    """The kind of an operation."""

    MINT = "mint"
    CLAIM = "claim"
    SEND = "send"
    SPLIT = "split"
    MERGE = "merge"
    TAKE_BACK = "takeBack"
    CANCEL = "withdraw"  # Cancels an offer of this wallet.
    ASK = "ask"
    TRADE = "trade"
    COMPLETE = "complete"


class OperationState(StrEnum):
    """The state of an operation. An offer of this wallet is OPEN until it ends."""

    BEGUN = "begun"  # Recorded; may have reached the service.
    OPEN = "open"  # An offer that waits to be completed.
    DONE = "done"
    REFUSED = "refused"  # Nothing has moved; `code` says why.


class OutputState(StrEnum):
    """The state of an output. SEEN and VOID outputs do not belong to the wallet."""

    SEEN = "seen"  # Known from a link only.
    VOID = "void"  # Its operation was refused, so it was not made.
    COMING = "coming"  # From an operation under way or an open offer.
    HELD = "held"
    OFFERED = "offered"  # Put into an open offer.
    GIVEN = "given"  # Its link was handed out.
    LEAVING = "leaving"  # An input of an operation under way.
    SPENT = "spent"


NOT_OURS = (OutputState.SEEN, OutputState.VOID)


class CheckState(StrEnum):
    """The state of an output at the service."""

    UNSPENT = "unspent"
    SPENT = "spent"
    UNKNOWN = "unknown"


class OfferState(StrEnum):
    """The state of an offer at the service."""

    OPEN = "open"
    COMPLETED = "completed"
    VOID = "void"  # One of its inputs was spent, or one of its new secrets used.
    EXPIRED = "expired"


def make_secret() -> str:
    """Return a new strong secret."""
    return strong_secret(secrets.token_bytes(17))


def strong_secret(random_bytes: bytes) -> str:
    """Return a strong secret: 130 random bits and a 30-bit checksum (contract 8).

    `random_bytes` are at least 17 bytes. The checksum is the start of a labelled
    SHA-256.
    """
    body = _base32(int.from_bytes(random_bytes[:17], "big") >> 6, 26)
    digest = hashlib.sha256(b"deeds strong secret v1:" + body.encode()).digest()
    return body + _base32(int.from_bytes(digest[:4], "big") >> 2, 6)


def _base32(bits: int, length: int) -> str:
    return "".join(BASE32[bits >> 5 * place & 31] for place in reversed(range(length)))


def parse_amount(value: Any) -> int:
    """Return the value if it is an int from 1 to AMOUNT_MAX.

    Raise InvalidInputError otherwise.
    """
    if type(value) is not int or not 1 <= value <= AMOUNT_MAX:
        raise InvalidInputError(f"An amount is a whole number from 1 to {AMOUNT_MAX}.")
    return value


def parse_id(kind: str, value: Any) -> str:
    """Return the value if it is a valid id of `kind`, "deed" or "offer".

    Ids become parts of URLs. Raise InvalidInputError for any other value.
    """
    if not isinstance(value, str) or not _ID[kind].fullmatch(value):
        raise InvalidInputError(f"The id of this {kind} is not valid.")
    return value


def parse_json(text: str | bytes) -> Any:
    """Parse a JSON text. Raise InvalidInputError if it is invalid."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInputError("This is not JSON.") from None


def exactly(kind: type[T], value: Any) -> T:
    """Return the value if its type is exactly `kind`, so that a bool is not an int.

    For a StrEnum, return the member with this value. Raise InvalidInputError otherwise.
    """
    if type(value) is kind:
        return value
    with suppress(ValueError):
        if issubclass(kind, StrEnum):
            return kind(value)
    raise InvalidInputError("A value is missing or of another type.")


def member(document: Any, name: str, kind: type[T]) -> T:
    """Return a member of a JSON object, checked by `exactly`.

    Raise InvalidInputError if `document` is not an object, or if the member is missing
    or has another type.
    """
    return exactly(kind, exactly(dict, document).get(name))


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """An amount of one item, and the secret bound to it.

    `item_id` is `deed_` until the item is minted. `key` and `raw` contain the secret.
    The fields after `secret` are the wallet's records; equality ignores them.
    """

    amount: int
    item_id: str
    secret: Secret[str] = field(repr=False)
    _: KW_ONLY
    state: OutputState = OutputState.SEEN
    before: OutputState = OutputState.SEEN  # Its state if no operation took it.
    operation: str = ""  # Key of the operation that takes or makes it.
    number: int | None = None  # The link's number, from 1.
    of: int | None = None  # Number of links in the series.
    issue: int | None = None  # From 2: earlier links of this number were taken back.
    each: int | None = None  # To be split into links of this amount.
    note: str | None = None
    created_at: datetime | None = None
    changed_at: datetime | None = None
    given_at: datetime | None = None  # When its link was handed out.
    collected_at: datetime | None = None  # When this wallet's own door admitted it.
    admitted_at: datetime | None = None  # When another door or the maker admitted it.
    undone_at: datetime | None = None  # When an admission was undone.
    found_at: datetime | None = None  # When a search or a backup showed that it exists.
    shown_at: datetime | None = None  # When its code was last shown at a door.
    may_be_given: bool = False  # May have been handed out since a backup.
    spent_elsewhere: bool = False  # Spent, but by no operation of this wallet.
    is_unclear: bool = False  # Another copy of this wallet may have spent it.
    never_held: bool = False
    unknown: bool = False  # Unknown to the service.
    more: More = None

    def __post_init__(self) -> None:
        parse_amount(self.amount)
        parse_id("deed", self.item_id)
        if not _SECRET.fullmatch(self.secret.reveal()):
            raise InvalidInputError("A secret has 1 to 32 characters.")

    @classmethod
    def fresh(cls, amount: int, item_id: str = "deed_") -> Self:
        """Return an output with a new strong secret."""
        return cls(amount, item_id, Secret(make_secret()))

    @classmethod
    def parse(cls, raw: Any) -> Self:
        """Parse a raw output, `+<amount>.<item_id>.<secret>` (contract 2.1).

        Raise InvalidInputError if it is invalid.
        """
        match = _RAW_OUTPUT.fullmatch(raw) if isinstance(raw, str) else None
        if not match:
            raise InvalidInputError("This is not a raw output: +<amount>.<id>.<secret>")
        return cls(int(match[1]), match[2], Secret(match[3]))

    @property
    def key(self) -> str:
        """The record's key in a wallet. Contains the secret."""
        return f"{self.item_id}.{self.secret.reveal()}"

    @property
    def raw(self) -> str:
        """The raw output. Contains the secret."""
        return f"+{self.amount}.{self.key}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Output) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(self.raw)


def parse_mint_token(text: str) -> Secret[str]:
    """Return a mint token. Raise InvalidInputError if it has invalid characters."""
    if not _MINT_TOKEN.fullmatch(text):
        raise InvalidInputError("A mint token is printable ASCII without spaces.")
    return Secret(text)


def mint_body(
    outputs: Iterable[Output], metadata: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the body of a request that mints these outputs."""
    new = [{"amount": each.amount, "secret": each.secret.reveal()} for each in outputs]
    body: dict[str, Any] = {"outputs": new}
    if metadata:
        body["metadata"] = dict(metadata)
    return body


def swap_body(
    inputs: Iterable[Output], outputs: Iterable[Output], expires_in: int | None = None
) -> dict[str, Any]:
    """Return the body of a swap, an offer or a completion of an offer."""
    body: dict[str, Any] = {"inputs": [each.raw for each in inputs]}
    if expires_in is not None:
        body["expiresIn"] = expires_in
    return body | {"outputs": [each.raw for each in outputs]}


@dataclass(frozen=True, slots=True)
class Item:
    """An item of the registry.

    `metadata` is JSON text written by the issuer. Do not trust it, and never use it as
    HTML.
    """

    id: str
    total: int
    metadata: str | None = None
    unit: str | None = None  # The issuer's word for one unit.
    is_minted: bool = False  # Minted by this wallet.
    is_cut: bool = False  # `metadata` was shortened for a backup.
    more: More = None

    def __post_init__(self) -> None:
        parse_amount(self.total)
        parse_id("deed", self.id)

    @property
    def key(self) -> str:
        """The record's key in a wallet: the id."""
        return self.id

    @property
    def name(self) -> str:
        """The name in the metadata, or "" if there is none. It is not unique."""
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
    """An offer. Its maker gives `gives` and gets `wants`, both sorted by item id."""

    id: str
    state: OfferState
    gives: tuple[Units, ...]
    wants: tuple[Units, ...]
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Info:
    """A service's version and array length limit, and whether mints need a token."""

    version: str
    array_length_max: int
    needs_mint_token: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """An output found by its secret."""

    amount: int
    is_spent: bool
