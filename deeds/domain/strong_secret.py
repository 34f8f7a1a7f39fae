"""Strong secrets: made by a machine and recognised by their form.

A strong secret is 32 lower-case Crockford base32 characters: 26 random ones (130 bits) and a
checksum of 6 (30 bits of SHA-256 over a label and the 26). NIST SP 800-63B, look-up secrets, asks
for no slow hash from 112 bits on. See docs/decisions/0002-strong-secrets.md.
"""

import hashlib
import re
import secrets

from deeds.domain.raw_output import BASE32_ALPHABET, encode_base32

_BODY_LENGTH = 26
_CHECKSUM_LENGTH = 6
_CHECKSUM_BITS = 5 * _CHECKSUM_LENGTH
_LABEL = b"deeds strong secret v1:"
_FORM = re.compile(f"[{BASE32_ALPHABET}]{{{_BODY_LENGTH + _CHECKSUM_LENGTH}}}")


def make_strong_secret() -> str:
    """Return a new strong secret of 32 characters from the system's CSPRNG."""
    body = encode_base32(secrets.randbits(5 * _BODY_LENGTH), _BODY_LENGTH)
    return body + _checksum(body)


def is_strong_secret(secret: str) -> bool:
    """Return whether the secret proves by its checksum that a machine made it."""
    if not _FORM.fullmatch(secret):
        return False
    return secret[_BODY_LENGTH:] == _checksum(secret[:_BODY_LENGTH])


def _checksum(body: str) -> str:
    """Return the first 30 bits of SHA-256(label + body) as 6 characters."""
    digest = hashlib.sha256(_LABEL + body.encode("ascii")).digest()
    first_bits = int.from_bytes(digest[:4], "big") >> (32 - _CHECKSUM_BITS)
    return encode_base32(first_bits, _CHECKSUM_LENGTH)
