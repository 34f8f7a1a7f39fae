"""Gives every request its id, its line in the log, and its place in the metrics."""

from http import HTTPStatus
from time import perf_counter
from typing import Any

import structlog
from flask import Flask, Response, request

from deeds.blueprints.request_notes import RequestNotes, begin_notes, notes
from deeds.domain.protocols import Measures
from deeds.server.request_id import request_id_from

REQUEST_ID = "X-Request-ID"

# Routes of monitors, which ask every few seconds.
QUIET = frozenset({"/healthz", "/readyz", "/metrics"})

_KINDS = {
    "/v1/mint": "mint",
    "/v1/swap": "swap",
    "/v1/check": "check",
    "/v1/item/<item_id>": "item",
    "/item/<item_id>": "item",
}

# A client may make methods up, with a secret in them.
_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})

_MS_PER_S = 1000


def register_watch(app: Flask, measures: Measures) -> None:
    """Make the app watch its requests. Before all else that acts on requests and answers."""
    log = structlog.get_logger().bind()

    def end(answer: Response) -> Response:
        noted = notes()
        seconds = perf_counter() - noted.started_s
        answer.headers[REQUEST_ID] = noted.request_id
        rule, method = request.url_rule, request.method
        route = rule.rule if rule else "unmatched"
        if method not in _METHODS:
            method = "other"
        _count(measures, route, method, seconds, noted)
        _write(log, route, method, seconds, noted, answer.status_code)
        return answer

    app.before_request(_begin)
    app.after_request(end)


def _begin() -> None:
    begin_notes(request_id_from(request.headers.get(REQUEST_ID)), perf_counter())


def _count(
    measures: Measures, route: str, method: str, seconds: float, noted: RequestNotes
) -> None:
    measures.count_request(route, method, seconds)
    if noted.problem_code is not None:
        measures.count_refusal(noted.problem_code)
    if route in _KINDS and method != "OPTIONS":
        done = "replayed" if noted.is_replayed else "done"
        measures.count_operation(_KINDS[route], noted.problem_code or done)


def _write(
    log: Any, route: str, method: str, seconds: float, noted: RequestNotes, status: int
) -> None:
    fields: dict[str, Any] = {
        "request_id": noted.request_id,
        "route": route,
        "method": method,
        "status": status,
        "duration_ms": round(seconds * _MS_PER_S, 3),
    }
    if noted.operation_id is not None:
        fields["operation_id"] = noted.operation_id
        fields["replayed"] = noted.is_replayed
    if noted.problem_code is not None:
        fields["problem"] = noted.problem_code
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        log.error("request", **fields)
    elif status > HTTPStatus.INTERNAL_SERVER_ERROR:
        log.warning("request", **fields)
    elif route in QUIET:
        log.debug("request", **fields)
    else:
        log.info("request", **fields)
