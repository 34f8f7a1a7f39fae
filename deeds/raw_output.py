"""The grammar of raw outputs, ids (contract 2.1) and strong secrets.

A strong secret is 32 lower-case Crockford base32 characters: 26 random ones (130 bits)
and a checksum of 6 (30 bits of SHA-256 over a label and the 26). They need no slow
hash, which NIST SP 800-63B requires only for look-up secrets of less than 112 bits
(decision 0002, docs/decisions).
"""

import hashlib
import re
import secrets
from collections.abc import Callable

from deeds.model import AMOUNT_MAX, SECRET_LENGTH_MAX, NewOutput, RawOutput

# Returns the given number of bytes from a CSPRNG.
TokenBytes = Callable[[int], bytes]

ITEM_ID_PREFIX = "deed_"

# Crockford's base32 in lower case (https://www.crockford.com/base32.html), without its
# check symbol and without its tolerance for other spellings: a secret is compared
# exactly.
BASE32_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"

# Random characters of an id and of a strong secret: 130 bits.
RANDOM_LENGTH = 26

RANDOM_PATTERN = f"[{BASE32_ALPHABET}]{{{RANDOM_LENGTH}}}"
_ID_END = re.compile(RANDOM_PATTERN)

_STRONG_SECRET = re.compile(f"({RANDOM_PATTERN})([{BASE32_ALPHABET}]{{6}})")
_STRONG_SECRET_LABEL = b"deeds strong secret v1:"

# The digits that int(text, 32) expects.
_PYTHONS_DIGITS = "0123456789abcdefghijklmnopqrstuv"
_TO_PYTHONS_DIGITS = str.maketrans(BASE32_ALPHABET, _PYTHONS_DIGITS)

# RFC 9562 version 4: of its 128 bits, 122 are random.
_RANDOM_UUID = re.compile(
    "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    re.IGNORECASE,
)

# ASCII digits, no sign, no leading zero: the amount is written in one way only.
_AMOUNT = re.compile("[1-9][0-9]*")

# Surrogates cannot be encoded as UTF-8, so such a secret could not be hashed.
_SURROGATE = re.compile("[\ud800-\udfff]")


class RawOutputError(ValueError):
    """A string is not a raw output. The message names the part without quoting it."""


def parse_raw_output(text: str) -> RawOutput:
    """Parse `+<amount>.<item_id>.<secret>`; raise RawOutputError.

    The text is split at the first two dots after the `+`.
    """
    amount, rest = _split_amount(text)
    item_id, dot, secret = rest.partition(".")
    if not dot:
        raise RawOutputError(
            "a raw output has three parts: +<amount>.<item_id>.<secret>"
        )
    if not item_id.startswith(ITEM_ID_PREFIX):
        raise RawOutputError(f"the item id must start with {ITEM_ID_PREFIX}")
    item_id = parse_text(item_id, "the item id")
    return RawOutput(_parse_amount(amount), item_id, parse_secret(secret))


def parse_mint_output(text: str) -> NewOutput:
    """Parse `+<amount>.<secret>` of a mint; raise RawOutputError.

    An empty item id (`+<amount>..<secret>`) and a placeholder that starts with `deed_`
    (`+<amount>.deed_anything.<secret>`) are dropped: the item does not exist yet.
    """
    amount, rest = _split_amount(text)
    placeholder, dot, secret = rest.partition(".")
    if not dot or (placeholder and not placeholder.startswith(ITEM_ID_PREFIX)):
        secret = rest
    return NewOutput(_parse_amount(amount), parse_secret(secret))


def parse_secret(secret: str) -> str:
    """Return the secret; raise RawOutputError if it is invalid.

    It must have 1 to 32 code points, without surrogates.
    """
    if not 1 <= len(secret) <= SECRET_LENGTH_MAX:
        raise RawOutputError(
            f"the secret must have 1 to {SECRET_LENGTH_MAX} characters"
        )
    return parse_text(secret, "the secret")


def parse_text(text: str, name: str = "the text") -> str:
    """Return the text; raise RawOutputError if it cannot be encoded as UTF-8."""
    if _SURROGATE.search(text):
        raise RawOutputError(
            f"{name} holds a lone surrogate, which no UTF-8 text can hold"
        )
    return text


def make_id(prefix: str, token_bytes: TokenBytes) -> str:
    """Return a new id: the prefix of its kind and 130 random bits."""
    return prefix + _random_base32(token_bytes)


def is_id(prefix: str, text: str) -> bool:
    """Return whether the text has the form of an id of this kind."""
    return text.startswith(prefix) and _ID_END.fullmatch(text, len(prefix)) is not None


def make_strong_secret(token_bytes: TokenBytes = secrets.token_bytes) -> str:
    """Return a new strong secret."""
    body = _random_base32(token_bytes)
    return body + _checksum(body)


def is_strong_secret(secret: str) -> bool:
    """Return whether the secret has the form and the checksum of a strong secret."""
    match = _STRONG_SECRET.fullmatch(secret)
    if match is None:
        return False
    digits = match[2].translate(_TO_PYTHONS_DIGITS)
    return int(digits, base=32) == _checksum_bits(match[1])


def is_random_key(key: str) -> bool:
    """Return whether the key is unguessable: a random UUID or a strong secret.

    Any other key is hashed like a secret, because clients derive keys from requests.
    """
    return is_strong_secret(key) or _RANDOM_UUID.fullmatch(key) is not None


def _split_amount(text: str) -> tuple[str, str]:
    if not text.startswith("+"):
        raise RawOutputError("a raw output starts with +")
    amount, dot, rest = text[1:].partition(".")
    if not dot:
        raise RawOutputError("a dot must follow the amount")
    return amount, rest


def _parse_amount(text: str) -> int:
    if not _AMOUNT.fullmatch(text):
        raise RawOutputError(
            "the amount must be a whole number from 1, in digits alone"
        )
    # Check the length before int(), which takes quadratic time.
    if len(text) > len(str(AMOUNT_MAX)) or int(text) > AMOUNT_MAX:
        raise RawOutputError(f"the amount must be at most {AMOUNT_MAX}")
    return int(text)


def _random_base32(token_bytes: TokenBytes) -> str:
    # 32 divides 256, so all characters are equally likely.
    return "".join(BASE32_ALPHABET[byte % 32] for byte in token_bytes(RANDOM_LENGTH))


def _checksum_bits(body: str) -> int:
    """Return the first 30 bits of SHA-256(label + body)."""
    digest = hashlib.sha256(_STRONG_SECRET_LABEL + body.encode("ascii")).digest()
    return int.from_bytes(digest[:4], "big") >> 2


def _checksum(body: str) -> str:
    """Return the checksum of a strong secret as 6 characters."""
    bits = _checksum_bits(body)
    return "".join(BASE32_ALPHABET[(bits >> shift) % 32] for shift in range(25, -1, -5))
