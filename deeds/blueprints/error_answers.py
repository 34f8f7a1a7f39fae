"""Turns every error into its answer: a problem, or a page for people."""

import logging
from collections.abc import Callable

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from deeds.blueprints.problems import MEDIA_TYPE, PROBLEMS
from deeds.blueprints.request_log import notes
from deeds.blueprints.responses import json_answer
from deeds.domain.errors import DeedError, RetryLaterError, places

_log = logging.getLogger("deeds.request")

# What Flask and Werkzeug refuse by themselves; all else of theirs is a bad request.
_HTTP_CODES = {404: "not_found", 405: "method_not_allowed", 413: "body_too_large"}


def register_problems(app: Flask, not_found_page: Callable[[], Response]) -> None:
    """Answer all errors as problems, but unknown paths to browsers as a page."""

    def answer_http_error(error: HTTPException) -> Response:
        # What the worker refuses has a path that nothing is served at.
        refusal = request.environ.get("deeds.refusal")
        code = refusal or _HTTP_CODES.get(error.code or 0, "bad_request")
        if code == "not_found" and _is_for_people():
            notes().problem_code = code
            return not_found_page()
        answer = _problem_answer(code)
        if isinstance(error, MethodNotAllowed):
            answer.allow.update(error.valid_methods or ())
        return answer

    app.register_error_handler(DeedError, _answer_deed_error)
    app.register_error_handler(HTTPException, answer_http_error)
    app.register_error_handler(Exception, _answer_defect)


def retry_after(error: DeedError) -> dict[str, str]:
    """Return the header that says when to try again, where that may help."""
    if not isinstance(error, RetryLaterError):
        return {}
    return {"Retry-After": str(error.retry_after_s)}


def _answer_deed_error(error: DeedError) -> Response:
    detail = error.detail or PROBLEMS[error.code].meaning
    if error.index is not None and error.array:
        detail = f"{error.array}[{error.index}]: {detail}"
    answer = _problem_answer(error.code, detail, error.index)
    answer.headers.update(retry_after(error))
    return answer


def _answer_defect(error: Exception) -> Response:
    # Where it was raised and of what type, but not its message: that may quote a
    # secret.
    fields = {
        "request_id": notes().request_id,
        "error": type(error).__name__,
        "places": places(error),
    }
    _log.error("", extra={"event": "defect", "fields": fields})
    return _problem_answer("internal")


def _problem_answer(
    code: str, detail: str | None = None, index: int | None = None
) -> Response:
    notes().problem_code = code
    problem = PROBLEMS[code]
    body = {
        "type": f"/problems#{code}",
        "title": problem.title,
        "status": problem.status,
        "detail": detail or problem.meaning,
        "code": code,
        "isFinal": problem.is_final,
    }
    if index is not None:
        body["index"] = index
    return json_answer(body, problem.status, media_type=MEDIA_TYPE)


def _is_for_people() -> bool:
    """Return whether a browser asks for a page outside the interface."""
    forms = ["application/json", MEDIA_TYPE, "text/html"]
    wants_page = request.accept_mimetypes.best_match(forms) == "text/html"
    return wants_page and not f"{request.path}/".startswith("/v1/")
