"""Gives every request its id, its line in the log and its place in the metrics."""

import logging
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from flask import Flask, Response, g, request

from deeds.blueprints.endpoints import ENDPOINTS

REQUEST_ID = "X-Request-ID"

# UUIDs, ULIDs, W3C trace ids and what nginx makes fit. A raw output does not: it starts
# with "+".
_HARMLESS_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

# Monitors ask for these every few seconds.
MONITORED_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})

# A client may make methods up, with a secret in them.
_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})

_LEVELS = {500: logging.ERROR, 503: logging.WARNING}

_log = logging.getLogger("deeds.request")


@dataclass(slots=True)
class RequestNotes:
    """What is known of the request being answered. Holds no secret and no path."""

    request_id: str
    started_s: float
    problem_code: str | None = None
    operation_id: int | None = None
    is_replayed: bool = False


# Takes the route, the method, seconds, the kind of the endpoint, if it has one, and
# "done", "replayed" or the code of a problem.
CountRequest = Callable[[str, str, float, str, str], None]


def register_request_log(app: Flask, count_request: CountRequest | None) -> None:
    """Log and count every request of the app.

    To be called before anything else is registered.
    """

    def begin() -> None:
        sent = request.environ.get("HTTP_X_REQUEST_ID", "")
        # It comes back in a header and stands in logs.
        request_id = sent if _HARMLESS_ID.fullmatch(sent) else secrets.token_hex(16)
        g.notes = RequestNotes(request_id, perf_counter())

    def end(answer: Response) -> Response:
        noted = notes()
        seconds = perf_counter() - noted.started_s
        answer.headers[REQUEST_ID] = noted.request_id
        route = request.url_rule.rule if request.url_rule else "unmatched"
        method = request.method if request.method in _METHODS else "other"
        if count_request is not None:
            outcome = noted.problem_code or (
                "replayed" if noted.is_replayed else "done"
            )
            endpoint = ENDPOINTS.get(route)
            kind = endpoint.kind if endpoint and method != "OPTIONS" else ""
            count_request(route, method, seconds, kind, outcome)
        fields: dict[str, object] = {
            "request_id": noted.request_id,
            "route": route,
            "method": method,
            "status": answer.status_code,
            "duration_ms": round(seconds * 1000, 3),
        }
        if noted.operation_id is not None:
            fields |= {
                "operation_id": noted.operation_id,
                "replayed": noted.is_replayed,
            }
        if noted.problem_code is not None:
            fields["problem"] = noted.problem_code
        level = logging.DEBUG if route in MONITORED_PATHS else logging.INFO
        level = _LEVELS.get(answer.status_code, level)
        _log.log(level, "", extra={"event": "request", "fields": fields})
        return answer

    app.before_request(begin)
    app.after_request(end)


def notes() -> RequestNotes:
    """Return the notes of the request being answered."""
    found: RequestNotes = g.notes
    return found
