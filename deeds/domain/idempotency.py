"""The header Idempotency-Key (draft-ietf-httpapi-idempotency-key-header) and the hash of a key."""

import hashlib
import re

from deeds.domain.errors import InvalidIdempotencyKeyError
from deeds.domain.hashing import Hasher, HashJob
from deeds.domain.model import IDEMPOTENCY_KEY_LENGTH_MAX, SecretClass
from deeds.domain.raw_output import is_strong_secret
from deeds.domain.schemes import HashSchemes

# The hash of a key under each scheme that it may have been recorded under, the current one first.
KeyHashes = tuple[bytes, ...]

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
    """Return whether nobody can guess the key: a random UUID (122 bits) or a strong secret.

    Any other key has to be hashed like a secret: clients make keys from what they send.
    """
    return is_strong_secret(key) or _RANDOM_UUID.fullmatch(key) is not None


def hash_key(key: str, schemes: HashSchemes, hasher: Hasher) -> KeyHashes:
    """Return the 32-byte hash of a key under each scheme, or the only one of a random key.

    Raises:
        OverloadedError: too much is waiting to be hashed; nothing was hashed.
    """
    if is_random_key(key):
        return (hashlib.sha256(_LABEL + key.encode("ascii")).digest(),)
    jobs = [HashJob(key, each.key_salt, each) for each in schemes.all_of(SecretClass.ORDINARY)]
    return tuple(hasher.digests(jobs))
