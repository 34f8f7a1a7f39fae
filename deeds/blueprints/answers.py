"""Answers: compact JSON, problems (RFC 9457), and the headers that every one has."""

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

# In every answer: browsers must not guess types, send a referrer, or load or frame
# anything.
SAFE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}

# Any page may call the interface: it uses no cookies, and a secret is in the body or
# nowhere.
_EXPOSED = "ETag, Idempotency-Replayed, Retry-After, X-Request-ID"
_INTERFACE_HEADERS = [
    *SAFE_HEADERS.items(),
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", _EXPOSED),
]

# What Flask and Werkzeug refuse by themselves, by its status, or the server before
# them, by its code; all else of theirs is a bad request.
_REFUSALS: dict[int | str | None, type[DeedError]] = {
    404: errors.PathNotFoundError,
    405: errors.MethodNotAllowedError,
    413: errors.BodyTooLargeError,
    "headers_too_large": errors.HeadersTooLargeError,
    "bad_request": errors.BadRequestError,
}

# Created once: json.dumps would create one for every answer.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_log = logging.getLogger("deeds.request")


def json_answer(
    body: Any,
    status: int = 200,
    *,
    media_type: str = "application/json",
    cached: str = NO_STORE,
) -> Response:
    """Return the body as compact JSON text."""
    headers = {"Cache-Control": cached}
    text = _encode(body).encode("utf-8")
    return Response(text, status, headers, content_type=media_type)


def operation_answer(operation: Operation, body: Any) -> Response:
    """Return the answer to a request that changed the ledger, or that repeated one."""
    request_notes().operation = operation
    answer = json_answer(body)
    if operation.replayed:
        answer.headers["Idempotency-Replayed"] = "true"
    return answer


def problem_answer(error: DeedError) -> Response:
    """Return the answer to a request that fails."""
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
    """Answer all errors of the app as problems, and OPTIONS for browsers.

    Give every answer its headers. To be called before a proxy is believed.
    """
    app.wsgi_app = _with_headers(app.wsgi_app)  # type: ignore[assignment,method-assign]
    app.register_error_handler(DeedError, problem_answer)
    app.register_error_handler(HTTPException, http_error_answer)
    app.register_error_handler(Exception, _answer_defect)
    app.after_request(_answer_preflight)


def http_error_answer(error: HTTPException) -> Response:
    """Return the problem that Flask, Werkzeug or the server refuses a request by."""
    # What the server refuses has a path at which nothing is served.
    refusal = request.environ.get("deeds.refusal") or error.code
    answer = problem_answer(_REFUSALS.get(refusal, errors.BadRequestError)())
    if isinstance(error, MethodNotAllowed):
        answer.allow.update(error.valid_methods or ())
    return answer


def _answer_defect(error: Exception) -> Response:
    # Where it was raised and of what type, but not its message: it may quote a secret.
    fields = {
        "request_id": request_notes().request_id,
        "error": type(error).__name__,
        "places": places(error),
    }
    _log.error("", extra={"event": "defect", "fields": fields})
    return problem_answer(errors.InternalError())


def _answer_preflight(answer: Response) -> Response:
    """Complete Flask's own answer to OPTIONS, which names the methods of a path."""
    if request.method != "OPTIONS" or answer.status_code != HTTPStatus.OK:
        return answer
    # It has no body, so it has no type either.
    answer.headers.pop("Content-Type", None)
    if request.path.startswith("/v1/"):
        # Tracing and frameworks add headers of their own.
        names = request.headers.get("Access-Control-Request-Headers", "")
        answer.headers["Access-Control-Allow-Headers"] = names
        answer.headers["Access-Control-Allow-Methods"] = answer.headers["Allow"]
        answer.headers["Access-Control-Max-Age"] = "86400"
        answer.vary.add("Access-Control-Request-Headers")
    return answer


def _with_headers(wsgi_app: "WSGIApplication") -> "WSGIApplication":
    """Return the application with the headers that every answer has.

    Werkzeug would check and copy each of them several times.
    """

    def call(environ: "WSGIEnvironment", start_response: "StartResponse") -> Any:
        is_of_interface = environ["PATH_INFO"].startswith("/v1/")

        def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            if is_of_interface:
                return start_response(status, headers + _INTERFACE_HEADERS, *rest)
            # A page has a policy of its own.
            names = {name for name, _ in headers}
            defaults = [each for each in SAFE_HEADERS.items() if each[0] not in names]
            return start_response(status, headers + defaults, *rest)

        return wsgi_app(environ, start)

    return call
