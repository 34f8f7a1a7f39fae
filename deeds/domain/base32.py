"""Lower-case Crockford base32 of whole 5-bit groups, as item ids and strong secrets use it.

Must import nothing of the project. Source: https://www.crockford.com/base32.html, without its
check symbol and without its tolerance for other spellings: a secret is compared exactly.
"""

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def encode(number: int, length: int) -> str:
    """Return `number` (0 to 2**(5 * length) - 1) as `length` characters, highest group first."""
    return "".join(ALPHABET[(number >> shift) & 31] for shift in range(5 * (length - 1), -1, -5))
