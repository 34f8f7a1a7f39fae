"""Reads a request body: bounded bytes, then strict JSON."""

import json
import threading
from typing import Any, NoReturn

from flask import Request
from werkzeug.exceptions import HTTPException

from deeds.errors import (
    BodyTooLargeError,
    BodyUnreadableError,
    InvalidJsonError,
    WrongMediaTypeError,
)


def read_json(request: Request) -> Any:
    """Return the JSON value of the body.

    Raises:
        BodyTooLargeError: more bytes than the app's MAX_CONTENT_LENGTH; at most one more is read.
        BodyUnreadableError: the body broke off or its framing is wrong.
        WrongMediaTypeError: not application/json.
        InvalidJsonError: not JSON text in UTF-8 (RFC 8259), NaN and the like, a key named twice,
            a number too long to be one, or nesting too deep to be a request.
    """
    body = _read_bytes(request)
    if request.mimetype != "application/json":
        raise WrongMediaTypeError
    try:
        if len(body) > _LARGE_BYTES:
            with _ONE_LARGE:
                return _DECODER.decode(body.decode("utf-8"))
        return _DECODER.decode(body.decode("utf-8"))
    except UnicodeDecodeError:
        raise InvalidJsonError("the body is not UTF-8") from None
    except RecursionError:
        raise InvalidJsonError("the body is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise InvalidJsonError(f"the body is not JSON from character {error.pos} on") from None
    except ValueError:
        # int() refuses texts of more than 4300 digits.
        raise InvalidJsonError("the body holds a number that is too long") from None


def _read_bytes(request: Request) -> bytes:
    limit = request.max_content_length or 0
    too_large = BodyTooLargeError(f"the body must have at most {limit} bytes")
    if (request.content_length or 0) > limit:
        raise too_large
    # A chunked body tells no length, and Werkzeug cuts it off at the limit in silence: the byte
    # after it shows that there was more.
    request.max_content_length = limit + 1
    try:
        body = request.get_data(cache=False)
    except (HTTPException, OSError, ValueError):
        raise BodyUnreadableError from None
    if len(body) > limit:
        raise too_large
    return body


def _refuse_constant(_name: str) -> NoReturn:
    raise InvalidJsonError("NaN and Infinity are not JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidJsonError("an object names a key twice")
    return found


# Parsed values can take 25 times the bytes of their text. Larger bodies than this, which few good
# requests have, are parsed one at a time: 32 at once left 170 MB behind, one after the other 70.
_LARGE_BYTES = 65_536
_ONE_LARGE = threading.Lock()

_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant)
