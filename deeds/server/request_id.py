"""The id by which a request is found in logs: the client's, if it is harmless, or a new one.

Must import no library.
"""

import re
import secrets

# UUIDs, ULIDs, W3C trace ids and what nginx makes fit. A raw output does not: it starts with "+".
REQUEST_ID_LENGTH_MAX = 64
_HARMLESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

_RANDOM_BYTES = 16


def make_request_id() -> str:
    """Return a new id of 32 hex digits."""
    return secrets.token_hex(_RANDOM_BYTES)


def request_id_from(header: str | None) -> str:
    """Return the id in the header `X-Request-ID`, or a new one where it has none that is harmless.

    The id comes back in a header and stands in logs, so it has at most 64 characters, all of them
    letters, digits, dots, dashes or underscores.
    """
    if header is not None and _HARMLESS.fullmatch(header):
        return header
    return make_request_id()
