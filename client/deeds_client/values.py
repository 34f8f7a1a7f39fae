"""What is sent to a deed service and what it answers. No repr holds a secret."""

import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Self

from deeds_client.errors import InvalidInputError

AMOUNT_MAX = (
    2**53 - 1
)  # In units: the largest integer that every reader of JSON sees exactly.
BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's, in lower case.
# What is raised where an answer or a record has another form.
WRONG_FORM = (
    AttributeError,
    InvalidInputError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)

# Surrogates have no UTF-8 form. Split at the first two dots, the secret is all that
# remains.
_IDS = {"deed": "deed_[^.\ud800-\udfff]{0,250}", "offer": f"offer_[{BASE32}]{{26}}"}
_RAW_OUTPUT = re.compile(
    rf"\+([1-9][0-9]{{0,15}})\.({_IDS['deed']})\.([^\ud800-\udfff]{{1,32}})"
)


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
    """Return the value if it is an int from 1 to AMOUNT_MAX."""
    if type(value) is not int or not 1 <= value <= AMOUNT_MAX:
        raise InvalidInputError(f"An amount is a whole number from 1 to {AMOUNT_MAX}.")
    return value


def check_id(kind: str, value: Any) -> str:
    """Return the value if it is the id of a "deed" or an "offer".

    A part of addresses.
    """
    if not isinstance(value, str) or not re.fullmatch(_IDS[kind], value):
        raise InvalidInputError(f"The id of this {kind} is not valid.")
    return value


@dataclass(frozen=True, slots=True)
class Output:
    """Units of an item, `deed_` until it is minted, and the secret of them."""

    amount: int
    item_id: str
    secret: str = field(repr=False)

    def __post_init__(self) -> None:
        check_amount(self.amount)
        match = _RAW_OUTPUT.fullmatch(self.raw)
        if not match or match.groups()[1:] != (self.item_id, self.secret):
            raise InvalidInputError(
                "This is no raw output: +<amount>.<item id>.<secret>"
            )

    @classmethod
    def fresh(cls, amount: int, item_id: str = "deed_") -> Self:
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
class Item:
    """A registry item.

    Anybody may have written its metadata: it is text, never HTML.
    """

    id: str
    total: int
    metadata: str | None = None

    def __post_init__(self) -> None:
        check_amount(self.total)
        check_id("deed", self.id)
        if not isinstance(self.metadata, str | None):
            raise InvalidInputError("An item's metadata is a text.")

    @property
    def name(self) -> str:
        """Its name, empty if it has none. Another item may have the same."""
        with suppress(*WRONG_FORM):
            name = json.loads(self.metadata or "")["name"]
            return name if isinstance(name, str) else ""
        return ""


class Units(NamedTuple):
    """Units of an item, in an offer."""

    item_id: str
    amount: int


class Offer(NamedTuple):
    """An offer: its maker gives `gives` and gets `wants`, each in order of item id."""

    id: str
    state: str  # open, completed, void or expired
    gives: tuple[Units, ...]
    wants: tuple[Units, ...]
    expires_at: datetime

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any]) -> Self:
        """Return the offer that a service answered."""
        gives, wants = (
            tuple(
                Units(each["itemId"], check_amount(each["amount"]))
                for each in answer[side]
            )
            for side in ("gives", "wants")
        )
        expires_at = datetime.fromisoformat(answer["expiresAt"])
        return cls(
            check_id("offer", answer["offerId"]),
            answer["state"],
            gives,
            wants,
            expires_at,
        )


class Info(NamedTuple):
    """A service's version, and how many outputs it takes at once."""

    version: str
    array_length_max: int


class Found(NamedTuple):
    """An output that a secret of ours has."""

    amount: int
    is_spent: bool
