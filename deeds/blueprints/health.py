"""GET /healthz and GET /readyz, for whatever restarts the service and sends it requests."""

from collections.abc import Callable

from flask import Blueprint, Response

from deeds.blueprints.responses import json_answer


def health_blueprint(check_ready: Callable[[], None]) -> Blueprint:
    """Return the blueprint; `check_ready` raises a `RetryLaterError` where requests would fail."""
    blueprint = Blueprint("health", __name__)

    @blueprint.get("/healthz")
    def healthz() -> Response:
        # Nothing else is looked at: to start anew would not bring a database back.
        return json_answer({"status": "alive"})

    @blueprint.get("/readyz")
    def readyz() -> Response:
        check_ready()
        return json_answer({"status": "ready"})

    return blueprint
