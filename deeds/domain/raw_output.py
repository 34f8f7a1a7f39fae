"""The grammar of raw outputs and item ids (contract 2.1, part 2), and the base32 they use."""

import re
import secrets

from deeds.domain.errors import RawOutputError
from deeds.domain.model import (
    AMOUNT_DIGITS_MAX,
    AMOUNT_MAX,
    SECRET_LENGTH_MAX,
    NewOutput,
    RawOutput,
)

ITEM_ID_PREFIX = "deed_"
_ITEM_ID_BODY_LENGTH = 26

# Crockford's base32 in lower case (https://www.crockford.com/base32.html), without its check symbol
# and without its tolerance for other spellings: a secret is compared exactly.
BASE32_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"

_ITEM_ID = re.compile(f"{ITEM_ID_PREFIX}[{BASE32_ALPHABET}]{{{_ITEM_ID_BODY_LENGTH}}}")

# ASCII digits, no sign, no leading zero: the amount is written in one way only.
_AMOUNT = re.compile(r"[1-9][0-9]*", re.ASCII)

# A code point of these has no UTF-8 form, so the secret could not be hashed.
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_raw_output(text: str) -> RawOutput:
    """Parse `+<amount>.<item_id>.<secret>`, split at the first two dots after the `+`.

    Raises:
        RawOutputError: the text has another form. The message names the part at fault and
            never quotes it.
    """
    amount_text, rest = _split_amount(text)
    item_id, dot, secret = rest.partition(".")
    if not dot:
        raise RawOutputError("a raw output has three parts: +<amount>.<item_id>.<secret>")
    if not item_id.startswith(ITEM_ID_PREFIX):
        raise RawOutputError(f"the item id must start with {ITEM_ID_PREFIX}")
    check_text(item_id, "the item id")
    return RawOutput(parse_amount(amount_text), item_id, check_secret(secret))


def parse_mint_output(text: str) -> NewOutput:
    """Parse a string element of a mint's `outputs`: `+<amount>.<secret>`.

    An empty item id (`+<amount>..<secret>`) and a placeholder that starts with `deed_`
    (`+<amount>.deed_anything.<secret>`) are dropped: the item does not exist yet.

    Raises:
        RawOutputError: the text has another form.
    """
    amount_text, rest = _split_amount(text)
    placeholder, dot, secret = rest.partition(".")
    if not dot or (placeholder and not placeholder.startswith(ITEM_ID_PREFIX)):
        secret = rest
    return NewOutput(parse_amount(amount_text), check_secret(secret))


def parse_amount(text: str) -> int:
    """Return the amount that ASCII digits without sign or leading zero write.

    Raises:
        RawOutputError: another form, zero, or more than AMOUNT_MAX.
    """
    if not _AMOUNT.fullmatch(text):
        raise RawOutputError("the amount must be a whole number from 1, in digits alone")
    # Measured before int(), which costs the square of the length.
    if len(text) > AMOUNT_DIGITS_MAX or int(text) > AMOUNT_MAX:
        raise RawOutputError(f"the amount must be at most {AMOUNT_MAX}")
    return int(text)


def check_secret(secret: str) -> str:
    """Return the secret unchanged if it has 1 to 32 code points, each with a UTF-8 form.

    Raises:
        RawOutputError: otherwise.
    """
    if not 1 <= len(secret) <= SECRET_LENGTH_MAX:
        raise RawOutputError(f"the secret must have 1 to {SECRET_LENGTH_MAX} characters")
    return check_text(secret, "the secret")


def check_text(text: str, name: str) -> str:
    """Return the text unchanged if all of it has a UTF-8 form.

    Raises:
        RawOutputError: it holds a lone surrogate.
    """
    if _SURROGATE.search(text):
        raise RawOutputError(f"{name} holds a lone surrogate, which no UTF-8 text can hold")
    return text


def make_item_id() -> str:
    """Return a new item id from the system's CSPRNG: `deed_` and 130 random bits."""
    body = secrets.randbits(5 * _ITEM_ID_BODY_LENGTH)
    return ITEM_ID_PREFIX + encode_base32(body, _ITEM_ID_BODY_LENGTH)


def is_item_id(text: str) -> bool:
    """Return whether the text has the form of an item id, whether or not the item exists."""
    return _ITEM_ID.fullmatch(text) is not None


def encode_base32(number: int, length: int) -> str:
    """Return `number` (0 to 2**(5 * length) - 1) as `length` characters, highest group first."""
    shifts = range(5 * (length - 1), -1, -5)
    return "".join(BASE32_ALPHABET[(number >> shift) & 31] for shift in shifts)


def _split_amount(text: str) -> tuple[str, str]:
    if not text.startswith("+"):
        raise RawOutputError("a raw output starts with +")
    amount_text, dot, rest = text[1:].partition(".")
    if not dot:
        raise RawOutputError("a dot must follow the amount")
    return amount_text, rest
