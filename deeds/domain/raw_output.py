"""The grammar of raw outputs (contract 2.1, part 2). May import only values, limits, errors."""

import re

from deeds.domain.errors import RawOutputError
from deeds.domain.limits import AMOUNT_DIGITS_MAX, AMOUNT_MAX, SECRET_LENGTH_MAX
from deeds.domain.values import NewOutput, RawOutput

ITEM_ID_PREFIX = "deed_"

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


def _split_amount(text: str) -> tuple[str, str]:
    if not text.startswith("+"):
        raise RawOutputError("a raw output starts with +")
    amount_text, dot, rest = text[1:].partition(".")
    if not dot:
        raise RawOutputError("a dot must follow the amount")
    return amount_text, rest
