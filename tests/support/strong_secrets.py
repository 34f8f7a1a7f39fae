"""Strong secrets, implemented from the design and without the service's code."""

import re
import secrets
from hashlib import sha256

# Crockford's base32 in lower case.
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def make_strong_secret():
    """Return 26 random characters and their checksum."""
    body = "".join(secrets.choice(ALPHABET) for _ in range(26))
    return body + _checksum(body)


def is_strong_secret(text):
    has_form = re.fullmatch(f"[{ALPHABET}]{{32}}", text) is not None
    return has_form and text[26:] == _checksum(text[:26])


def _checksum(body):
    """Return the first 30 bits of SHA-256(label + body) as 6 characters."""
    digest = sha256(b"deeds strong secret v1:" + body.encode()).digest()
    bits = "".join(f"{byte:08b}" for byte in digest)
    return "".join(ALPHABET[int(bits[at : at + 5], 2)] for at in range(0, 30, 5))
