"""What is sent to a deed service and what it answers, as values that check themselves.

No repr holds a secret. What is not valid raises InvalidInputError; an answer of another form raises
one of WRONG_FORM.
"""

import hashlib
import json
import re
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

from deeds_client.errors import InvalidInputError

# In units: the largest integer that every reader of JSON sees exactly.
AMOUNT_MAX = 2**53 - 1
# In code points.
SECRET_LENGTH_MAX = 32
# Crockford's base32 in lower case.
BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"
WRONG_FORM = (AttributeError, KeyError, TypeError, ValueError, InvalidInputError)

# Surrogates have no UTF-8 form.
_SECRET = re.compile(f"[^\ud800-\udfff]{{1,{SECRET_LENGTH_MAX}}}")
# Longer than any service makes them, and short enough for a URL.
_ITEM_ID = re.compile("deed_[^.\ud800-\udfff]{0,250}")
_STRONG = re.compile(f"[{BASE32}]{{32}}")
_OFFER_ID = re.compile(f"offer_[{BASE32}]{{26}}")
# Split at the first two dots; the secret is all that remains.
_RAW_OUTPUT = re.compile(r"\+([1-9][0-9]{0,15})\.([^.]*)\.(.*)", re.DOTALL)


def make_secret() -> str:
    """Return a new strong secret: 26 random characters (130 bits) and a checksum of 6."""
    body = "".join(secrets.choice(BASE32) for _ in range(26))
    return body + _checksum(body)


def is_strong(secret: str) -> bool:
    """Return whether a secret proves by its checksum that a machine made it."""
    return bool(_STRONG.fullmatch(secret)) and secret[26:] == _checksum(secret[:26])


def _checksum(body: str) -> str:
    """Return the first 30 bits of SHA-256 over a label and the body, five to a character."""
    digest = hashlib.sha256(b"deeds strong secret v1:" + body.encode()).digest()
    bits = int.from_bytes(digest[:4], "big") >> 2
    return "".join(BASE32[bits >> shift & 31] for shift in range(25, -1, -5))


def is_offer_id(text: object) -> bool:
    """Return whether a value has the form of an offer's id."""
    return isinstance(text, str) and _OFFER_ID.fullmatch(text) is not None


def check_amount(value: Any) -> int:
    """Return the value if it is an int from 1 to AMOUNT_MAX."""
    if type(value) is not int or not 1 <= value <= AMOUNT_MAX:
        raise InvalidInputError(f"An amount is a whole number from 1 to {AMOUNT_MAX}.")
    return value


def check_item_id(value: Any) -> str:
    """Return the value if it has the form of an item's id."""
    if not isinstance(value, str) or not _ITEM_ID.fullmatch(value):
        raise InvalidInputError("An item id begins with deed_ and has no dot.")
    return value


def _check_secret(value: Any) -> None:
    if not isinstance(value, str) or not _SECRET.fullmatch(value):
        raise InvalidInputError(f"A secret has 1 to {SECRET_LENGTH_MAX} characters.")


@dataclass(frozen=True, slots=True)
class NewOutput:
    """Units to be minted, and the secret that will own them: a strong one by default."""

    amount: int
    secret: str = field(default_factory=make_secret, repr=False)

    def __post_init__(self) -> None:
        check_amount(self.amount)
        _check_secret(self.secret)


@dataclass(frozen=True, slots=True)
class Output:
    """Units of an item and the secret that owns them, 1 to 32 code points."""

    amount: int
    item_id: str
    secret: str = field(repr=False)

    def __post_init__(self) -> None:
        check_amount(self.amount)
        check_item_id(self.item_id)
        _check_secret(self.secret)

    @classmethod
    def fresh(cls, amount: int, item_id: str) -> Self:
        """Return an output with a new strong secret."""
        return cls(amount, item_id, make_secret())

    @classmethod
    def parse(cls, raw: str) -> Self:
        """Return what `+<amount>.<item_id>.<secret>` says."""
        match = _RAW_OUTPUT.fullmatch(raw)
        if match is None:
            raise InvalidInputError("This is no raw output: +<amount>.<item id>.<secret>")
        return cls(int(match[1]), match[2], match[3])

    @property
    def raw(self) -> str:
        """The raw output, with its secret."""
        return f"+{self.amount}.{self.item_id}.{self.secret}"


@dataclass(frozen=True, slots=True)
class Units:
    """Units of an item in an offer."""

    item_id: str
    amount: int

    def __post_init__(self) -> None:
        check_item_id(self.item_id)
        check_amount(self.amount)


@dataclass(frozen=True, slots=True)
class Minted:
    """A new item and its outputs, in the order in which they were asked for."""

    item_id: str
    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """A registry item. Anybody may have written its metadata: it is text, never HTML."""

    id: str
    total: int
    metadata: str | None = None
    name: str = field(default="", init=False)
    description: str = field(default="", init=False)
    image: str = field(default="", init=False)

    def __post_init__(self) -> None:
        check_item_id(self.id)
        check_amount(self.total)
        try:
            told = json.loads("{}" if self.metadata is None else self.metadata)
        except (RecursionError, ValueError):
            told = None
        for name in ("name", "description", "image"):
            value = told.get(name) if isinstance(told, dict) else ""
            object.__setattr__(self, name, value if isinstance(value, str) else "")


@dataclass(frozen=True, slots=True)
class Offer:
    """An offer: its maker gives `gives` and gets `wants`, each in order of item id."""

    id: str
    state: str
    gives: tuple[Units, ...]
    wants: tuple[Units, ...]
    expires_at: datetime

    @classmethod
    def from_answer(cls, answer: Any) -> Self:
        """Return the offer that a service answered, `expires_at` in UTC."""
        is_known = answer["state"] in ("open", "completed", "void", "expired")
        if not is_known or not is_offer_id(answer["offerId"]):
            raise ValueError
        sides = [
            tuple(Units(part["itemId"], part["amount"]) for part in answer[side])
            for side in ("gives", "wants")
        ]
        expires_at = datetime.fromisoformat(answer["expiresAt"]).astimezone(UTC)
        return cls(answer["offerId"], answer["state"], sides[0], sides[1], expires_at)


@dataclass(frozen=True, slots=True)
class Info:
    """What a service is, and its limits: elements of an array, bytes of a body, seconds."""

    version: str
    interface_version: str
    array_length_max: int
    body_bytes_max: int
    offer_expires_in_min: int
    offer_expires_in_max: int
    idempotency: bool

    @classmethod
    def from_answer(cls, answer: Any) -> Self:
        """Return what a service answered."""
        limits = answer["limits"]
        return cls(
            version=str(answer["version"]),
            interface_version=str(answer["interfaceVersion"]),
            array_length_max=check_amount(limits["arrayLengthMax"]),
            body_bytes_max=check_amount(limits["bodyBytesMax"]),
            offer_expires_in_min=check_amount(limits["offerExpiresInMin"]),
            offer_expires_in_max=check_amount(limits["offerExpiresInMax"]),
            idempotency=answer["idempotency"] is True,
        )
