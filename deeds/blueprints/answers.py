"""Responses: compact JSON, problems (RFC 9457), and common headers."""

import json
import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from deeds import errors
from deeds.blueprints.log import places, request_notes
from deeds.errors import DeedError, RetryLaterError
from deeds.model import Operation

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

NO_STORE = "no-store"

# A year, the longest that caches honour: an item never changes after its mint.
FOREVER = "public, max-age=31536000, immutable"

PROBLEM_MEDIA_TYPE = "application/problem+json"

# Headers of every response, which forbid browsers to guess types, send a referrer, or
# load or frame anything.
SAFE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}

# Any page may call the interface (CORS): it uses no cookies, and secrets are sent in
# bodies only.
_EXPOSED = "ETag, Idempotency-Replayed, Retry-After, X-Request-ID"
_INTERFACE_HEADERS = [
    *SAFE_HEADERS.items(),
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", _EXPOSED),
]

# The error for each status with which Flask and Werkzeug refuse a request, and for each
# code with which the server does. Any other refusal is a BadRequestError.
_REFUSALS: dict[int | str | None, type[DeedError]] = {
    404: errors.PathNotFoundError,
    405: errors.MethodNotAllowedError,
    413: errors.BodyTooLargeError,
    "headers_too_large": errors.HeadersTooLargeError,
    "bad_request": errors.BadRequestError,
}

# Created once: json.dumps would create one for every response.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_log = logging.getLogger("deeds.request")


def json_answer(
    body: Any,
    status: int = 200,
    *,
    media_type: str = "application/json",
    cached: str = NO_STORE,
) -> Response:
    """Return a response with the body as compact JSON."""
    headers = {"Cache-Control": cached}
    text = _encode(body).encode("utf-8")
    return Response(text, status, headers, content_type=media_type)


def operation_answer(operation: Operation, body: Any) -> Response:
    """Return the response to a request that made or replayed an operation."""
    request_notes().operation = operation
    answer = json_answer(body)
    if operation.replayed:
        answer.headers["Idempotency-Replayed"] = "true"
    return answer


def problem_answer(error: DeedError) -> Response:
    """Return the error as a problem."""
    request_notes().problem_code = error.code
    detail = str(error)
    if error.index is not None and error.array:
        detail = f"{error.array}[{error.index}]: {detail}"
    body = {
        "type": f"/problems#{error.code}",
        "title": error.title,
        "status": error.status,
        "detail": detail,
        "code": error.code,
        "isFinal": error.is_final,
    }
    if error.index is not None:
        body["index"] = error.index
    answer = json_answer(body, error.status, media_type=PROBLEM_MEDIA_TYPE)
    if isinstance(error, RetryLaterError):
        answer.headers["Retry-After"] = str(error.retry_after_s)
    return answer


def register_answers(app: Flask) -> None:
    """Render the app's errors as problems, and add the headers of all responses.

    Completes responses to CORS preflight requests too.
    """
    app.wsgi_app = _with_headers(app.wsgi_app)  # type: ignore[assignment,method-assign]
    app.register_error_handler(DeedError, problem_answer)
    app.register_error_handler(HTTPException, http_error_answer)
    app.register_error_handler(Exception, _answer_defect)
    app.after_request(_answer_preflight)


def http_error_answer(error: HTTPException) -> Response:
    """Return the problem for a request that Flask, Werkzeug or the server refuses."""
    # The server replaces a request that it refuses by one whose path has no route, so
    # Flask's 404 would hide the reason.
    refusal = request.environ.get("deeds.refusal") or error.code
    answer = problem_answer(_REFUSALS.get(refusal, errors.BadRequestError)())
    if isinstance(error, MethodNotAllowed):
        answer.allow.update(error.valid_methods or ())
    return answer


def _answer_defect(error: Exception) -> Response:
    # Log the type and the place, but not the message, which may quote a secret.
    fields = {
        "request_id": request_notes().request_id,
        "error": type(error).__name__,
        "places": places(error),
    }
    _log.error("", extra={"event": "defect", "fields": fields})
    return problem_answer(errors.InternalError())


def _answer_preflight(answer: Response) -> Response:
    """Complete Flask's response to OPTIONS, which has only an Allow header."""
    if request.method != "OPTIONS" or answer.status_code != HTTPStatus.OK:
        return answer
    # The response has no body, so it needs no Content-Type.
    answer.headers.pop("Content-Type", None)
    if request.path.startswith("/v1/"):
        # Allow all headers: tracing tools and frameworks add their own.
        names = request.headers.get("Access-Control-Request-Headers", "")
        answer.headers["Access-Control-Allow-Headers"] = names
        answer.headers["Access-Control-Allow-Methods"] = answer.headers["Allow"]
        answer.headers["Access-Control-Max-Age"] = "86400"
        answer.vary.add("Access-Control-Request-Headers")
    return answer


def _with_headers(wsgi_app: "WSGIApplication") -> "WSGIApplication":
    """Return a WSGI application that adds the common headers to every response.

    Werkzeug would check and copy headers set on its responses several times.
    """

    def call(environ: "WSGIEnvironment", start_response: "StartResponse") -> Any:
        is_of_interface = environ["PATH_INFO"].startswith("/v1/")

        def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            if is_of_interface:
                return start_response(status, headers + _INTERFACE_HEADERS, *rest)
            # A page sets its own Content-Security-Policy.
            names = {name for name, _ in headers}
            defaults = [each for each in SAFE_HEADERS.items() if each[0] not in names]
            return start_response(status, headers + defaults, *rest)

        return wsgi_app(environ, start)

    return call
