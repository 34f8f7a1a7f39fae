"""Reads requests: bounded bodies, strict JSON, the Idempotency-Key, the client."""

import codecs
import json
import re
from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network, ip_address
from itertools import islice
from typing import Any, NoReturn

from flask import Request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge
from werkzeug.http import unquote_header_value

from deeds.errors import (
    BodyUnreadableError,
    InvalidIdempotencyKeyError,
    InvalidJsonError,
    InvalidRequestError,
    WrongMediaTypeError,
)
from deeds.model import IDEMPOTENCY_KEY_LENGTH_MAX
from schemas.requests import RequestSchema, load

# The client of requests without an address.
NO_CLIENT = "-"


def read_request(request: Request, schema: RequestSchema) -> Any:
    """Return the body as the schema loads it; raise DeedError.

    Raises RequestEntityTooLarge for a body larger than MAX_CONTENT_LENGTH, which is not
    read.
    """
    try:
        body = request.get_data(cache=False)
    except RequestEntityTooLarge:
        raise
    except (HTTPException, OSError, ValueError):
        raise BodyUnreadableError from None
    _check_media_type(request)
    return load(schema, _parse_json(body, schema.array_length_max))


def read_idempotency_key(request: Request) -> str | None:
    """Return the Idempotency-Key or None; raise InvalidIdempotencyKeyError.

    The quoted form (RFC 8941) that draft-ietf-httpapi-idempotency-key-header requires
    and the bare form that many clients send are the same key.
    """
    header = request.headers.get("Idempotency-Key")
    if header is None:
        return None
    text = header.strip(" \t")
    key = unquote_header_value(text)
    # Servers join repeated header fields with a comma.
    if "," in text and (key == text or '"' in key):
        raise InvalidIdempotencyKeyError(
            "the header Idempotency-Key is sent twice; quote a key with a comma"
        )
    if not _PRINTABLE.fullmatch(key):
        raise InvalidIdempotencyKeyError(
            f"an Idempotency-Key has 1 to {IDEMPOTENCY_KEY_LENGTH_MAX} printable ASCII"
            " characters"
        )
    return key


def client_of(request: Request) -> str:
    """Return the client of a request: an IPv4 address or an IPv6 /64 network.

    Providers give each IPv6 customer at least a /64. ProxyFix has already replaced the
    addresses of trusted proxies.
    """
    return _client_at(request.remote_addr or "")


@lru_cache(maxsize=1024)
def _client_at(text: str) -> str:
    match = _WITH_PORT.fullmatch(text)
    try:
        address = ip_address((match[1] or match[2]) if match else text)
    except ValueError:
        # Requests over a unix socket, and those for which a proxy names no client, all
        # count as one client.
        return NO_CLIENT
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped or IPv6Network((int(address), 64), strict=False))
    return str(address)


def _check_media_type(request: Request) -> None:
    if request.environ.get("HTTP_CONTENT_ENCODING", "identity") != "identity":
        raise WrongMediaTypeError("the body must not be compressed (Content-Encoding)")
    # Fast path for what nearly all clients send.
    if request.content_type == "application/json":
        return
    if request.mimetype != "application/json":
        raise WrongMediaTypeError
    charset = request.mimetype_params.get("charset", "utf-8")
    if charset.lower() not in {"utf-8", "utf8"}:
        raise WrongMediaTypeError("the body must be UTF-8, not of another charset")


def _parse_json(body: bytes, array_length_max: int) -> Any:
    if body.startswith(_BYTE_ORDER_MARK):
        raise InvalidJsonError("the body begins with a byte order mark: leave it out")
    if len(body) > _LARGE_BYTES:
        _check_values(body, _TOKENS_PER_ELEMENT * (2 * array_length_max + 1))
    try:
        return _DECODER.decode(body.decode("utf-8"))
    except json.JSONDecodeError as error:
        raise InvalidJsonError(
            f"the body is not JSON from character {error.pos} on"
        ) from None
    except UnicodeDecodeError:
        raise InvalidJsonError("the body is not UTF-8") from None
    except RecursionError:
        raise InvalidJsonError("the body is nested too deeply") from None
    except ValueError:
        # int() refuses texts of more than 4300 digits.
        raise InvalidJsonError("the body has too long a number") from None


def _check_values(body: bytes, tokens_max: int) -> None:
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    if any(islice(_TOKEN.finditer(plain), tokens_max, None)):
        raise InvalidRequestError("the body: has more values than a request can have")


def _refuse_constant(_name: str) -> NoReturn:
    raise InvalidJsonError("NaN and Infinity are not JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise InvalidJsonError("an object names a key twice")
    return members


# Of UTF-8, and of UTF-16 in both byte orders.
_BYTE_ORDER_MARK = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

# Larger bodies are checked before parsing: a megabyte of empty objects takes 25 MB,
# which the process never returns to the system.
_LARGE_BYTES = 65_536

# Strings, after escaped quotes were removed, and the characters that open, close or
# separate values. A string without an end matches up to the end of the body, so no byte
# is scanned twice.
_TOKEN = re.compile(rb'"[^"]*+"?|[][{},]')

# Twice as many as a valid element can have: an output object has at most 8, which are
# two keys, two values that may be strings, two braces and two commas.
_TOKENS_PER_ELEMENT = 16

_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant)

# Some proxies write the port too: 192.0.2.1:5555 or [2001:db8::1]:5555.
_WITH_PORT = re.compile(r"\[([^\[\]]*)\](?::[0-9]+)?|([0-9.]+):[0-9]+")

_PRINTABLE = re.compile(rf"[!-~](?:[ -~]{{0,{IDEMPOTENCY_KEY_LENGTH_MAX - 2}}}[!-~])?")
