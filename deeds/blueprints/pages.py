"""Makes the answers that pages for people consist of: HTML under a strict policy, and its files."""

import functools
import gzip
from collections.abc import Callable
from http import HTTPStatus
from importlib.resources import files

from flask import Response, request

from deeds.blueprints.answers import NO_STORE

# Where a file lies: package and directory.
Place = tuple[str, str]
STATIC: Place = ("deeds.blueprints", "static")

# Nothing is loaded from elsewhere, nothing runs that is not a file of ours, nobody frames us
# (CSP Level 3).
_EVERY_PAGE = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

# Asks for the page again each time; the ETag spares sending it.
_ASK_AGAIN = "no-cache"

# What is smaller gains nothing. A page may hold a picture of 1 MiB that somebody has minted: to
# compress that would take 40 ms each time, so above this a page is sent as it is.
_GZIP_BYTES_MIN = 512
_GZIP_BYTES_MAX = 65_536

# Media types that are text, and so worth compressing.
_TEXT = ("text/", "image/svg+xml")


def page_answer(html: str, *, allowed: str, status: int = HTTPStatus.OK) -> Response:
    """Return a page that may load only what the directives `allowed` name.

    One that says what is wrong, by its status, is kept by nobody.
    """
    content = html.encode("utf-8")
    squeeze = _squeeze if _GZIP_BYTES_MIN <= len(content) <= _GZIP_BYTES_MAX else None
    answer = _answer(content, "text/html; charset=utf-8", squeeze, status)
    answer.headers["Content-Security-Policy"] = f"{_EVERY_PAGE}; {allowed}"
    return answer


def file_answer(content: bytes, media_type: str) -> Response:
    """Return a file that a page loads. It is compressed once, and that remembered."""
    return _answer(content, media_type, _squeeze_once if media_type.startswith(_TEXT) else None)


@functools.cache
def read_file(place: Place, name: str) -> bytes:
    """Return what the file holds; read when first asked for, as it is part of a package."""
    package, directory = place
    return files(package).joinpath(directory, name).read_bytes()


def _squeeze(content: bytes) -> bytes:
    # Without the time, so that the ETag is the same in every process.
    return gzip.compress(content, mtime=0)


# Files of ours come here, and nothing that somebody has sent.
_squeeze_once = functools.cache(_squeeze)


def _answer(
    content: bytes,
    media_type: str,
    squeeze: Callable[[bytes], bytes] | None,
    status: int = HTTPStatus.OK,
) -> Response:
    answer = Response(content, status, content_type=media_type)
    if squeeze is not None:
        answer.vary.add("Accept-Encoding")
        if request.accept_encodings.quality("gzip") > 0:
            answer.set_data(squeeze(content))
            answer.content_encoding = "gzip"
    if status != HTTPStatus.OK:
        answer.headers["Cache-Control"] = NO_STORE
        return answer
    answer.headers["Cache-Control"] = _ASK_AGAIN
    answer.add_etag()
    answer.make_conditional(request)
    return answer
