"""What is answered to bytes that are not HTTP. Used only by `deeds.server.gthread_worker`.

gunicorn parses HTTP before the application is called, so these answers cannot come from it, but
they look like its own. All texts are constants: gunicorn's page repeats the offending bytes, and
those may hold a secret. Must import only gunicorn's errors, the table of problems and the headers
of every answer.
"""

import json
from email.utils import formatdate

from gunicorn.http import errors as http_errors

from deeds.blueprints.problem_table import PROBLEMS, Problem
from deeds.blueprints.responses import SAFE_HEADERS

# The first class that fits counts. What the client caused is 4xx without exception: gunicorn
# itself answers 501 to an unknown transfer coding and 500 to a path outside SCRIPT_NAME.
_CODES = (
    # Headers that the application tried to send, although derived from errors of the client.
    (http_errors.InvalidResponseHeader, "internal"),  # type: ignore[attr-defined]  # Newer than
    (http_errors.InvalidResponseHeaderName, "internal"),  # type: ignore[attr-defined]  # the stubs.
    (http_errors.LimitRequestLine, "uri_too_long"),
    (http_errors.LimitRequestHeaders, "headers_too_large"),
    (http_errors.ExpectationFailed, "expectation_failed"),
    (http_errors.ParseException, "bad_request"),
    (BaseException, "internal"),
)


def problem_for(error: BaseException) -> Problem:
    """Return the problem that gunicorn's parser, or else the application, raised."""
    return next(PROBLEMS[code] for error_class, code in _CODES if isinstance(error, error_class))


def response_bytes(problem: Problem, request_id: str) -> bytes:
    """Return a whole response, head and body, after which the connection ends."""
    fields = {
        "type": problem.type,
        "title": problem.title,
        "status": problem.status,
        "detail": problem.meaning,
        "code": problem.code,
    }
    body = json.dumps(fields, separators=(",", ":")).encode("ascii")
    safe = "".join(f"{name}: {value}\r\n" for name, value in SAFE_HEADERS.items())
    head = (
        f"HTTP/1.1 {problem.status.value} {problem.status.phrase}\r\n"
        f"Date: {formatdate(usegmt=True)}\r\n"
        "Connection: close\r\n"
        "Cache-Control: no-store\r\n"
        f"X-Request-ID: {request_id}\r\n"
        f"{safe}"
        "Content-Type: application/problem+json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode("ascii") + body
