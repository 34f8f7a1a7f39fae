"""Every problem that this service answers (RFC 9457), and the handlers that answer them."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from deeds.blueprints.request_log import notes
from deeds.blueprints.responses import json_answer
from deeds.domain.errors import DeedError, RetryLaterError, places

MEDIA_TYPE = "application/problem+json"

_log = logging.getLogger("deeds.request")


@dataclass(frozen=True, slots=True)
class Problem:
    """A kind of problem: its stable name, and what the page /problems says of it."""

    code: str
    status: HTTPStatus
    title: str
    meaning: str


# fmt: off
_TABLE = (
    ("bad_request", 400, "Not an HTTP request",
     "The bytes do not form an HTTP request that this server understands."),
    ("body_unreadable", 400, "Body broken off",
     "The body ended before its announced length, or its chunks are malformed."),
    ("wrong_media_type", 400, "Wrong media type",
     "Send the body with the header Content-Type: application/json."),
    ("invalid_json", 400, "Not JSON",
     "The body is not JSON text in UTF-8 (RFC 8259), or an object names a key twice."),
    ("invalid_request", 400, "Invalid request",
     "The body is JSON but not of the shape that this path takes; detail names the field."),
    ("invalid_idempotency_key", 400, "Invalid Idempotency-Key",
     "The key must have 1 to 255 printable ASCII characters. A random UUID is a good one."),
    ("total_too_large", 400, "Total too large",
     "A mint adds up to more than 9007199254740991 units, or an offer to more than the item has."),
    ("not_an_offer", 400, "Not an offer",
     "An offer must want something: of at least one item more outputs than inputs."),
    ("weak_secret", 400, "Weak secret",
     "The outputs of an offer need strong secrets (docs/clients.md); index is the one at fault."),
    ("unbalanced", 400, "Unbalanced",
     "For every item the amounts of inputs and outputs must be equal."),
    ("duplicate_input", 400, "Input named twice",
     "An input is named twice, or by both halves of an offer; index is the one at fault."),
    ("duplicate_secret", 400, "Secret named twice",
     "Every output of an item needs a secret of its own; index is the output at fault."),
    ("unknown_item", 400, "Unknown item", "The item of the element at index does not exist here."),
    ("offer_not_open", 400, "Offer not open",
     "The offer was completed, has expired or is void; detail names its state. Nothing moved."),
    ("unknown_input", 400, "Unknown input",
     "The item has no output with the amount and secret of the input at index."),
    ("spent_input", 400, "Input already spent",
     "The input at index was spent by an earlier swap. Its secret is worth nothing now."),
    ("used_secret", 400, "Secret used before",
     "The secret of the output at index was used in this item before. Take a fresh one."),
    ("item_not_found", 404, "No such item", "No item with this id exists here."),
    ("unknown_offer", 404, "No such offer", "No offer with this id exists here."),
    ("not_found", 404, "No such path", "Nothing is served at this path."),
    ("method_not_allowed", 405, "Method not allowed",
     "This path does not take this method; the header Allow names those it takes."),
    ("body_too_large", 413, "Body too large",
     "The body is larger than this service reads; GET /v1/info tells the limit."),
    ("headers_too_large", 431, "Headers too large",
     "The header fields are more or longer than this service reads."),
    ("idempotency_key_reused", 422, "Idempotency-Key used before",
     "The key was used for another request before. Nothing was done; take a fresh key."),
    ("too_many_failures", 429, "Too many wrong secrets",
     "Too many secrets from this address were unknown or are being looked at. Nothing was done."),
    ("too_many_requests", 429, "Too many requests",
     "This address asks this path more often than the operator allows. Nothing was done."),
    ("overloaded", 503, "Too busy",
     "Nothing was done. Try again after the seconds that Retry-After names."),
    ("ledger_unavailable", 503, "Database away",
     "Nothing was done. Try again after the seconds that Retry-After names."),
    ("ledger_in_doubt", 503, "Outcome unknown",
     "Done wholly or not at all. Repeat it with its Idempotency-Key, or ask POST /v1/check."),
    ("ledger_rolled_back", 503, "Ledger rolled back",
     "The database is an older copy of itself. Nothing is written until that is put right."),
    ("scheme_unavailable", 503, "Pepper missing",
     "An output is guarded by a pepper that this process was not given; nothing was done."),
    ("internal", 500, "Internal error",
     "A defect of this service, whose log says where. POST /v1/check tells what was made."),
)
# fmt: on

PROBLEMS = {row[0]: Problem(row[0], HTTPStatus(row[1]), *row[2:]) for row in _TABLE}

# What Flask and Werkzeug refuse by themselves; all else of theirs is a bad request.
_HTTP_CODES = {404: "not_found", 405: "method_not_allowed", 413: "body_too_large"}


def register_problems(app: Flask, not_found_page: Callable[[], Response]) -> None:
    """Make the app answer all errors as problems, but unknown paths to browsers as a page."""

    def answer_http_error(error: HTTPException) -> Response:
        # What the worker refuses has a path that nothing is served at.
        refusal = request.environ.get("deeds.refusal")
        code = refusal or _HTTP_CODES.get(error.code or 0, "bad_request")
        if code == "not_found" and _is_for_people():
            notes().problem_code = code
            return not_found_page()
        # Allow, above all; never the content type of Werkzeug's own HTML.
        headers = {
            name: value for name, value in error.get_headers() if name == "Allow"
        }
        return _problem_answer(code, headers=headers)

    app.register_error_handler(DeedError, _answer_deed_error)
    app.register_error_handler(HTTPException, answer_http_error)
    app.register_error_handler(Exception, _answer_defect)


def retry_after(error: DeedError) -> dict[str, str]:
    """Return the header that says when to try again, where that may help."""
    return (
        {"Retry-After": str(error.retry_after_s)}
        if isinstance(error, RetryLaterError)
        else {}
    )


def _answer_deed_error(error: DeedError) -> Response:
    return _problem_answer(
        error.code, error.detail, index=error.index, headers=retry_after(error)
    )


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
    code: str,
    detail: str | None = None,
    *,
    index: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    notes().problem_code = code
    problem = PROBLEMS[code]
    body = {
        "type": f"/problems#{code}",
        "title": problem.title,
        "status": problem.status,
        "detail": detail or problem.meaning,
        "code": code,
    }
    if index is not None:
        body["index"] = index
    return json_answer(body, problem.status, media_type=MEDIA_TYPE, headers=headers)


def _is_for_people() -> bool:
    """Return whether a browser asks for a page outside the interface."""
    forms = ["application/json", MEDIA_TYPE, "text/html"]
    wants_page = request.accept_mimetypes.best_match(forms) == "text/html"
    return wants_page and not f"{request.path}/".startswith("/v1/")
