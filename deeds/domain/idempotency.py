"""The Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header). Must import no library.

See docs/decisions/0003-idempotency-in-the-ledger.md.
"""

import hashlib
import re

from deeds.domain.errors import InvalidIdempotencyKeyError
from deeds.domain.limits import IDEMPOTENCY_KEY_LENGTH_MAX
from deeds.domain.strong_secret import is_strong_secret

_PRINTABLE = re.compile(rf"[!-~](?:[ -~]{{0,{IDEMPOTENCY_KEY_LENGTH_MAX - 2}}}[!-~])?")
_QUOTED = re.compile(r'"((?:[^"\\]|\\["\\])*)"')
_ESCAPED = re.compile(r'\\(["\\])')
# RFC 9562 version 4: of its 128 bits, 122 are random.
_RANDOM_UUID = re.compile(
    "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.IGNORECASE
)
_LABEL = b"deeds idempotency key v1:"


def parse_idempotency_key(header: str) -> str:
    """Return the key that the header value names.

    The draft asks for a quoted string (RFC 8941); clients also send it bare. Both name one key.

    Raises:
        InvalidIdempotencyKeyError: not 1 to 255 printable ASCII characters.
    """
    value = header.strip(" \t")
    quoted = _QUOTED.fullmatch(value)
    key = _ESCAPED.sub(r"\1", quoted[1]) if quoted else value
    if not _PRINTABLE.fullmatch(key):
        raise InvalidIdempotencyKeyError(
            f"an Idempotency-Key has 1 to {IDEMPOTENCY_KEY_LENGTH_MAX} printable ASCII characters"
        )
    return key


def is_random_key(key: str) -> bool:
    """Tell whether the key is beyond guessing: a random UUID (RFC 9562, 122 bits) or strong secret.

    Any other key has to be hashed like a secret: clients make keys from what they send.
    """
    return is_strong_secret(key) or _RANDOM_UUID.fullmatch(key) is not None


def random_key_hash(key: str) -> bytes:
    """Return the 32-byte hash of a key that is beyond guessing; it depends on no setting."""
    return hashlib.sha256(_LABEL + key.encode("ascii")).digest()
