"""Answers and headers: compact JSON, pages and files, CORS, what protects browsers."""

import functools
import gzip
import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from flask import Response, request

NO_STORE = "no-store"

# A year, the longest that caches honour: an item never changes after its mint.
FOREVER = "public, max-age=31536000, immutable"

# In every answer: browsers must not guess types, send a referrer, or load or frame
# anything. Pages of ours have their own policy.
_SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}

# Any page may call the interface: it uses no cookies, and a secret is in the body or
# nowhere.
_EXPOSED = "ETag, Idempotency-Replayed, Retry-After, X-Request-ID"
_INTERFACE = _SAFE | {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": _EXPOSED,
}
_PREFLIGHT = {
    "Access-Control-Allow-Headers": "Content-Type, Idempotency-Key, X-Request-ID",
    "Access-Control-Max-Age": "86400",
}

# The start of the policy of every page (CSP Level 3).
_EVERY_PAGE = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

# A page may hold a picture of 1 MiB that somebody has minted: to compress that takes 40
# ms each time. A larger page than this is sent as it is.
_GZIP_BYTES_MAX = 65_536

# Without the time, so that the ETag is the same in every process.
_squeeze = functools.partial(gzip.compress, mtime=0)

# Files of ours come here, and nothing that somebody has sent.
_squeeze_once = functools.cache(_squeeze)

# Of the files that pages load, by the ends of their names.
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}

# Created once: json.dumps would create one for every answer.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def json_answer(
    body: Any,
    status: int = HTTPStatus.OK,
    *,
    media_type: str = "application/json",
) -> Response:
    """Return the body as compact JSON text that is not cached."""
    answer = Response(_encode(body).encode("utf-8"), status, content_type=media_type)
    answer.headers["Cache-Control"] = NO_STORE
    return answer


def page_answer(html: str, *, allowed: str, status: int = HTTPStatus.OK) -> Response:
    """Return a page that may load only what the directives `allowed` name."""
    content = html.encode("utf-8")
    squeeze = _squeeze if len(content) <= _GZIP_BYTES_MAX else None
    answer = _page_or_file(content, "text/html; charset=utf-8", squeeze, status)
    answer.headers["Content-Security-Policy"] = f"{_EVERY_PAGE}; {allowed}"
    return answer


def file_answer(content: bytes, media_type: str) -> Response:
    """Return a file that a page loads, compressed once and remembered."""
    squeeze = (
        _squeeze_once if media_type.startswith(("text/", "image/svg+xml")) else None
    )
    return _page_or_file(content, media_type, squeeze, HTTPStatus.OK)


def set_headers(answer: Response) -> Response:
    """Return the answer with the headers that every answer has."""
    # Flask's own answer: it has no body, so it has no type either.
    tells_methods = request.method == "OPTIONS" and answer.status_code == HTTPStatus.OK
    if tells_methods:
        answer.headers.pop("Content-Type", None)
    if not request.path.startswith("/v1/"):
        for name, value in _SAFE.items():
            answer.headers.setdefault(name, value)
    else:
        # Nobody else sets these, and to look for each first costs more than all of
        # them.
        answer.headers.extend(_INTERFACE)
        if tells_methods:
            answer.headers.update(_PREFLIGHT)
            answer.headers["Access-Control-Allow-Methods"] = answer.headers.get(
                "Allow", ""
            )
    return answer


def _page_or_file(
    content: bytes,
    media_type: str,
    squeeze: Callable[[bytes], bytes] | None,
    status: int,
) -> Response:
    answer = Response(content, status, content_type=media_type)
    answer.headers["Cache-Control"] = NO_STORE
    if squeeze is not None:
        answer.vary.add("Accept-Encoding")
        if request.accept_encodings.quality("gzip") > 0:
            answer.set_data(squeeze(content))
            answer.content_encoding = "gzip"
    if status == HTTPStatus.OK:
        # Asked for again each time; the ETag spares sending it.
        answer.headers["Cache-Control"] = "no-cache"
        answer.add_etag()
        answer.make_conditional(request)
    return answer
