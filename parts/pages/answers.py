"""Responses with pages and files: compressed, and revalidated by ETag."""

import functools
import gzip
from collections.abc import Callable
from http import HTTPStatus

from flask import Response, request

from deeds.blueprints.answers import NO_STORE

# The start of the policy of every page (CSP Level 3).
_EVERY_PAGE = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

# Larger pages are not compressed. A page may contain a minted picture of 1 MiB, which
# would take 40 ms each time.
_GZIP_BYTES_MAX = 65_536

# No timestamp, so that the ETag is the same in every process.
_squeeze = functools.partial(gzip.compress, mtime=0)

# The cache is unbounded: only for our own files, never for data of clients.
_squeeze_once = functools.cache(_squeeze)

# Media types that are worth compressing.
_TEXTS = ("text/", "image/svg+xml", "application/json")

# Media types of static files, by suffix.
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}


def page_answer(html: str, *, allowed: str, status: int = HTTPStatus.OK) -> Response:
    """Return a page that may load only what the directives `allowed` name."""
    content = html.encode("utf-8")
    squeeze = _squeeze if len(content) <= _GZIP_BYTES_MAX else None
    answer = file_answer(content, "text/html; charset=utf-8", squeeze, status)
    answer.headers["Content-Security-Policy"] = f"{_EVERY_PAGE}; {allowed}"
    return answer


def file_answer(
    content: bytes,
    media_type: str,
    squeeze: Callable[[bytes], bytes] | None = _squeeze_once,
    status: int = HTTPStatus.OK,
) -> Response:
    """Return a file that a page loads; `squeeze` compresses it if it is text."""
    answer = Response(content, status, content_type=media_type)
    answer.headers["Cache-Control"] = NO_STORE
    if squeeze is not None and media_type.startswith(_TEXTS):
        answer.vary.add("Accept-Encoding")
        if request.accept_encodings.quality("gzip") > 0:
            answer.set_data(squeeze(content))
            answer.content_encoding = "gzip"
    if status == HTTPStatus.OK:
        # Caches revalidate it each time; the ETag avoids sending it again.
        answer.headers["Cache-Control"] = "no-cache"
        answer.add_etag()
        answer.make_conditional(request)
    return answer
