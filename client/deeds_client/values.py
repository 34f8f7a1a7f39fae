"""What is sent to a deed service and what it answers, as values that check themselves.

No repr holds a secret. What is not valid raises InvalidInputError.
"""

import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Self

from deeds_client.errors import InvalidInputError

# In units: the largest integer that every reader of JSON sees exactly.
AMOUNT_MAX = 2**53 - 1
SECRET_LENGTH_MAX = 32  # in code points
# Crockford's base32 in lower case.
BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"
# What an answer or a record of another form raises where it is read.
WRONG_FORM = (AttributeError, InvalidInputError, LookupError, RecursionError, TypeError, ValueError)

# Surrogates have no UTF-8 form. Split at the first two dots, the secret is all that remains.
_RAW_OUTPUT = re.compile(
    "\\+([1-9][0-9]{0,15})\\.(deed_[^.\ud800-\udfff]{0,250})\\.([^\ud800-\udfff]{1,32})", re.DOTALL
)


def make_secret() -> str:
    """Return a new strong secret: 26 random characters (130 bits) and a checksum of 6."""
    body = "".join(secrets.choice(BASE32) for _ in range(26))
    return body + _checksum(body)


def is_strong(secret: str) -> bool:
    """Return whether a secret proves by its checksum that a machine made it."""
    return secret[26:] == _checksum(secret[:26])


def _checksum(body: str) -> str:
    """Return the first 30 bits of SHA-256 over a label and the body, five to a character."""
    digest = hashlib.sha256(b"deeds strong secret v1:" + body.encode()).digest()
    bits = int.from_bytes(digest[:4], "big") >> 2
    return "".join(BASE32[bits >> shift & 31] for shift in range(25, -1, -5))


def check_amount(value: Any) -> int:
    """Return the value if it is an int from 1 to AMOUNT_MAX."""
    if type(value) is not int or not 1 <= value <= AMOUNT_MAX:
        raise InvalidInputError(f"An amount is a whole number from 1 to {AMOUNT_MAX}.")
    return value


def check_item_id(value: Any) -> str:
    """Return the value if it has the form of an item's id: there is no dot in it."""
    if not isinstance(value, str) or not re.fullmatch("deed_[^.\ud800-\udfff]{0,250}", value):
        raise InvalidInputError("An item's id begins with deed_ and has no dot.")
    return value


def check_offer_id(value: Any) -> str:
    """Return the value if it has the form of an offer's id: it becomes a part of addresses."""
    if not isinstance(value, str) or not re.fullmatch(f"offer_[{BASE32}]{{26}}", value):
        raise InvalidInputError("An offer's id is offer_ and 26 letters and digits.")
    return value


@dataclass(frozen=True, slots=True)
class Output:
    """Units of an item and the secret that owns them, 1 to 32 code points."""

    amount: int
    item_id: str
    secret: str = field(repr=False)

    def __post_init__(self) -> None:
        check_amount(self.amount)
        is_text = all(isinstance(each, str) for each in (self.item_id, self.secret))
        if not is_text or not _RAW_OUTPUT.fullmatch(self.raw):
            raise InvalidInputError("This is no raw output: +<amount>.<item id>.<secret>")

    @classmethod
    def fresh(cls, amount: int, item_id: str) -> Self:
        """Return an output with a new strong secret."""
        return cls(amount, item_id, make_secret())

    @classmethod
    def parse(cls, raw: str) -> Self:
        """Return what `+<amount>.<item_id>.<secret>` says."""
        match = _RAW_OUTPUT.fullmatch(raw)
        return cls(int(match[1]), match[2], match[3]) if match else cls(1, "", "")

    @property
    def raw(self) -> str:
        """The raw output, with its secret."""
        return f"+{self.amount}.{self.item_id}.{self.secret}"


@dataclass(frozen=True, slots=True)
class NewOutput:
    """Units to be minted, and the secret that will own them: a strong one by default."""

    amount: int
    secret: str = field(default_factory=make_secret, repr=False)

    def __post_init__(self) -> None:
        Output(self.amount, "deed_x", self.secret)


@dataclass(frozen=True, slots=True)
class Item:
    """A registry item. Anybody may have written its metadata: it is text, never HTML."""

    id: str
    total: int
    metadata: str | None = None

    def __post_init__(self) -> None:
        check_amount(self.total)
        check_item_id(self.id)
        if not isinstance(self.metadata, str | None):
            raise InvalidInputError("An item's metadata is a text.")

    @property
    def about(self) -> dict[str, str]:
        """Its name, description and image, as far as the metadata has them as texts."""
        try:
            told = json.loads(self.metadata or "{}").items()
        except WRONG_FORM:
            told = ()
        return {name: text for name, text in told if isinstance(text, str)}

    @property
    def name(self) -> str:
        """Its name, empty if it has none. Another item may have the same."""
        return self.about.get("name", "")


class Units(NamedTuple):
    """Units of an item, in an offer."""

    item_id: str
    amount: int


@dataclass(frozen=True, slots=True)
class Offer:
    """An offer: its maker gives `gives` and gets `wants`, each in order of item id.

    `state` is open, completed, void or expired; `expires_at` is in UTC.
    """

    id: str
    state: str
    gives: tuple[Units, ...]
    wants: tuple[Units, ...]
    expires_at: datetime

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any]) -> Self:
        """Return the offer that a service answered."""
        gives, wants = (
            tuple(
                Units(check_item_id(part["itemId"]), check_amount(part["amount"]))
                for part in answer[side]
            )
            for side in ("gives", "wants")
        )
        if answer["state"] not in ("open", "completed", "void", "expired"):
            raise InvalidInputError("An offer has another state.")
        expires_at = datetime.fromisoformat(answer["expiresAt"])
        return cls(check_offer_id(answer["offerId"]), answer["state"], gives, wants, expires_at)


@dataclass(frozen=True, slots=True)
class Info:
    """A service's version, and its limits: elements of an array, bytes of a body, seconds."""

    version: str
    array_length_max: int
    body_bytes_max: int
    offer_expires_in_min: int
    offer_expires_in_max: int

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any]) -> Self:
        """Return what a service answered."""
        names = ("arrayLengthMax", "bodyBytesMax", "offerExpiresInMin", "offerExpiresInMax")
        return cls(answer["version"], *(check_amount(answer["limits"][name]) for name in names))
