"""Item ids: `deed_` and 26 characters of Crockford base32, 130 random bits (contract part 2)."""

import re
import secrets

from deeds.domain import base32
from deeds.domain.raw_output import ITEM_ID_PREFIX

_BODY_LENGTH = 26
_FORM = re.compile(f"{ITEM_ID_PREFIX}[{base32.ALPHABET}]{{{_BODY_LENGTH}}}")


def make_item_id() -> str:
    """Return a new item id from the system's CSPRNG."""
    return ITEM_ID_PREFIX + base32.encode(secrets.randbits(5 * _BODY_LENGTH), _BODY_LENGTH)


def is_item_id(text: str) -> bool:
    """Tell whether the text has the form of an item id, whether or not the item exists."""
    return _FORM.fullmatch(text) is not None
