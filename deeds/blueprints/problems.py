"""Answers every error as application/problem+json (RFC 9457)."""

import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from deeds.blueprints.problem_table import PROBLEMS, Problem
from deeds.blueprints.request_log import notes
from deeds.blueprints.responses import json_answer
from deeds.domain.errors import DeedError, RetryLaterError, places

MEDIA_TYPE = "application/problem+json"

_log = logging.getLogger("deeds.request")

# What Flask and Werkzeug refuse by themselves; all else of theirs is a bad request.
_HTTP_CODES = {
    HTTPStatus.NOT_FOUND: "not_found",
    HTTPStatus.METHOD_NOT_ALLOWED: "method_not_allowed",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "body_too_large",
}


def register_problems(app: Flask, not_found_page: Callable[[], Response]) -> None:
    """Make the app answer all errors as problems, but unknown paths to browsers as a page."""
    app.before_request(_refuse_garbage)

    def answer_http_error(error: HTTPException) -> Response:
        code = _HTTP_CODES.get(HTTPStatus(error.code or HTTPStatus.BAD_REQUEST), "bad_request")
        if code == "not_found" and _is_for_people():
            notes().problem_code = code
            return not_found_page()
        # Allow, above all; never the content type of Werkzeug's own HTML.
        headers = {name: value for name, value in error.get_headers() if name == "Allow"}
        return problem_answer(PROBLEMS[code], headers=headers)

    app.register_error_handler(DeedError, _answer_deed_error)
    app.register_error_handler(HTTPException, answer_http_error)
    app.register_error_handler(Exception, _answer_defect)


def _refuse_garbage() -> Response | None:
    code = request.environ.get("deeds.refusal")
    return code and problem_answer(PROBLEMS[code])


def problem_answer(
    problem: Problem,
    detail: str | None = None,
    *,
    index: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the answer to a problem, with its meaning where there is no more detail.

    `index` is the element at fault, where there is one.
    """
    notes().problem_code = problem.code
    body = problem.body(detail or problem.meaning, index)
    return json_answer(body, problem.status, media_type=MEDIA_TYPE, headers=headers)


def retry_after(error: DeedError) -> dict[str, str]:
    """Return the header that says when to try again, where that may help."""
    return {"Retry-After": str(error.retry_after_s)} if isinstance(error, RetryLaterError) else {}


def _is_for_people() -> bool:
    """Return whether a browser asks for a page outside the interface."""
    if request.path == "/v1" or request.path.startswith("/v1/"):
        return False
    accepted = request.accept_mimetypes
    return accepted["text/html"] > max(accepted["application/json"], accepted[MEDIA_TYPE])


def _answer_deed_error(error: DeedError) -> Response:
    return problem_answer(
        PROBLEMS[error.code], error.detail, index=error.index, headers=retry_after(error)
    )


def _answer_defect(error: Exception) -> Response:
    # Where it arose and of what type, but not its message: that may quote a secret.
    fields = {
        "request_id": notes().request_id,
        "error": type(error).__name__,
        "places": places(error),
    }
    _log.error("", extra={"event": "defect", "fields": fields})
    return problem_answer(PROBLEMS["internal"], "this is a defect of the service")
