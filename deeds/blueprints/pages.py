"""Makes the answers that pages for people consist of: HTML under a strict policy, and its files."""

import functools
from importlib.resources import files

from flask import Response, request

# Where a file lies: package and directory.
Place = tuple[str, str]
STATIC: Place = ("deeds.blueprints", "static")

# Nothing is loaded from elsewhere, nothing runs that is not a file of ours, nobody frames us
# (CSP Level 3).
_EVERY_PAGE = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

# Asks for the page again each time; the ETag spares sending it.
_ASK_AGAIN = "no-cache"


def page_answer(html: str, *, allowed: str) -> Response:
    """Return a page that may load only what the directives `allowed` name."""
    answer = _answer(html.encode("utf-8"), "text/html; charset=utf-8")
    answer.headers["Content-Security-Policy"] = f"{_EVERY_PAGE}; {allowed}"
    return answer


def file_answer(content: bytes, media_type: str) -> Response:
    """Return a file that a page loads."""
    return _answer(content, media_type)


@functools.cache
def read_file(place: Place, name: str) -> bytes:
    """Return what the file holds; read when first asked for, as it is part of a package."""
    package, directory = place
    return files(package).joinpath(directory, name).read_bytes()


def _answer(content: bytes, media_type: str) -> Response:
    answer = Response(content, content_type=media_type)
    answer.headers["Cache-Control"] = _ASK_AGAIN
    answer.add_etag()
    answer.make_conditional(request)
    return answer
